"""Twins of chapter 11: attention that goes over its keys in tiles."""

import numpy as np

from . import Array, Draw, Sides, joined, slope, softmax, twin

SCALE = 0.5  # 1 / sqrt(4)


def attend(q: Array, k: Array, v: Array) -> Array:
    return softmax(SCALE * q @ k.T) @ v


def tensors(draw: Draw) -> tuple[Array, Array, Array, Array]:
    """q, k, v and the gradient of the result: three queries, five keys, four columns."""
    return draw(3, 4), draw(5, 4), draw(5, 4), draw(3, 4)


@twin("11-tiles")
def tiles(draw: Draw) -> Sides:
    q, k, v, _ = tensors(draw)
    m, l, a = np.full(3, -np.inf), np.zeros(3), np.zeros((3, 4))
    for some in (slice(0, 2), slice(2, 4), slice(4, 5)):
        s = SCALE * q @ k[some].T
        now = np.maximum(m, s.max(axis=1))
        shrink, e = np.exp(m - now), np.exp(s - now[:, None])
        l = shrink * l + e.sum(axis=1)
        a = shrink[:, None] * a + e @ v[some]
        m = now
    return attend(q, k, v), a / l[:, None]


@twin("11-row-dot")
def row_dot(draw: Draw) -> Sides:
    q, k, v, dy = tensors(draw)
    w = softmax(SCALE * q @ k.T)
    dw = slope(lambda w: np.sum(dy * (w @ v)), w)
    return np.sum(w * dw, axis=1), np.sum(dy * (w @ v), axis=1)


@twin("11-gradients")
def gradients(draw: Draw) -> Sides:
    q, k, v, dy = tensors(draw)
    w = softmax(SCALE * q @ k.T)
    c = np.sum(dy * (w @ v), axis=1)
    ds = w * (dy @ v.T - c[:, None])
    measured = (
        slope(lambda v: np.sum(dy * attend(q, k, v)), v),
        slope(lambda q: np.sum(dy * attend(q, k, v)), q),
        slope(lambda k: np.sum(dy * attend(q, k, v)), k),
    )
    derived = (w.T @ dy, SCALE * ds @ k, SCALE * ds.T @ q)
    return joined(*measured), joined(*derived)
