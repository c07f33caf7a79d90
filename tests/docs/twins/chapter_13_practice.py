"""Chapter 13, training as practiced: means over several batches, and a constant prediction."""

import numpy as np

from . import Draw, Sides, twin


@twin("13-mean-of-all")
def mean_of_all(draw: Draw) -> Sides:
    batches = [draw(2), draw(7), draw(4)]
    words = sum(len(batch) for batch in batches)
    return (
        sum(float(batch.sum()) for batch in batches) / words,
        sum(len(batch) / words * float(batch.mean()) for batch in batches),
    )


@twin("13-accumulated")
def accumulated(draw: Draw) -> Sides:
    """The gradient of a mean square over all rows; and those of the batches' own means."""
    theta = draw(3)
    batches = [draw(2, 3), draw(7, 3), draw(4, 3)]
    rows = np.concatenate(batches)

    def gradient(x: np.ndarray) -> np.ndarray:
        return 2 * x.T @ (x @ theta) / len(x)

    return gradient(rows), sum(len(x) / len(rows) * gradient(x) for x in batches)


@twin("13-constant")
def constant(draw: Draw) -> Sides:
    pi, q = draw.uniform(6, 4) + 0.1, draw.uniform(4) + 0.1
    pi, q = pi / pi.sum(axis=1, keepdims=True), q / q.sum()
    return -np.sum(pi * np.log(q)) / 6, -np.sum(pi.mean(axis=0) * np.log(q))
