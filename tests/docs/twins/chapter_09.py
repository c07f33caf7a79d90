"""Chapter 9: the loss, its gradient, the optimizers, the learning rate."""

import numpy as np

from . import Array, Draw, Sides, slope, softmax, twin


def log_sum(z: Array) -> Array:
    """The logarithm of the sum of the exponentials of each row."""
    return np.log(np.exp(z).sum(axis=-1))


def smoothed(right: Array, words: int, share: float) -> Array:
    """What the target asks for: `[rows, words]`."""
    return (1 - share) * np.eye(words)[right] + share / words


def cross_entropy(z: Array, pi: Array) -> Array:
    """Of each row, from its definition."""
    return -(pi * np.log(softmax(z))).sum(axis=-1)


@twin("09-likelihood")
def likelihood(draw: Draw) -> Sides:
    p = draw.uniform(6)
    return -np.log(np.prod(p)), np.sum(-np.log(p))


@twin("09-perplexity")
def perplexity(draw: Draw) -> Sides:
    p = draw.uniform(6)
    return np.exp(np.mean(-np.log(p))), np.prod(p) ** (-1 / 6)


@twin("09-row-loss")
def row_loss(draw: Draw) -> Sides:
    z, pi = draw(5), softmax(draw(5))
    return cross_entropy(z, pi), log_sum(z) - np.sum(pi * z)


@twin("09-convex")
def convex(draw: Draw) -> Sides:
    z, a = draw(5), draw(5)
    p = softmax(z)

    def first(s: Array) -> Array:
        return slope(lambda moved: log_sum(z + moved[0] * a), s)[0]

    # Differences of differences have fewer digits: Richardson's step makes up for it.
    steps = [2.0**-5, 2.0**-6]
    fine = [slope(first, np.zeros(1), step)[0] for step in steps]
    second = fine[1] + (fine[1] - fine[0]) / 15
    return second, np.sum(p * a**2) - np.sum(p * a) ** 2


@twin("09-entropy")
def entropy(draw: Draw) -> Sides:
    pi = smoothed(draw.integers(5, 1), 5, 0.2 * draw.uniform(1)[0])[0]
    return log_sum(np.log(pi)) - np.sum(pi * np.log(pi)), -np.sum(pi * np.log(pi))


@twin("09-log-sum")
def log_sum_shifted(draw: Draw) -> Sides:
    z = 3 * draw(6)
    return np.log(np.sum(np.exp(z))), z.max() + np.log(np.sum(np.exp(z - z.max())))


@twin("09-smoothed-row")
def smoothed_row(draw: Draw) -> Sides:
    z, share, right = draw(5), 0.3 * draw.uniform(1)[0], draw.integers(5, 1)
    pi = smoothed(right, 5, share)[0]
    total = log_sum(z)
    return (
        cross_entropy(z, pi),
        (1 - share) * (total - z[right[0]]) + share * (total - z.mean()),
    )


@twin("09-log-sum-slope")
def log_sum_slope(draw: Draw) -> Sides:
    z = draw(5)
    return slope(log_sum, z), np.exp(z) / np.sum(np.exp(z))


@twin("09-p-minus-pi")
def p_minus_pi(draw: Draw) -> Sides:
    """Six rows. Those whose word is 0 are padding and do not count: row 1 always, row 0 never."""
    z, right = draw(6, 5), draw.integers(5, 6)
    right[0], right[1] = 3, 0
    pi, counts = smoothed(right, 5, 0.1), right != 0

    def loss(z: Array) -> float:
        return float(np.mean(cross_entropy(z, pi)[counts]))

    rows = np.zeros((6, 5))
    for r in range(6):
        if right[r] != 0:
            rows[r] = (softmax(z[r]) - pi[r]) / counts.sum()
    return slope(loss, z), rows


@twin("09-descent")
def descent(draw: Draw) -> Sides:
    """A loss of four weights that is no parabola."""
    weights, a = draw(4), draw(3, 4)

    def loss(w: Array) -> Array:
        return log_sum(a @ w) + 0.1 * np.sum(w**2)

    g = slope(loss, weights)
    return slope(lambda eta: loss(weights - eta[0] * g), np.zeros(1))[0], -np.sum(g**2)


@twin("09-momentum")
def momentum(draw: Draw) -> Sides:
    mu, g, steps = 0.5 + 0.45 * draw.uniform(1)[0], draw(1)[0], 7
    velocity = 0.0
    for _ in range(steps):
        velocity = mu * velocity + g
    return velocity, np.sum(mu ** np.arange(steps)) * g, (1 - mu**steps) / (1 - mu) * g


@twin("09-adam-mean")
def adam_mean(draw: Draw) -> Sides:
    beta, g = 0.5 + 0.45 * draw.uniform(1)[0], draw(6)
    mean = 0.0
    for gradient in g:
        mean = beta * mean + (1 - beta) * gradient
    return mean, (1 - beta) * sum(beta ** (6 - i) * g[i - 1] for i in range(1, 7))


@twin("09-adam-bias")
def adam_bias(draw: Draw) -> Sides:
    beta, t = 0.5 + 0.45 * draw.uniform(1)[0], 6
    return (1 - beta) * sum(beta ** (t - i) for i in range(1, t + 1)), 1 - beta**t


@twin("09-adam-first")
def adam_first(draw: Draw) -> Sides:
    """By the recursion from zero, then corrected."""
    g, beta1, beta2 = draw(4), 0.9, 0.999
    mean, square = beta1 * 0 + (1 - beta1) * g, beta2 * 0 + (1 - beta2) * g**2
    return (mean / (1 - beta1)) / np.sqrt(square / (1 - beta2)), np.sign(g)


@twin("09-warmup-peak")
def warmup_peak(draw: Draw) -> Sides:
    """The largest of the paper's rates, looked for among many steps."""
    d_model, warmup = 64 * (1 + draw.integers(20, 1)[0]), 10 + draw.integers(500, 1)[0]
    t = np.arange(1, 4000, dtype=float)
    rates = d_model**-0.5 * np.minimum(t**-0.5, t * float(warmup) ** -1.5)
    found = np.array([rates.max(), t[rates.argmax()]])
    return found, np.array([(d_model * warmup) ** -0.5, warmup])


@twin("09-warmup-ratio")
def warmup_ratio(draw: Draw) -> Sides:
    d_model, warmup = 64 * (1 + draw.integers(20, 1)[0]), 10 + draw.integers(500, 1)[0]
    t = np.arange(1, 2000, 37, dtype=float)
    paper = d_model**-0.5 * np.minimum(t**-0.5, t * float(warmup) ** -1.5)
    peak = (d_model * warmup) ** -0.5
    return paper, peak * np.minimum(t / warmup, np.sqrt(warmup / t))


@twin("09-one-division")
def one_division(draw: Draw) -> Sides:
    m, v, t, eta, eps = draw(4), draw.uniform(4), 3, 1e-1, 1e-8
    bias1, bias2 = 1 - 0.9**t, 1 - 0.999**t
    three = eta * (m / bias1) / (np.sqrt(v / bias2) + eps)
    return three, (eta / bias1) * m / ((1 / np.sqrt(bias2)) * np.sqrt(v) + eps)


@twin("09-blocks")
def blocks(draw: Draw) -> Sides:
    """Seven rows in blocks of 3, 3 and 1."""
    dz, x = draw(7, 5), draw(7, 4)
    parts = [slice(0, 3), slice(3, 6), slice(6, 7)]
    return dz.T @ x, sum(dz[part].T @ x[part] for part in parts)
