"""Gated feed-forward, and heads that share keys and values."""

from __future__ import annotations

import numpy as np

from twins import Array, Draw, Sides, joined, slope, twin


def swish(a: Array) -> Array:
    return a / (1 + np.exp(-a))


@twin("15-gate-product")
def product(draw: Draw) -> Sides:
    s, u, da = draw(2, 5), draw(2, 5), draw(2, 5)
    measured = slope(lambda s: np.sum(s * u * da), s), slope(lambda u: np.sum(s * u * da), u)
    return joined(*measured), joined(da * u, da * s)


@twin("15-gate-dx")
def row(draw: Draw) -> Sides:
    x, gate, up, da = draw(2, 4), draw(5, 4), draw(5, 4), draw(2, 5)
    g, u = x @ gate.T, x @ up.T
    logistic = 1 / (1 + np.exp(-g))
    dg, du = da * u * (logistic + g * logistic * (1 - logistic)), da * swish(g)
    return slope(lambda x: np.sum(swish(x @ gate.T) * (x @ up.T) * da), x), dg @ gate + du @ up


@twin("15-share")
def shared(draw: Draw) -> Sides:
    heads, groups = 6, 2
    reads = [h * groups // heads for h in range(heads)]
    k, mix, dk_copies = draw(groups, 3, 4), draw(heads, 3, 4), draw(heads, 3, 4)
    loss = slope(lambda k: sum(np.sum(np.sin(mix[h] * k[g]) * dk_copies[h]) for h, g in enumerate(reads)), k)
    copies = [np.cos(mix[h] * k[g]) * mix[h] * dk_copies[h] for h, g in enumerate(reads)]
    return loss, np.stack([sum(copy for copy, g in zip(copies, reads, strict=True) if g == group) for group in range(groups)])
