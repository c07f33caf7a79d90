"""One table of words for source, target and output."""

import numpy as np

from twins import Array, Draw, Sides, slope, twin

D_MODEL = 4


class Tied:
    """A model whose parts between the tables are one map with a curve, and a loss."""

    def __init__(self, draw: Draw) -> None:
        self.table = draw(5, D_MODEL)
        self.src = np.eye(5)[[3, 1, 3]]
        self.tgt = np.eye(5)[[4, 3, 0]]
        self.a, self.b = draw(D_MODEL, D_MODEL), draw(D_MODEL, D_MODEL)
        self.dz = draw(3, 5)

    def between(self, x_src: Array, x_tgt: Array) -> Array:
        return np.tanh(x_src @ self.a + x_tgt @ self.b)

    def loss(self, source: Array, target: Array, output: Array) -> float:
        root = np.sqrt(D_MODEL)
        x = self.between(root * self.src @ source, root * self.tgt @ target)
        return float(np.sum((x @ output.T) * self.dz))


def partial(m: Tied, place: int) -> Array:
    def loss(table: Array) -> float:
        tables = [m.table] * 3
        tables[place] = table
        return m.loss(*tables)

    return slope(loss, m.table)


@twin("13-tied-sum")
def sum_of_three(draw: Draw) -> Sides:
    m = Tied(draw)
    return slope(lambda e: m.loss(e, e, e), m.table), sum(partial(m, place) for place in range(3))


@twin("13-tied")
def by_one_hot(draw: Draw) -> Sides:
    m = Tied(draw)
    root = np.sqrt(D_MODEL)
    x_src, x_tgt = root * m.src @ m.table, root * m.tgt @ m.table
    x = m.between(x_src, x_tgt)
    da = (m.dz @ m.table) * (1 - x * x)
    from_embeddings = root * (m.src.T @ (da @ m.a.T) + m.tgt.T @ (da @ m.b.T))
    return slope(lambda e: m.loss(e, e, e), m.table), from_embeddings + m.dz.T @ x
