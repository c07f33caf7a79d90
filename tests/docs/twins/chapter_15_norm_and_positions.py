"""RMS norm and rotary positions."""

from __future__ import annotations

import numpy as np

from twins import Array, Draw, Sides, slope, twin

EPSILON = 0.3  # large enough that a formula without it is seen to be wrong


def size(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2) + EPSILON))


@twin("15-rms-size")
def rms_size(draw: Draw) -> Sides:
    x = draw(5)
    return slope(size, x), 1 / (2 * size(x)) * 2 * x / 5, x / size(x) / 5


@twin("15-rms-dx")
def rms_dx(draw: Draw) -> Sides:
    x, dhat = draw(5), draw(5)
    hat = x / size(x)
    return slope(lambda x: np.sum(x / size(x) * dhat), x), (dhat - hat * np.mean(dhat * hat)) / size(x)


def turn(angle: float) -> Array:
    """Turns a pair, as a column."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def turn_all(position: float) -> Array:
    """Turns a row of three pairs of neighbors."""
    blocks = np.zeros((6, 6))
    for i in range(3):
        blocks[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = turn(position * 50 ** (-2 * i / 6))
    return blocks


@twin("15-only-distance")
def only_distance(draw: Draw) -> Sides:
    q, k = draw(6), draw(6)
    t, later = (float(place) for place in draw.integers(20, 2))
    return (turn_all(t) @ q) @ (turn_all(later) @ k), q @ turn_all(t).T @ turn_all(later) @ k, q @ turn_all(later - t) @ k


@twin("15-rotary-dx")
def rotary_dx(draw: Draw) -> Sides:
    x, dy, angle = draw(2), draw(2), float(draw(1)[0])
    c, s = np.cos(angle), np.sin(angle)
    return slope(lambda x: np.sum((turn(angle) @ x) * dy), x), np.array((dy[0] * c + dy[1] * s, -dy[0] * s + dy[1] * c))
