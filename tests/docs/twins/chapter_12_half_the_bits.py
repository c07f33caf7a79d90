"""Chapter 12, half the bits: the error of a product, of a sum of products, and scales that leave a sum."""

from itertools import product

import numpy as np

from . import Draw, Sides, twin


@twin("12-product-error")
def product_error(draw: Draw) -> Sides:
    a, b, delta, epsilon = draw(4)
    return a * (1 + delta) * b * (1 + epsilon) - a * b, a * b * (delta + epsilon + delta * epsilon)


@twin("12-sum-error")
def sum_error(draw: Draw) -> Sides:
    """The mean over all signs that three errors of each factor can have."""
    a, b, delta, epsilon = draw(3), draw(3), draw(3), draw(3)
    squares = []
    for signs in product((-1, 1), repeat=6):
        s = np.array(signs)
        squares.append(np.sum(a * b * (s[:3] * delta + s[3:] * epsilon)) ** 2)
    return float(np.mean(squares)), float(np.sum((a * b) ** 2 * (delta**2 + epsilon**2)))


@twin("12-scales")
def scales(draw: Draw) -> Sides:
    q, r = draw(5), draw(5)
    s, t = draw(2)
    return np.sum((s * q) * (t * r)), s * t * np.sum(q * r)
