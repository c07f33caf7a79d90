"""The encoder layer as a composition. Chapter 8's twins use its parts."""

from collections.abc import Callable

import numpy as np

from twins import Array, Draw, Sides, joined, slope, softmax, twin

EPSILON = 0.1


# Sublayers, each with a backward pass by hand -----------------------------------------------------


class Attention:
    """One head with projections; the queries' rows may differ from those of keys and values."""

    def __init__(self, draw: Draw, width: int) -> None:
        self.wq, self.wk, self.wv, self.wo = (draw(width, width) / 2 for _ in range(4))
        self.scale = 1 / np.sqrt(width)

    def forward(self, xq: Array, xk: Array, xv: Array) -> Array:
        q, k, v = xq @ self.wq.T, xk @ self.wk.T, xv @ self.wv.T
        return softmax(q @ k.T * self.scale) @ v @ self.wo.T

    def backward(self, dy: Array, xq: Array, xk: Array, xv: Array) -> tuple[Array, Array, Array]:
        q, k, v = xq @ self.wq.T, xk @ self.wk.T, xv @ self.wv.T
        w = softmax(q @ k.T * self.scale)
        dc = dy @ self.wo
        dw = dc @ v.T
        ds = w * (dw - (w * dw).sum(axis=1, keepdims=True)) * self.scale
        return ds @ k @ self.wq, ds.T @ q @ self.wk, w.T @ dc @ self.wv


class Smooth:
    """A sublayer of each row on its own. The derivation holds for any; this one has no corner."""

    def __init__(self, draw: Draw, width: int) -> None:
        self.w1, self.w2 = draw(2 * width, width) / 2, draw(width, 2 * width) / 2

    def forward(self, x: Array) -> Array:
        return np.tanh(x @ self.w1.T) @ self.w2.T

    def backward(self, dy: Array, x: Array) -> Array:
        return (dy @ self.w2 * (1 - np.tanh(x @ self.w1.T) ** 2)) @ self.w1


class Norm:
    def __init__(self, draw: Draw, width: int) -> None:
        self.gamma, self.beta = 1 + draw(width) / 4, draw(width)

    def parts(self, x: Array) -> tuple[Array, Array]:
        c = x - x.mean(axis=1, keepdims=True)
        sigma = np.sqrt((c**2).mean(axis=1, keepdims=True) + EPSILON)
        return c / sigma, sigma

    def forward(self, x: Array) -> Array:
        return self.gamma * self.parts(x)[0] + self.beta

    def backward(self, dy: Array, x: Array) -> Array:
        hat, sigma = self.parts(x)
        d = self.gamma * dy
        along = (d * hat).mean(axis=1, keepdims=True)
        return (d - d.mean(axis=1, keepdims=True) - hat * along) / sigma


class Parts:
    """What an encoder layer consists of, its input, and the gradient of its result."""

    def __init__(self, draw: Draw, rows: int = 3, width: int = 4) -> None:
        self.attn, self.ff = Attention(draw, width), Smooth(draw, width)
        self.norm1, self.norm2 = Norm(draw, width), Norm(draw, width)
        self.x, self.dy = draw(rows, width), draw(rows, width)


def gradient(f: Callable[[Array], Array], x: Array, dy: Array) -> Array:
    """By differences: of the loss <f(x), dy> with respect to x."""
    return slope(lambda x: np.sum(f(x) * dy), x)


# The equalities -----------------------------------------------------------------------------------


@twin("07-self-attention")
def self_attention(draw: Draw) -> Sides:
    p = Parts(draw)
    found = gradient(lambda x: p.attn.forward(x, x, x), p.x, p.dy)
    return found, sum(p.attn.backward(p.dy, p.x, p.x, p.x))


@twin("07-post-upper")
def post_upper(draw: Draw) -> Sides:
    p = Parts(draw)
    total = p.x + p.ff.forward(p.x)
    dsum = p.norm2.backward(p.dy, total)
    found = joined(
        gradient(lambda x1: p.norm2.forward(x1 + p.ff.forward(x1)), p.x, p.dy),
        gradient(p.norm2.forward, total, p.dy),
    )
    return found, joined(dsum + p.ff.backward(dsum, p.x), dsum)


@twin("07-post-lower")
def post_lower(draw: Draw) -> Sides:
    p = Parts(draw)
    total = p.x + p.attn.forward(p.x, p.x, p.x)
    dsum = p.norm1.backward(p.dy, total)
    found = joined(
        gradient(lambda x: p.norm1.forward(x + p.attn.forward(x, x, x)), p.x, p.dy),
        gradient(p.norm1.forward, total, p.dy),
    )
    return found, joined(dsum + sum(p.attn.backward(dsum, p.x, p.x, p.x)), dsum)


@twin("07-pre")
def pre(draw: Draw) -> Sides:
    p = Parts(draw)

    def lower(x: Array) -> Array:
        h = p.norm1.forward(x)
        return x + p.attn.forward(h, h, h)

    def upper(x1: Array) -> Array:
        return x1 + p.ff.forward(p.norm2.forward(x1))

    h1, x1 = p.norm1.forward(p.x), lower(p.x)
    dx1 = p.dy + p.norm2.backward(p.ff.backward(p.dy, p.norm2.forward(x1)), x1)
    dx = dx1 + p.norm1.backward(sum(p.attn.backward(dx1, h1, h1, h1)), p.x)
    found = joined(
        gradient(upper, x1, p.dy), gradient(lambda x: upper(lower(x)), p.x, p.dy)
    )
    return found, joined(dx1, dx)
