"""Twins of chapter 3: masks and packing."""

import numpy as np

from . import Draw, Sides, slope, twin

LENGTH, WIDTH = 4, 3


@twin("03-mean-backward")
def gradient_of_mean(draw: Draw) -> Sides:
    x, mask, dy = draw(LENGTH, WIDTH), draw.integers(2, 3, LENGTH), draw(3, WIDTH)
    mask[:, 0] = 0  # each row sees something
    seen = (1 - mask).sum(axis=1, keepdims=True)
    found = slope(lambda x: np.sum(dy * ((1 - mask) @ x / seen)), x)
    return found, ((1 - mask) / seen).T @ dy


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
