"""Twins of chapter 5: multi-head attention, and attention whose softmax arrives in pieces."""

import numpy as np

from . import Array, Draw, Sides, joined, slope, slope_of, softmax, twin

BATCH, HEADS, WIDTH, D_MODEL = 2, 3, 2, 6
NAMES = "qkv"


def split(x: Array) -> Array:
    """[B, L, H * d_k] to [B, H, L, d_k]."""
    return x.reshape(*x.shape[:2], HEADS, WIDTH).swapaxes(1, 2)


def join(x: Array) -> Array:
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def attend(q: Array, k: Array, v: Array) -> Array:
    """C_h of all heads, from the split Q, K and V."""
    return softmax(q @ k.swapaxes(-1, -2) * WIDTH**-0.5) @ v


class Layer:
    """Random weights, stored [out, in], and inputs; `w` and `b` hold those of Q, K, V and O."""

    def __init__(self, draw: Draw) -> None:
        n_q, n_k = 3, 4
        self.w = {name: draw(D_MODEL, D_MODEL) / 2 for name in "qkvo"}
        self.b = {name: draw(D_MODEL) for name in "qkvo"}
        lengths = {"q": n_q, "k": n_k, "v": n_k}
        self.x = {name: draw(BATCH, length, D_MODEL) for name, length in lengths.items()}
        self.dy = draw(BATCH, n_q, D_MODEL)

    def projected(self) -> dict[str, Array]:
        return {name: self.x[name] @ self.w[name].T + self.b[name] for name in NAMES}

    def context_of(self, projected: dict[str, Array]) -> Array:
        return join(attend(*(split(projected[name]) for name in NAMES)))

    def loss_of(self, context: Array) -> float:
        return float(np.sum((context @ self.w["o"].T + self.b["o"]) * self.dy))

    def loss(self) -> float:
        return self.loss_of(self.context_of(self.projected()))

    def slope_of(self, where: dict[str, Array], name: str) -> Array:
        return slope_of(self.loss, where, name)

    def dcontext(self) -> Array:
        return slope(self.loss_of, self.context_of(self.projected()))

    def dprojected(self) -> dict[str, Array]:
        """dQ, dK and dV by differences."""
        found = {}
        for name in NAMES:
            projected = self.projected()
            found[name] = slope(
                lambda x, name=name, projected=projected: self.loss_of(
                    self.context_of({**projected, name: x})
                ),
                projected[name],
            )
        return found


@twin("05-sum-over-heads")
def sum_over_heads(draw: Draw) -> Sides:
    layer = Layer(draw)
    heads = attend(*(split(x) for x in layer.projected().values()))
    whole = join(heads) @ layer.w["o"].T + layer.b["o"]
    total = np.zeros_like(whole)
    for h in range(HEADS):
        total += heads[:, h] @ layer.w["o"][:, h * WIDTH : (h + 1) * WIDTH].T
    return whole, total + layer.b["o"]


@twin("05-join")
def join_backward(draw: Draw) -> Sides:
    layer = Layer(draw)
    heads = attend(*(split(x) for x in layer.projected().values()))
    dc = layer.dcontext()
    by_index = np.empty_like(heads)
    for b, h, t, a in np.ndindex(heads.shape):
        by_index[b, h, t, a] = dc[b, t, h * WIDTH + a]
    return slope(lambda heads: layer.loss_of(join(heads)), heads), by_index


@twin("05-split")
def split_backward(draw: Draw) -> Sides:
    layer = Layer(draw)
    sides = []
    for name in NAMES:
        heads = {n: split(x) for n, x in layer.projected().items()}

        def loss(x: Array, name: str = name, heads: dict[str, Array] = heads) -> float:
            return layer.loss_of(join(attend(*{**heads, name: x}.values())))

        dheads = slope(loss, heads[name])
        by_index = np.empty_like(layer.projected()[name])
        for b, h, t, a in np.ndindex(dheads.shape):
            by_index[b, t, h * WIDTH + a] = dheads[b, h, t, a]
        sides.append((layer.dprojected()[name], by_index))
    return joined(*(side[0] for side in sides)), joined(*(side[1] for side in sides))


