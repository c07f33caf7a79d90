"""Twins of chapter 14: a feed-forward layer and the heads of self-attention, cut over ranks."""

import numpy as np

from . import Array, Draw, Sides, joined, relu, slope, slope_of, softmax, twin

RANKS, ROWS, D_MODEL, SHARE = 3, 4, 5, 2  # SHARE: hidden numbers, or columns of heads, of a rank


def own(rank: int) -> slice:
    return slice(rank * SHARE, (rank + 1) * SHARE)


class FeedForward:
    """A whole layer, weights stored [out, in]; no hidden number so near 0 that a step crosses it."""

    def __init__(self, draw: Draw) -> None:
        d_ff = RANKS * SHARE
        while True:
            self.w1, self.b1 = draw(d_ff, D_MODEL), draw(d_ff)
            self.w2, self.b2 = draw(D_MODEL, d_ff), draw(D_MODEL)
            self.x, self.dy = draw(ROWS, D_MODEL), draw(ROWS, D_MODEL)
            if np.abs(self.hidden(self.x)).min() > 0.05:
                return

    def hidden(self, x: Array) -> Array:
        return x @ self.w1.T + self.b1

    def summand(self, rank: int, x: Array) -> Array:
        """y_r, without the second bias."""
        r = own(rank)
        return relu(x @ self.w1[r].T + self.b1[r]) @ self.w2[:, r].T

    def loss_of(self, y: Array) -> float:
        return float(np.sum(np.sin(y) * self.dy))

    def loss(self) -> float:
        return self.loss_of(relu(self.hidden(self.x)) @ self.w2.T + self.b2)

    def slope_of(self, name: str) -> Array:
        return slope_of(self.loss, vars(self), name)

    def dy_of_loss(self) -> Array:
        return np.cos(relu(self.hidden(self.x)) @ self.w2.T + self.b2) * self.dy

    def da(self, rank: int) -> Array:
        """da_r by the page's equation."""
        r = own(rank)
        return (self.dy_of_loss() @ self.w2[:, r]) * (self.hidden(self.x)[:, r] > 0)


@twin("14-copy")
def copy(draw: Draw) -> Sides:
    layer = FeedForward(draw)
    copies = np.stack([layer.x] * RANKS)

    def loss(copies: Array) -> float:
        return layer.loss_of(sum(layer.summand(r, copies[r]) for r in range(RANKS)) + layer.b2)

    whole = slope(lambda x: loss(np.stack([x] * RANKS)), layer.x)
    return whole, slope(loss, copies).sum(axis=0)


@twin("14-sum")
def sum_of_ranks(draw: Draw) -> Sides:
    summands, dy = draw(RANKS, ROWS), draw(ROWS)

    def loss(y: Array) -> float:
        return float(np.sum(np.sin(y) * dy))

    of_y = slope(loss, summands.sum(axis=0))
    of_each = slope(lambda s: loss(s.sum(axis=0)), summands)
    return of_each, np.stack([of_y] * RANKS)


@twin("14-ff")
def feed_forward(draw: Draw) -> Sides:
    layer = FeedForward(draw)
    whole = relu(layer.hidden(layer.x)) @ layer.w2.T + layer.b2
    return whole, sum(layer.summand(r, layer.x) for r in range(RANKS)) + layer.b2


@twin("14-ff-hidden")
def feed_forward_hidden(draw: Draw) -> Sides:
    layer = FeedForward(draw)

    def loss(a: Array) -> float:
        return layer.loss_of(relu(a) @ layer.w2.T + layer.b2)

    da = slope(loss, layer.hidden(layer.x), 2.0**-10)
    return da, np.concatenate([layer.da(r) for r in range(RANKS)], axis=1)


@twin("14-ff-weights")
def feed_forward_weights(draw: Draw) -> Sides:
    layer = FeedForward(draw)
    dy, a = layer.dy_of_loss(), layer.hidden(layer.x)
    by_slope, by_hand = [], []
    for rank in range(RANKS):
        r, da = own(rank), layer.da(rank)
        of_second = sum(np.outer(dy[t], relu(a[t, r])) for t in range(ROWS))
        by_hand += [sum(np.outer(da[t], layer.x[t]) for t in range(ROWS)), da.sum(axis=0), of_second]
        by_slope += [layer.slope_of("w1")[r], layer.slope_of("b1")[r], layer.slope_of("w2")[:, r]]
    return joined(*by_slope), joined(*by_hand)


@twin("14-ff-dx")
def feed_forward_dx(draw: Draw) -> Sides:
    layer = FeedForward(draw)
    return layer.slope_of("x"), sum(layer.da(r) @ layer.w1[own(r)] for r in range(RANKS))


class Heads:
    """Self-attention of one sentence: two heads of one column on each of three ranks."""

    def __init__(self, draw: Draw) -> None:
        self.d_model = RANKS * SHARE
        self.w = {name: draw(self.d_model, self.d_model) / 2 for name in "qkvo"}
        self.b = {name: draw(self.d_model) for name in "qkvo"}
        self.x, self.dy = draw(ROWS, self.d_model), draw(ROWS, self.d_model)

    def projected(self, x: Array) -> list[Array]:
        return [x @ self.w[name].T + self.b[name] for name in "qkv"]

    def head(self, h: int, q: Array, k: Array, v: Array) -> Array:
        """C_h; heads are one column wide, so the scale is 1."""
        return softmax(np.outer(q[:, h], k[:, h])) @ v[:, h : h + 1]

    def result(self, q: Array, k: Array, v: Array) -> Array:
        context = np.concatenate([self.head(h, q, k, v) for h in range(self.d_model)], axis=1)
        return context @ self.w["o"].T + self.b["o"]

    def loss_of(self, q: Array, k: Array, v: Array) -> float:
        return float(np.sum(self.result(q, k, v) * self.dy))


@twin("14-heads")
def heads(draw: Draw) -> Sides:
    layer = Heads(draw)
    projected = layer.projected(layer.x)
    w_o, b_o = layer.w["o"], layer.b["o"]

    def of_heads(some: range) -> Array:
        return sum(layer.head(h, *projected) @ w_o[:, h : h + 1].T for h in some)

    of_ranks = sum(of_heads(range(own(r).start, own(r).stop)) for r in range(RANKS))
    return layer.result(*projected), of_heads(range(layer.d_model)) + b_o, of_ranks + b_o


@twin("14-heads-dx")
def heads_dx(draw: Draw) -> Sides:
    layer = Heads(draw)
    projected = layer.projected(layer.x)
    total = np.zeros_like(layer.x)
    for i, name in enumerate("qkv"):

        def loss(p: Array, i: int = i) -> float:
            return layer.loss_of(*projected[:i], p, *projected[i + 1 :])

        d = slope(loss, projected[i])
        for r in range(RANKS):
            total += d[:, own(r)] @ layer.w[name][own(r)]
    return slope(lambda x: layer.loss_of(*layer.projected(x)), layer.x), total
