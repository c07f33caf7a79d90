"""A layer as a row of sublayers, each in its residual connection: the figure `layer` of chapters 7 and 8.

From left to right; on a phone from bottom to top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from style import arrow, ink, muted, narrow, paper


@dataclass(frozen=True)
class Sublayer:
    """A box's text and the color of its frame; `reads` is its input from outside."""

    text: str
    color: str
    reads: str = ""


class Plan:
    """Places along the flow and across it, for either shape of the figure."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.upright = narrow()
        self.split, self.part, self.plus, self.norm, self.step = (
            (0.25, 1.0, 1.85, 2.5, 3.0) if self.upright else (0.3, 1.8, 3.4, 4.35, 5.2)
        )

    def at(self, along: float, across: float) -> tuple[float, float]:
        return (-across, along) if self.upright else (along, across)

    def half(self, small: bool) -> float:
        """Half of a box's length along the flow."""
        return (0.24 if small else 0.42) if self.upright else (0.45 if small else 1.02)

    def box(self, text: str, along: float, color: str, *, small: bool = False) -> None:
        x, y = self.at(along, 0)
        length = 2 * self.half(small)
        width, height = (1.1 if small else 2.4, length) if self.upright else (length, 0.84)
        self.axes.add_patch(FancyBboxPatch(
            (x - width / 2, y - height / 2), width, height,
            boxstyle="round,pad=0.0,rounding_size=0.1", facecolor=paper(), edgecolor=color,
            linewidth=1.4, zorder=2,
        ))
        self.axes.text(x, y, text, ha="center", va="center", fontsize=7.5, linespacing=1.3, zorder=3)

    def word(self, text: str, along: float, across: float = 0.0, **look: object) -> None:
        x, y = self.at(along, across)
        self.axes.text(x, y, text, **({"ha": "center", "va": "center"} | look))

    def arrow(self, *places: tuple[float, float]) -> None:
        """A line through places, with an arrowhead at the last one."""
        points = [self.at(*place) for place in places]
        self.axes.plot(*zip(*points, strict=True), color=ink(), linewidth=1.0, zorder=1)
        arrow(self.axes, points[-2], points[-1], zorder=1)

    def sublayer(self, one: Sublayer, start: float) -> None:
        split, part, plus, norm = (start + x for x in (self.split, self.part, self.plus, self.norm))
        gap, aside = (0.16, 1.55) if self.upright else (0.2, 0.75)
        self.arrow((start, 0), (part - self.half(False), 0))
        self.arrow((part + self.half(False), 0), (plus - gap, 0))
        self.arrow((plus + gap, 0), (norm - self.half(True), 0))
        self.arrow((split, 0), (split, aside), (plus, aside), (plus, gap))
        self.axes.plot(*zip(self.at(norm + self.half(True), 0), self.at(start + self.step, 0), strict=True),
                       color=ink(), linewidth=1.0, zorder=1)
        self.box(one.text, part, one.color)
        self.box("norm", norm, "C6", small=True)
        self.word("+", plus, fontsize=12)
        if self.upright:
            self.word("residual", part, aside + 0.08, fontsize=8, color=muted(), rotation=90, ha="right")
        else:
            self.word("residual", (split + plus) / 2, aside + 0.06, fontsize=8, color=muted(), va="bottom")
        if one.reads and self.upright:
            self.arrow((part, -2.0), (part, -1.22))
            self.word(one.reads.replace(", ", ",\n"), part + 0.18, -2.3, fontsize=8, va="bottom")
        elif one.reads:
            self.arrow((part, -1.0), (part, -0.44))
            self.word(one.reads, part + 0.15, -0.85, fontsize=8, ha="left")


def draw(fig: Figure, sublayers: Sequence[Sublayer]) -> None:
    axes = fig.subplots()
    axes.set_axis_off()
    plan = Plan(axes)
    end = plan.step * len(sublayers)
    side = 0.15 if plan.upright else 0.25
    plan.word("$x$", -side)
    for i, one in enumerate(sublayers):
        plan.sublayer(one, plan.step * i)
    plan.arrow((end - side, 0), (end + side, 0))
    plan.word("$y$", end + 2 * side)
    below = any(one.reads for one in sublayers)
    if plan.upright:
        axes.set(xlim=(-2.2, 3.2 if below else 1.5), ylim=(-0.4, end + 0.5))
    else:
        axes.set(xlim=(-0.5, end + 0.8), ylim=(-1.1 if below else -0.55, 1.15))
