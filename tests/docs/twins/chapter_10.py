"""Chapter 10: what a new row needs of the old ones, and what the cache saves."""

import numpy as np

from . import Draw, Sides, softmax, twin


@twin("10-cached-row")
def cached_row(draw: Draw) -> Sides:
    """A row of attention under the look-ahead mask; and one query over the keys up to its own."""
    x, w_q, w_k, w_v, t = draw(6, 5), draw(3, 5), draw(3, 5), draw(4, 5), 3
    q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
    scores = q @ k.T / np.sqrt(3)
    scores[np.triu_indices(6, 1)] = -1e9
    whole = softmax(scores) @ v
    return whole[t], softmax(q[t] @ k[: t + 1].T / np.sqrt(3)) @ v[: t + 1]


@twin("10-rows-ratio")
def rows_ratio(draw: Draw) -> Sides:
    n = 1 + draw.integers(200, 1)[0]
    return sum(range(1, n + 1)) / n, (n + 1) / 2


@twin("10-attention-ratio")
def attention_ratio(draw: Draw) -> Sides:
    n = 1 + draw.integers(200, 1)[0]
    return sum(t * t for t in range(1, n + 1)) / sum(range(1, n + 1)), (2 * n + 1) / 3
