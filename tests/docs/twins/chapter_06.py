"""Feed-forward, layer norm, and the residual connection."""

import numpy as np

from twins import Array, Draw, Sides, joined, relu, slope, twin

EPSILON = 0.3  # large enough that a formula without it is seen to be wrong


def away_from_corner(a: Array) -> Array:
    """The same numbers, but none so near 0 that a difference steps across ReLU's corner."""
    return a + 0.1 * np.sign(a)


# Feed-forward -------------------------------------------------------------------------------------


@twin("06-two-maps")
def two_maps(draw: Draw) -> Sides:
    x, w1, b1, w2, b2 = draw(4), draw(5, 4), draw(5), draw(3, 5), draw(3)
    return (x @ w1.T + b1) @ w2.T + b2, x @ (w2 @ w1).T + (b1 @ w2.T + b2)


@twin("06-ff-hidden")
def hidden(draw: Draw) -> Sides:
    kept, w2, b2, dy = draw.uniform(2, 5), draw(3, 5), draw(3), draw(2, 3)
    return slope(lambda kept: np.sum((kept @ w2.T + b2) * dy), kept), dy @ w2


@twin("06-ff-relu")
def through_relu(draw: Draw) -> Sides:
    a, dkept = away_from_corner(draw(2, 5)), draw(2, 5)
    return slope(lambda a: np.sum(relu(a) * dkept), a), dkept * (a > 0)


def logistic(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


@twin("06-logistic")
def logistic_slope(draw: Draw) -> Sides:
    a = 2 * draw(5)
    e = np.exp(-a)
    return slope(lambda a: np.sum(logistic(a)), a), e / (1 + e) ** 2, logistic(a) * (1 - logistic(a))


@twin("06-swish")
def through_swish(draw: Draw) -> Sides:
    a, dkept = 2 * draw(2, 5), draw(2, 5)
    s = logistic(a)
    return slope(lambda a: np.sum(a * logistic(a) * dkept), a), dkept * (s + a * s * (1 - s))


class FeedForward:
    """Random rows and weights, with numbers before ReLU that keep away from its corner."""

    def __init__(self, draw: Draw) -> None:
        self.x, self.w1, self.w2, self.b2 = draw(1, 4), draw(5, 4), draw(3, 5), draw(3)
        self.x = np.concatenate([self.x, -self.x])  # two rows that share b1
        a = self.x[:1] @ self.w1.T
        # rows a + b1 and -a + b1 stay away from 0 if b1 is nearer to 0 than a is
        self.w1 *= np.sign(a).T * (0.5 + np.abs(a.T)) / a.T
        self.b1 = 0.3 * draw.uniform(5)
        self.dy = draw(2, 3)
        self.a = self.x @ self.w1.T + self.b1
        self.da = (self.dy @ self.w2) * (self.a > 0)

    def loss(self, x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> float:
        return float(np.sum((relu(x @ w1.T + b1) @ w2.T + b2) * self.dy))


@twin("06-ff-dx")
def feed_forward_dx(draw: Draw) -> Sides:
    f = FeedForward(draw)
    return slope(lambda x: f.loss(x, f.w1, f.b1, f.w2, f.b2), f.x), f.da @ f.w1


@twin("06-ff-weights")
def feed_forward_weights(draw: Draw) -> Sides:
    f = FeedForward(draw)
    found = joined(
        slope(lambda w2: f.loss(f.x, f.w1, f.b1, w2, f.b2), f.w2),
        slope(lambda b2: f.loss(f.x, f.w1, f.b1, f.w2, b2), f.b2),
        slope(lambda w1: f.loss(f.x, w1, f.b1, f.w2, f.b2), f.w1),
        slope(lambda b1: f.loss(f.x, f.w1, b1, f.w2, f.b2), f.b1),
    )
    rows = range(len(f.x))
    dw2 = sum(np.outer(f.dy[r], relu(f.a[r])) for r in rows)
    dw1 = sum(np.outer(f.da[r], f.x[r]) for r in rows)
    return found, joined(dw2, f.dy.sum(axis=0), dw1, f.da.sum(axis=0))


# Layer norm ---------------------------------------------------------------------------------------


def deviation(c: Array) -> Array:
    return np.sqrt(np.mean(c**2, axis=-1, keepdims=True) + EPSILON)


def normalized(x: Array) -> Array:
    c = x - x.mean(axis=-1, keepdims=True)
    return c / deviation(c)


class Row:
    """One row on its way through the norm, and the gradient that comes back to it."""

    def __init__(self, draw: Draw) -> None:
        self.x, self.d = draw(6), draw(6)  # d is the gradient of the normalized row
        self.n = len(self.x)
        self.mean = self.x.mean()
        self.c = self.x - self.mean
        self.var = np.mean(self.c**2)
        self.sigma = np.sqrt(self.var + EPSILON)
        self.hat = self.c / self.sigma


@twin("06-norm-gain")
def gain(draw: Draw) -> Sides:
    x_hat, gamma, beta, dy = draw(3, 4), draw(4), draw(4), draw(3, 4)
    found = joined(
        slope(lambda gamma: np.sum((gamma * x_hat + beta) * dy), gamma),
        slope(lambda beta: np.sum((gamma * x_hat + beta) * dy), beta),
        slope(lambda x_hat: np.sum((gamma * x_hat + beta) * dy), x_hat),
    )
    return found, joined((dy * x_hat).sum(axis=0), dy.sum(axis=0), gamma * dy)


@twin("06-norm-sigma")
def sigma(draw: Draw) -> Sides:
    r = Row(draw)
    found = slope(lambda x: float(deviation(x - x.mean())[0]), r.x)
    longer = [np.sum(r.c * (np.eye(r.n)[i] - 1 / r.n)) / (r.n * r.sigma) for i in range(r.n)]
    return found, np.array(longer), r.c / (r.n * r.sigma), r.hat / r.n


@twin("06-norm-dx")
def norm_dx(draw: Draw) -> Sides:
    r = Row(draw)
    formula = (r.d - np.mean(r.d) - r.hat * np.mean(r.d * r.hat)) / r.sigma
    return slope(lambda x: np.sum(normalized(x) * r.d), r.x), formula


@twin("06-norm-along")
def norm_along(draw: Draw) -> Sides:
    r = Row(draw)
    dx = slope(lambda x: np.sum(normalized(x) * r.d), r.x)
    along = r.n * np.mean(r.d * r.hat)
    return (
        np.sum(dx * r.hat),
        (along - along * np.mean(r.hat**2)) / r.sigma,
        along / r.sigma * EPSILON / (r.var + EPSILON),
    )


# Residual connection ------------------------------------------------------------------------------


@twin("06-residual")
def residual(draw: Draw) -> Sides:
    x, w, dy = draw(4), draw(4, 4), draw(4)
    jacobian = (1 - np.tanh(w @ x) ** 2)[:, None] * w  # of the sublayer F(x) = tanh(W x)
    return slope(lambda x: np.sum((x + np.tanh(w @ x)) * dy), x), dy + dy @ jacobian
