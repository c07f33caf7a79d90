"""Twins of chapter 1, the embedding."""

import numpy as np

from . import Array, Draw, Sides, slope, twin

WORDS, WIDTH, PLACES = 5, 3, 7


def one_hot(ids: Array) -> Array:
    return np.eye(WORDS)[ids]


@twin("01-one-hot")
def lookup_as_product(draw: Draw) -> Sides:
    table, ids = draw(WORDS, WIDTH), draw.integers(WORDS, PLACES)
    return table[ids], one_hot(ids) @ table


@twin("01-gradient-of-element")
def gradient_by_elements(draw: Draw) -> Sides:
    table, ids, dy = draw(WORDS, WIDTH), draw.integers(WORDS, PLACES), draw(PLACES, WIDTH)
    added = np.zeros_like(table)
    for place, row in enumerate(ids):
        added[row] += dy[place]
    return slope(lambda table: np.sum(table[ids] * dy), table), added


@twin("01-gradient")
def gradient_as_product(draw: Draw) -> Sides:
    table, ids, dy = draw(WORDS, WIDTH), draw.integers(WORDS, PLACES), draw(PLACES, WIDTH)
    return slope(lambda table: np.sum(table[ids] * dy), table), one_hot(ids).T @ dy
