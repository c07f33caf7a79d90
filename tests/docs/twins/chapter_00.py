"""Twins of chapter 0: the linear map, and the product of two matrices."""

import numpy as np

from . import Array, Draw, Sides, joined, slope, twin


def linear(x: Array, w: Array, b: Array) -> Array:
    """y = x W^T + b, one entry after the other."""
    y = np.empty((x.shape[0], w.shape[0]))
    for r, i in np.ndindex(y.shape):
        y[r, i] = sum(x[r, j] * w[i, j] for j in range(x.shape[1])) + b[i]
    return y


@twin("00-linear-dx")
def linear_dx(draw: Draw) -> Sides:
    x, w, b, dy = draw(4, 3), draw(2, 3), draw(2), draw(4, 2)
    rows = [[sum(dy[r, i] * w[i, j] for i in range(2)) for j in range(3)] for r in range(4)]
    return slope(lambda x: np.sum(linear(x, w, b) * dy), x), np.array(rows)


@twin("00-linear-dw")
def linear_dw(draw: Draw) -> Sides:
    x, w, b, dy = draw(4, 3), draw(2, 3), draw(2), draw(4, 2)
    rows = [[sum(dy[r, i] * x[r, j] for r in range(4)) for j in range(3)] for i in range(2)]
    return slope(lambda w: np.sum(linear(x, w, b) * dy), w), np.array(rows)


@twin("00-linear-db")
def linear_db(draw: Draw) -> Sides:
    x, w, b, dy = draw(4, 3), draw(2, 3), draw(2), draw(4, 2)
    summed = np.array([sum(dy[r, i] for r in range(4)) for i in range(2)])
    return slope(lambda b: np.sum(linear(x, w, b) * dy), b), summed


@twin("00-linear-matrices")
def linear_matrices(draw: Draw) -> Sides:
    x, w, b, dy = draw(4, 3), draw(2, 3), draw(2), draw(4, 2)

    def loss(x: Array, w: Array, b: Array) -> float:
        return float(np.sum(linear(x, w, b) * dy))

    slopes = (
        slope(lambda x: loss(x, w, b), x), slope(lambda w: loss(x, w, b), w),
        slope(lambda b: loss(x, w, b), b),
    )
    formulas = dy @ w, dy.T @ x, dy.sum(axis=0)
    return joined(*slopes), joined(*formulas)


@twin("00-product-da")
def product_da(draw: Draw) -> Sides:
    a, b, dc, alpha = draw(4, 3), draw(3, 2), draw(4, 2), draw.uniform()
    return slope(lambda a: np.sum(alpha * a @ b * dc), a), alpha * dc @ b.T


@twin("00-product-db")
def product_db(draw: Draw) -> Sides:
    a, b, dc, alpha = draw(4, 3), draw(3, 2), draw(4, 2), draw.uniform()
    return slope(lambda b: np.sum(alpha * a @ b * dc), b), alpha * a.T @ dc


@twin("00-product-transposed")
def product_transposed(draw: Draw) -> Sides:
    a, b, dc, alpha = draw(3, 4), draw(3, 2), draw(4, 2), draw.uniform()
    return slope(lambda a: np.sum(alpha * a.T @ b * dc), a), (alpha * dc @ b.T).T, alpha * b @ dc.T


@twin("00-cotangent")
def cotangent(draw: Draw) -> Sides:
    x, w, b, dy, dx_dot = draw(4, 3), draw(2, 3), draw(2), draw(4, 2), draw(4, 3)
    y_dot = linear(x + dx_dot, w, b) - linear(x, w, b)  # the map is linear
    return np.sum(dy * y_dot), np.sum((dy @ w) * dx_dot)