def same_inputs(layer: Layer, names: str, x: Array) -> float:
    for name in names:
        layer.x[name] = x
    return layer.loss()


@twin("05-self")
def self_attention(draw: Draw) -> Sides:
    layer = Layer(draw)
    x = layer.x["q"]
    whole = slope(lambda x: same_inputs(layer, "qkv", x), x)
    same_inputs(layer, "qkv", x)
    return whole, sum(layer.slope_of(layer.x, name) for name in NAMES)


@twin("05-cross")
def cross_attention(draw: Draw) -> Sides:
    layer = Layer(draw)
    memory = layer.x["k"]
    whole = slope(lambda x: same_inputs(layer, "kv", x), memory)
    same_inputs(layer, "kv", memory)
    return whole, sum(layer.slope_of(layer.x, name) for name in "kv")


# A softmax that arrives in pieces -----------------------------------------------------------------


class Pieces:
    """One query's scores and values: some keys have been seen, then a block of others arrives."""

    def __init__(self, draw: Draw) -> None:
        self.s, self.v = 3 * draw(7), draw(7, 2)
        self.seen = 4
        self.m = self.s[: self.seen].max()
        self.m_new = max(self.m, self.s[self.seen :].max())
        self.rho = np.exp(self.m - self.m_new)

    def sums(self, n: int, m: float) -> tuple[float, Array]:
        """l and a of the first n keys, with m subtracted."""
        e = np.exp(self.s[:n] - m)
        return float(e.sum()), e @ self.v[:n]


@twin("05-result")
def result(draw: Draw) -> Sides:
    p = Pieces(draw)
    total, a = p.sums(7, p.m_new)
    return softmax(p.s) @ p.v, a / total


@twin("05-shrink")
def shrink(draw: Draw) -> Sides:
    p = Pieces(draw)
    old = p.s[: p.seen]
    e = np.exp(old - p.m)
    return np.exp(old - p.m_new), e * np.exp(p.m - p.m_new), p.rho * e


@twin("05-online-sum")
def online_sum(draw: Draw) -> Sides:
    p = Pieces(draw)
    old, _ = p.sums(p.seen, p.m)
    return p.sums(7, p.m_new)[0], p.rho * old + np.exp(p.s[p.seen :] - p.m_new).sum()


@twin("05-online-values")
def online_values(draw: Draw) -> Sides:
    p = Pieces(draw)
    _, old = p.sums(p.seen, p.m)
    return p.sums(7, p.m_new)[1], p.rho * old + np.exp(p.s[p.seen :] - p.m_new) @ p.v[p.seen :]


@twin("05-weight-again")
def weight_again(draw: Draw) -> Sides:
    p = Pieces(draw)
    total, _ = p.sums(7, p.m_new)
    return softmax(p.s), np.exp(p.s - p.m_new) / total


@twin("05-row-sum")
def row_sum(draw: Draw) -> Sides:
    s, v, dy = draw(3, 4), draw(4, 2), draw(3, 2)
    w = softmax(s)
    dw = np.array([[row @ value for value in v] for row in dy])
    y = w @ v
    return (
        np.sum(w * dw, axis=1),
        np.array([sum(w[i, n] * (dy[i] @ v[n]) for n in range(4)) for i in range(3)]),
        np.array([dy[i] @ sum(w[i, n] * v[n] for n in range(4)) for i in range(3)]),
        np.array([dy[i] @ y[i] for i in range(3)]),
    )


@twin("05-ds")
def ds(draw: Draw) -> Sides:
    s, v, dy = draw(3, 4), draw(4, 2), draw(3, 2)
    w = softmax(s)
    by_hand = w * (dy @ v.T - np.sum(dy * (w @ v), axis=1, keepdims=True))
    return slope(lambda s: np.sum(softmax(s) @ v * dy), s), by_hand
