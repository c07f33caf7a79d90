"""Twins of chapter 4: softmax, and attention of one table of scores."""

import itertools

import numpy as np

from . import Array, Draw, Sides, slope, softmax, twin

FILL = -1e9


class Table:
    """Queries, keys and values of one head, some keys hidden, and a gradient of the result."""

    def __init__(self, draw: Draw) -> None:
        n_q, n_k, d_k, d_v = 3, 4, 2, 3
        self.q, self.k, self.v = draw(n_q, d_k), draw(n_k, d_k), draw(n_k, d_v)
        self.dy = draw(n_q, d_v)
        self.hidden = draw.uniform(n_q, n_k) < 0.4
        self.hidden[0] = True  # a row that sees no key
        self.hidden[1, 2] = False
        self.hidden[2, 1:3] = (True, False)
        self.c = d_k**-0.5
        self.w = softmax(self.masked(self.scores(self.q, self.k)))
        self.dw = np.array([[dy @ v for v in self.v] for dy in self.dy])

    def scores(self, q: Array, k: Array) -> Array:
        return q @ k.T * self.c

    def masked(self, s: Array) -> Array:
        return np.where(self.hidden, FILL, s)

    def loss(self, q: Array, k: Array, v: Array) -> float:
        return float(np.sum(softmax(self.masked(self.scores(q, k))) @ v * self.dy))

    def ds(self) -> Array:
        """The gradient of the scores, by differences."""
        return slope(
            lambda s: np.sum(softmax(self.masked(s)) @ self.v * self.dy),
            self.scores(self.q, self.k),
        )


@twin("04-variance")
def variance(draw: Draw) -> Sides:
    d_k = 1 + int(draw.integers(5, 1)[0])
    columns = np.array(list(itertools.product((-1.0, 1.0), repeat=2 * d_k)))  # all are as likely
    products = columns[:, :d_k] * columns[:, d_k:]
    return float(np.var(products.sum(axis=1))), float(np.var(products, axis=0).sum()), float(d_k)


@twin("04-shift")
def shift(draw: Draw) -> Sides:
    z, m = draw(6), draw(1)
    e = np.exp(z)
    moved = np.exp(z - m)
    return e / e.sum(), np.exp(-m) * e / (np.exp(-m) * e.sum()), moved / moved.sum()


@twin("04-dv")
def dv(draw: Draw) -> Sides:
    t = Table(draw)
    by_hand = np.array([sum(w[j] * dy for w, dy in zip(t.w, t.dy, strict=True)) for j in range(4)])
    return slope(lambda v: t.loss(t.q, t.k, v), t.v), by_hand


@twin("04-dw")
def dw(draw: Draw) -> Sides:
    t = Table(draw)
    return slope(lambda w: np.sum(w @ t.v * t.dy), t.w), t.dw


@twin("04-jacobian")
def jacobian(draw: Draw) -> Sides:
    s = draw(5)
    w, e = softmax(s), np.exp(s)
    total = e.sum()
    by_slope = np.array([slope(lambda s, j=j: softmax(s)[j], s) for j in range(5)])
    quotient = (np.diag(e) * total - np.outer(e, e)) / total**2
    return by_slope, quotient, w[:, None] * (np.eye(5) - w)


@twin("04-ds")
def ds(draw: Draw) -> Sides:
    s, dw = draw(5), draw(5)
    w = softmax(s)
    first = [sum(dw[j] * w[j] * ((j == n) - w[n]) for j in range(5)) for n in range(5)]
    return slope(lambda s: np.sum(softmax(s) * dw), s), np.array(first), w * (dw - np.sum(w * dw))


@twin("04-mask")
def mask(draw: Draw) -> Sides:
    t = Table(draw)
    unmasked = t.w * (t.dw - np.sum(t.w * t.dw, axis=1, keepdims=True))
    return t.ds(), np.where(t.hidden, 0, unmasked)


@twin("04-dq")
def dq(draw: Draw) -> Sides:
    t = Table(draw)
    ds = t.ds()
    by_hand = np.array([t.c * sum(ds[i, j] * t.k[j] for j in range(4)) for i in range(3)])
    return slope(lambda q: t.loss(q, t.k, t.v), t.q), by_hand


@twin("04-dk")
def dk(draw: Draw) -> Sides:
    t = Table(draw)
    ds = t.ds()
    by_hand = np.array([t.c * sum(ds[i, j] * t.q[i] for i in range(3)) for j in range(4)])
    return slope(lambda k: t.loss(t.q, k, t.v), t.k), by_hand
