"""One attention over source and target is a mean of two."""

from __future__ import annotations

import numpy as np

from twins import Array, Draw, Sides, twin


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


@twin("15-one-attention")
def one_attention(draw: Draw) -> Sides:
    scores, values, source = draw(7), draw(7, 3), 4
    exponentials = np.exp(scores)
    share = exponentials[:source].sum() / exponentials.sum()
    parts = [softmax(scores[part]) @ values[part] for part in (slice(None, source), slice(source, None))]
    return softmax(scores) @ values, share * parts[0] + (1 - share) * parts[1]
