"""Figures of chapter 15: RMS norm and rotary positions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.patches import Arc, Circle, FancyArrowPatch, Rectangle, Wedge
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, paper, say

Point = tuple[float, float]
HOUR = np.pi / 6  # by which the hand of the example turns per word


class Plane:
    """A coordinate system on the blackboard: where a row of two numbers lies, in inches."""

    def __init__(self, axes: Axes, origin: Point, unit: float, left: float, right: float, low: float, high: float) -> None:
        self.axes, self.origin, self.unit = axes, origin, unit
        arrow(axes, self.at((left, 0)), self.at((right, 0)), muted(), 0.8)
        arrow(axes, self.at((0, low)), self.at((0, high)), muted(), 0.8)
        axes.text(*self.at((right, -0.12)), "$x_1$", ha="right", va="top", fontsize=8.5, color=muted())
        axes.text(*self.at((0.12, high)), "$x_2$", ha="left", va="top", fontsize=8.5, color=muted())

    def at(self, row: Sequence[float]) -> Point:
        return self.origin[0] + self.unit * row[0], self.origin[1] + self.unit * row[1]

    def circle(self, radius: float, color: str, **look: object) -> None:
        self.axes.add_patch(Circle(self.origin, radius * self.unit, facecolor="none", edgecolor=color, **look))

    def path(self, rows: Sequence[Sequence[float]], color: str) -> None:
        """Arrows from each row to the next, a dot at the first and a larger one at the last."""
        corners = np.array([self.at(row) for row in rows])
        corners[-1] -= 0.06 * (corners[-1] - corners[-2]) / np.linalg.norm(corners[-1] - corners[-2])  # where the dot begins
        for start, end in pairwise(corners):
            arrow(self.axes, start, end, color, 1.7, zorder=4, head="-|>,head_length=0.3,head_width=0.15")
        self.axes.plot(*self.at(rows[0]), "o", color=color, markersize=4.5, zorder=5)
        self.axes.plot(*self.at(rows[-1]), "o", color=color, markersize=7.5, markeredgecolor=paper(), zorder=6)


@figure("circle", width=7.6, height=3.5, narrow=(3.7, 6.9))
def circle(data: Data, fig: Figure) -> None:
    """Where both norms send rows of two numbers."""
    axes = blackboard(fig)
    small, unit = narrow(), 0.5
    rows = (((3, 4), "C0"), ((-2.2, 0.6), "C2"), ((0.4, -1.0), "C3"))
    places = ((1.6, 4.4), (1.6, 1.0)) if small else ((1.55, 1.05), (5.35, 1.05))
    titles = ("RMS norm: along its ray to the circle", "layer norm: first along the diagonal")
    for origin, title, layer in zip(places, titles, (False, True), strict=True):
        plane = Plane(axes, origin, unit, -2.7, 3.7, -1.75, 4.3)
        axes.text(origin[0] + 0.5 * unit, origin[1] + 4.55 * unit, title, ha="center", va="bottom", fontsize=9.5, color=ink())
        plane.circle(np.sqrt(2), ink(), linewidth=1.2)
        if layer:
            axes.plot(*zip(plane.at((-1.75, 1.75)), plane.at((1.75, -1.75)), strict=True), color=ink(), linewidth=1.2, linestyle="--")
            axes.text(*plane.at((1.85, -1.6)), "mean 0", ha="left", va="center", fontsize=8.5, color=ink())
            axes.text(*plane.at((-0.95, 1.5)), "(−1, 1)", ha="left", va="bottom", fontsize=9, color=ink())
            axes.text(*plane.at((1.4, -0.95)), "(1, −1)", ha="left", va="bottom", fontsize=9, color=ink())
        else:
            axes.text(*plane.at((1.2, -1.05)), "mean square 1", ha="left", va="top", fontsize=8.5, color=ink())
            axes.text(*plane.at((1.3, 1.1)), "(0.85, 1.13)", ha="left", va="center", fontsize=9, color="C0")
        axes.text(*plane.at((2.85, 4.05)), "(3, 4)", ha="right", va="center", fontsize=9, color="C0")
        for row, color in rows:
            x = np.array(row)
            centered = x - x.mean()
            if layer:
                plane.path((x, centered, centered / np.sqrt(np.mean(centered**2))), color)
            else:
                plane.path((x, x / np.sqrt(np.mean(x**2))), color)


@figure("tangent", width=5.6, height=3.1, narrow=(3.7, 4.6))
def tangent(data: Data, fig: Figure) -> None:
    """The gradient at the normed row, split along the ray and along the circle, and brought back to the row."""
    axes = blackboard(fig)
    small, unit = narrow(), 0.62
    plane = Plane(axes, (0.45, 1.65) if small else (0.45, 0.3), unit, -0.4, 4.6, -0.3, 4.4)
    x, dy = np.array((3.0, 4.0)), np.array((1.0, 0.0))
    rms = np.sqrt(np.mean(x**2))
    hat = x / rms
    along = hat * np.mean(dy * hat)
    for row, first, last in ((hat, 15, 82), (x, 44, 61)):
        across = 2 * unit * float(np.linalg.norm(row))
        axes.add_patch(Arc(plane.origin, across, across, theta1=first, theta2=last, color=ink(), linewidth=1))
    axes.plot(*zip(plane.at((0, 0)), plane.at(1.08 * x), strict=True), color="C0", linewidth=1.2, zorder=2)
    for row, name, away in ((x, "$x = (3, 4)$", (-0.3, -0.12)), (hat, "$\\hat x$", (-0.2, -0.12))):
        axes.plot(*plane.at(row), "o", color="C0", markersize=5.5, zorder=6)
        axes.text(*plane.at(row + np.array(away)), name, ha="right", va="center", fontsize=10, color="C0")
    for part, color, width in ((dy, ink(), 1.4), (along, muted(), 1.4), (dy - along, "C1", 2.0)):
        arrow(axes, plane.at(hat), plane.at(hat + part), color, width, zorder=5)
        axes.plot(*zip(plane.at(hat + part), plane.at(hat + dy), strict=True), color=muted(), linewidth=0.8, linestyle=":")
    arrow(axes, plane.at(x), plane.at(x + (dy - along) / rms), "C1", 2.0, zorder=5, head="-|>,head_length=0.25,head_width=0.12")
    said = (
        ((2.0, 1.13), "$d\\hat x$ = (1, 0)", ink()),
        ((1.6, 1.75), "along the ray, (0.36, 0.48): changes nothing", muted()),
        ((1.65, 0.6), "along the circle, (0.64, −0.48)", "C1"),
        ((3.5, 4.0), "$dx$: divided by 3.54,\n(0.18, −0.14)", "C1"),
    )
    for n, (point, text, color) in enumerate(said):
        if small:
            axes.text(0.15, 1.02 - 0.3 * n, text.replace("\n", " "), ha="left", va="bottom", fontsize=9, color=color)
        else:
            axes.text(*plane.at(point), text, ha="left", va="center", fontsize=9, color=color, linespacing=1.2)


def dial(axes: Axes, at: Point, radius: float, query: float, key: float, numbers: bool = True) -> None:
    """A clock with a hand for a query and one for a key, at hours, and the angle between them, written only beside `numbers`."""
    axes.add_patch(Circle(at, radius, facecolor="none", edgecolor=muted(), linewidth=1))

    def tip(hour: float, reach: float) -> Point:
        return at[0] + reach * radius * np.sin(hour * HOUR), at[1] + reach * radius * np.cos(hour * HOUR)

    for hour in range(1, 13):
        axes.plot(*zip(tip(hour, 0.94), tip(hour, 1.0), strict=True), color=muted(), linewidth=1)
        if numbers:
            axes.text(*tip(hour, 1.13), str(hour), ha="center", va="center", fontsize=8, color=muted())
    first, last = sorted((query, key))
    axes.add_patch(Wedge(at, 0.5 * radius, 90 - 30 * last, 90 - 30 * first, facecolor=ink(), alpha=0.16, linewidth=0))
    for hour, color, name in ((query, "C0", "$q$"), (key, "C1", "$k$")):
        arrow(axes, at, tip(hour, 0.86), color, 2.6, zorder=4)
        outside = hour + (0.55 if numbers else 0.85) * np.sign(hour - (query + key) / 2)
        axes.text(*tip(outside, 0.58), name, ha="center", va="center", fontsize=11, color=color)
    if numbers:
        axes.text(*tip((query + key) / 2, 0.66), f"{30 * (last - first):.0f}°", ha="center", va="center", fontsize=8.5, color=ink())
    axes.plot(*at, "o", color=ink(), markersize=4, zorder=5)


@figure("hands", width=7.6, height=3.3, narrow=(3.7, 5.4))
def hands(data: Data, fig: Figure) -> None:
    """The hands of a query and a key before they are turned, and at two pairs of positions equally far apart."""
    axes = blackboard(fig)
    small = narrow()
    radius = 0.68 if small else 0.9
    places = ((1.85, 4.15), (0.92, 1.55), (2.78, 1.55)) if small else ((1.15, 1.75), (3.95, 1.75), (6.45, 1.75))
    titles = ("not turned", "$q$ at position 2,\n$k$ at position 1", "$q$ at position 42,\n$k$ at position 41")
    for (x, y), title, (query, key) in zip(places, titles, ((0, 3), (2, 4), (6, 8)), strict=True):
        dial(axes, (x, y), radius, query, key)
        axes.text(x, y + 1.28 * radius, title, ha="center", va="bottom", fontsize=9.5, color=ink(), linespacing=1.15)
        axes.text(x, y - 1.3 * radius, f"$\\langle q, k \\rangle = {abs(4 * np.cos((key - query) * HOUR)):.0f}$",
                  ha="center", va="top", fontsize=10, color=ink())
    (left, y), (right, _) = places[1:]
    low = y - 1.3 * radius - 0.27
    axes.plot((left, left, right, right), (low, low - 0.08, low - 0.08, low), color=muted(), linewidth=1)
    axes.text((left + right) / 2, low - 0.12, "neighbors: the same angle", ha="center", va="top", fontsize=9, color=ink())


@figure("two_speeds", width=7.6, height=2.3, narrow=(3.7, 4.75))
def two_speeds(data: Data, fig: Figure) -> None:
    """A pair of fast and a pair of slow hands, at a distance of 2 and of 14 words."""
    axes = blackboard(fig)
    small = narrow()
    radius = 0.62
    for n, distance in enumerate((2, 14)):
        left, y = (0.95, 3.6 - 2.5 * n) if small else (0.95 + 3.9 * n, 1.25)
        total = 0.0
        for m, (speed, name) in enumerate(((30, "fast"), (5, "slow"))):
            x, hour = left + 1.8 * m, distance * speed / 30 % 12
            dial(axes, (x, y), radius, hour, 0, numbers=False)
            score = 4 * np.cos(hour * HOUR)
            total += score
            axes.text(x, y - 1.13 * radius, f"{name}, {30 * hour:.0f}°: {score:.2f}", ha="center", va="top", fontsize=9.5, color=ink())
        middle = left + 0.9
        axes.text(middle, y + 1.2 * radius, f"{distance} words apart", ha="center", va="bottom", fontsize=10, color=ink())
        say(axes, middle, y - 1.13 * radius - 0.26, f"together: {total:.2f}", va="top", fontsize=9.5, fontweight="bold")


@figure("pairs", width=7.2, height=2.9, narrow=(3.7, 3.6))
def pairs(data: Data, fig: Figure) -> None:
    """Which columns of a head of eight turn together, and where each column goes from one pairing to the other."""
    axes = blackboard(fig)
    small = narrow()
    cell, left = (0.41, 0.2) if small else (0.62, 1.92)
    upper, lower = (2.25, 1.08) if small else (1.85, 0.77)
    high = 0.32 if small else 0.36
    colors = ("C0", "C1", "C2", "C3")
    place = [i // 2 + 4 * (i % 2) for i in range(8)]  # in halves, of each column of neighbors

    def middle(column: float) -> float:
        return left + cell * (column + 0.5)

    for column in range(8):
        color = colors[column // 2]
        for x, y in ((column, upper), (place[column], lower)):
            axes.add_patch(Rectangle((left + cell * x, y), cell, high, facecolor=color, alpha=0.22, linewidth=0))
            axes.add_patch(Rectangle((left + cell * x, y), cell, high, facecolor="none", edgecolor=color, linewidth=1.3))
            axes.text(middle(x), y + high / 2, str(column), ha="center", va="center", fontsize=10, color=ink())
        axes.plot((middle(column), middle(place[column])), (upper - 0.05, lower + high + 0.05), color=color, linewidth=1.2,
                  linestyle="-" if column % 2 == 0 else "--")
    for i, color in enumerate(colors):
        for begin, end, y, bend in ((2 * i, 2 * i + 1, upper + high, -0.7), (i, i + 4, lower, 0.3)):
            edge = 0.04 if y > upper else -0.04
            axes.add_patch(FancyArrowPatch((middle(begin), y + edge), (middle(end), y + edge), connectionstyle=f"arc3,rad={bend}",
                                           arrowstyle="<|-|>", mutation_scale=8, color=color, linewidth=1.3, shrinkA=0, shrinkB=0))
        for x, y in ((2 * i + 0.5, upper + high + 0.38), (i + 2, lower - (0.42 if small else 0.58))):
            axes.text(middle(x), y, f"$f_{i}$", ha="center", va="center", fontsize=10, color=color)
    titles = ("neighbors: the paper", "halves: most published models")
    if small:
        axes.text(left, upper + high + 0.62, titles[0], ha="left", va="bottom", fontsize=9.5, color=ink())
        axes.text(left, 0.24, titles[1], ha="left", va="bottom", fontsize=9.5, color=ink())
    else:
        for title, y in zip(titles, (upper, lower), strict=True):
            say(axes, left - 0.2, y + high / 2, title.replace(": ", ":\n"), ha="right", fontsize=9.5, linespacing=1.2)
