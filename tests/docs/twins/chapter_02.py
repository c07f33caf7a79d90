"""Twins of chapter 2: position codes and dropout."""

import itertools

import numpy as np

from . import Array, Draw, Sides, slope, twin

BATCH, LENGTH, WIDTH = 3, 4, 6


def frequencies(width: int) -> Array:
    return 10000.0 ** (-2 * np.arange(width // 2) / width)


def code(position: float) -> Array:
    """A row of the table, at a position that need not be whole."""
    row = np.empty(WIDTH)
    row[0::2] = np.sin(position * frequencies(WIDTH))
    row[1::2] = np.cos(position * frequencies(WIDTH))
    return row


def codes(table: Array, x: Array) -> Array:
    return x + table[: x.shape[1]]


@twin("02-gradient-of-table")
def gradient_of_table(draw: Draw) -> Sides:
    x, table, dsum = draw(BATCH, LENGTH, WIDTH), draw(LENGTH, WIDTH), draw(BATCH, LENGTH, WIDTH)
    return slope(lambda table: np.sum(codes(table, x) * dsum), table), dsum.sum(axis=0)


@twin("02-dot")
def dot_of_codes(draw: Draw) -> Sides:
    here, there = 20 * draw.uniform(2)
    f = frequencies(WIDTH)
    pairs = np.sum(np.sin(here * f) * np.sin(there * f) + np.cos(here * f) * np.cos(there * f))
    return float(code(here) @ code(there)), float(pairs), float(np.sum(np.cos(f * (here - there))))


@twin("02-shift")
def shift_is_rotation(draw: Draw) -> Sides:
    position, shift = 20 * draw.uniform(2)
    turned = np.empty(WIDTH)
    for i, angle in enumerate(shift * frequencies(WIDTH)):
        rot = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        turned[2 * i : 2 * i + 2] = rot @ code(position)[2 * i : 2 * i + 2]
    return code(position + shift), turned


@twin("02-random-maps")
def product_through_random_maps(draw: Draw) -> Sides:
    """The mean over all maps of two rows whose entries are plus or minus sigma."""
    a, b = draw(2), draw(2)
    sigma, rows = float(draw.uniform(1)[0]), 2
    squares = []
    for signs in itertools.product((-sigma, sigma), repeat=4 * rows):
        w_q, w_k = np.reshape(signs, (2, rows, 2))
        squares.append(((w_q @ a) @ (w_k @ b)) ** 2)
    return float(np.mean(squares)), rows * sigma**4 * float(a @ a) * float(b @ b)


@twin("02-dropout-mean")
def mean_of_dropout(draw: Draw) -> Sides:
    x, p = draw(5), float(0.9 * draw.uniform(1)[0])
    return p * 0 + (1 - p) * (x / (1 - p)), x


@twin("02-dropout-dx")
def gradient_of_dropout(draw: Draw) -> Sides:
    x, dy, kept, p = draw(8), draw(8), draw.integers(2, 8), float(0.9 * draw.uniform(1)[0])
    return slope(lambda x: np.sum(kept / (1 - p) * x * dy), x), kept / (1 - p) * dy
