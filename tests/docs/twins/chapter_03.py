"""Twins of chapter 3: masks and packing."""

from __future__ import annotations

import numpy as np

from . import Draw, Sides, slope, twin

FILL = -3.0
LENGTH, WIDTH = 4, 3


@twin("03-masked-scores")
def masked_scores(draw: Draw) -> Sides:
    scores, mask = draw(3, 4), draw.integers(2, 3, 4)
    return np.where(mask == 1, FILL, scores), mask * FILL + (1 - mask) * scores


@twin("03-gradient-of-scores")
def gradient_of_scores(draw: Draw) -> Sides:
    scores, mask, dmasked = draw(3, 4), draw.integers(2, 3, 4), draw(3, 4)
    found = slope(lambda scores: np.sum(np.where(mask == 1, FILL, scores) * dmasked), scores)
    return found, (1 - mask) * dmasked


@twin("03-pack-backward")
def gradient_of_packing(draw: Draw) -> Sides:
    x, counts = draw(3, LENGTH, WIDTH), 1 + draw.integers(LENGTH, 3)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    dpacked = draw(int(offsets[-1]), WIDTH)
    back = np.zeros_like(x)
    for b, t in np.ndindex(3, LENGTH):
        if t < offsets[b + 1] - offsets[b]:
            back[b, t] = dpacked[offsets[b] + t]

    def loss(x: np.ndarray) -> float:
        rows = np.concatenate([sentence[:count] for sentence, count in zip(x, counts, strict=True)])
        return float(np.sum(rows * dpacked))

    return slope(loss, x), back
