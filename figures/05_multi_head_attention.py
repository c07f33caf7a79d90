"""Figures of chapter 5."""

from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch, Polygon
from style import Axes, Data, Figure, arrow, figure, ink, muted, narrow, paper

WORDS = (("一", "one", "C0"), ("朋友", "friend", "C1"))
QUESTIONS = ("how many?", "what?")
WIDE = 2.9  # inches that a result is wide


def mixed(first: float) -> tuple[float, ...]:
    """A color between those of the two words; half and half is purple."""
    near, part = ("C0", 2 * first - 1) if first > 0.5 else ("C1", 1 - 2 * first)
    return tuple(part * a + (1 - part) * b for a, b in zip(to_rgb(near), to_rgb("C3"), strict=True))


class Board:
    """A query with two questions, and what it gets; x counts from the left end of the result."""

    def __init__(self, axes: Axes, left: float, top: float) -> None:
        self.axes, self.left, self.top = axes, left, top

    def text(self, x: float, y: float, said: str, size: float = 9.5, **more: Any) -> None:
        look = {"ha": "center", "va": "center", "color": ink(), "zorder": 5, "linespacing": 1.15, **more}
        self.axes.text(self.left + x, self.top - y, said, fontsize=size, **look)

    def box(self, x: float, y: float, width: float, height: float, color: Any, alpha: float = 0.25,
            edge: str | None = None) -> None:
        at = (self.left + x - width / 2, self.top - y - height / 2)
        style = "round,pad=0,rounding_size=0.06"
        self.axes.add_patch(FancyBboxPatch(at, width, height, boxstyle=style, facecolor=paper(), edgecolor="none", zorder=3))
        self.axes.add_patch(FancyBboxPatch(
            at, width, height, boxstyle=style, facecolor=color, alpha=alpha, edgecolor="none", zorder=3))
        self.axes.add_patch(FancyBboxPatch(
            at, width, height, boxstyle=style, facecolor="none", edgecolor=edge or ink(), linewidth=1.2, zorder=4))

    def question(self, x: float, width: float, which: int) -> None:
        self.box(x, 0.62, width, 0.34, WORDS[which][2])
        self.text(x, 0.63, QUESTIONS[which])

    def softmax(self, begin: float, width: float, weights: np.ndarray, asked: tuple[float, ...]) -> None:
        """Two words, and bands as wide as their weights that fill a box."""
        for at in asked:
            for place in (0.25, 0.75):
                start = (self.left + at, self.top - 0.81)
                arrow(self.axes, start, (self.left + begin + place * width, self.top - 1.2), muted(), 0.9)
        at = begin
        for place, weight, (word, meaning, color) in zip((0.25, 0.75), weights, WORDS, strict=True):
            x, wide = begin + place * width, weight * width
            self.box(x, 1.42, 0.5, 0.42, color, edge="none")
            self.text(x, 1.36, word, 11.5)
            self.text(x, 1.545, meaning, 7, color=muted())
            ends = ((x - 0.16, 1.63), (x + 0.16, 1.63), (at + wide, 2.5), (at, 2.5))
            self.axes.add_patch(Polygon(
                [(self.left + u, self.top - v) for u, v in ends], facecolor=color, alpha=0.55, edgecolor=paper(),
                linewidth=0.8, zorder=2))
            share = str(Fraction(float(weight)).limit_denominator(9))
            self.text((x + at + wide / 2) / 2, 2.06, share, 9.5, bbox={
                "boxstyle": "round,pad=0.12", "facecolor": paper(), "edgecolor": "none"})
            at += wide
        self.box(begin + width / 2, 2.7, width, 0.4, mixed(float(weights[0])), 0.45)


@figure("cut", width=7.6, height=3.3, narrow=(3.7, 6.8))
def cut(data: Data, fig: Figure) -> None:
    """One softmax for two questions gives a mixture; cut in two, each question has its own."""
    fig.set_layout_engine("none")
    axes = fig.add_axes((0, 0, 1, 1))
    width, height = fig.get_size_inches()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    left = (width - WIDE) / 2 if narrow() else 0.66
    one = Board(axes, left, height - 0.05)
    two = Board(axes, left if narrow() else width - WIDE - 0.06, 3.35 if narrow() else height - 0.05)
    half = WIDE / 2

    one.text(half, 0.1, "one head: one softmax", 10.5)
    for which in (0, 1):
        one.question(half * (which + 0.5), half, which)
    one.softmax(0, WIDE, data.array("by_hand_1")[0], (half,))
    one.text(half, 2.71, "both at once")
    one.text(half, 3.13, "one mixture answers both", 9, color=muted())

    gap = 0.3
    apart = half - gap / 2
    two.text(half, 0.1, "two heads: a softmax for each", 10.5)
    for which, begin in enumerate((0.0, half + gap / 2)):
        two.question(begin + apart / 2, apart, which)
        two.softmax(begin, apart, data.array("by_hand_2")[which], (begin + apart / 2,))
        two.text(begin + apart / 2, 2.71, f"mostly {WORDS[which][0]}")
    two.text(half, 3.13, "side by side, they are the result", 9, color=muted())
    x = two.left + half
    axes.plot((x, x), (two.top - 0.36, two.top - 2.92), color=ink(), linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    two.text(half, 0.38, "✂", 17, rotation=-90)
    for board in (one, two):
        board.text(-0.1, 0.63, "个 asks", 9, ha="right") if not narrow() else board.text(0.02, 0.345, "个 asks", 8.5, ha="left")
