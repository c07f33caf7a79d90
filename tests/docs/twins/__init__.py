"""Twins: each equality that the pages derive, computed on both sides at random points.

A page writes `$$ dz_i = ... $$ (04-softmax-dz)`; here stands a function of that name's meaning:

    @twin("04-softmax-dz")
    def softmax_dz(draw: Draw) -> Sides:
        z, dw = draw(5), draw(5)
        w = softmax(z)
        return slope(lambda z: np.sum(softmax(z) * dw), z), w * (dw - np.sum(w * dw))

It returns what stands between the signs of equality, two sides or more, as arrays or numbers.
`tests/docs/test_twins.py` calls it for several draws, compares the sides, and asks that they move with
the draw, so that 0 = 0 proves nothing. A page whose label has no twin fails the build, and a twin
that no page names fails the test.

One module for each chapter, `chapter_04.py`. The arithmetic is double precision; `slope` is a central
difference of fourth order, good to some ten digits for a smooth function of numbers around 1.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Sides = Sequence[Array | float]


class Draw:
    """Random arrays: `draw(3, 4)` is normal, `draw.uniform(3)` lies between 0 and 1."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Array:
        return self.random.standard_normal(shape)

    def uniform(self, *shape: int) -> Array:
        return self.random.uniform(size=shape)

    def integers(self, high: int, *shape: int) -> NDArray[np.int64]:
        """Whole numbers from 0 to high - 1."""
        return self.random.integers(high, size=shape)


Twin = Callable[[Draw], Sides]

#: Every twin, by the label of its equation.
twins: dict[str, Twin] = {}


def twin(label: str) -> Callable[[Twin], Twin]:
    """Make the decorated function the twin of the equation `label`."""

    def register(function: Twin) -> Twin:
        if label in twins:
            raise ValueError(f"two twins of {label}")
        twins[label] = function
        return function

    return register


def slope(f: Callable[[Array], Array | float], x: Array, step: float = 2.0**-8) -> Array:
    """The gradient of the number f(x) with respect to each element of x, by central differences."""
    found = np.empty_like(x)
    for i in np.ndindex(x.shape):
        at = []
        for shift in (-2, -1, 1, 2):
            moved = x.copy()
            moved[i] += shift * step
            at.append(float(f(moved)))
        found[i] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)
    return found


def slope_of(loss: Callable[[], float], where: dict[str, Array], name: str) -> Array:
    """The gradient of a loss with respect to one of the arrays that it reads there."""
    kept = where[name]

    def at(x: Array) -> float:
        where[name] = x
        return loss()

    found = slope(at, kept)
    where[name] = kept
    return found


def softmax(z: Array) -> Array:
    """Over the last axis."""
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def relu(a: Array) -> Array:
    return np.maximum(a, 0)


def joined(*pieces: Array) -> Array:
    """All elements of several arrays, one after the other."""
    return np.concatenate([np.ravel(piece) for piece in pieces])
