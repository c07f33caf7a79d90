"""Figure of chapter 15's page on the block."""

from __future__ import annotations

from typing import Any

from matplotlib.patches import Circle, FancyBboxPatch, Rectangle
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, paper

D_MODEL, D_FF, KEPT = 576, 1536, 192  # SmolLM2-135M: the stream, the hidden row, all heads of keys
INCH = 1.15 / D_FF  # of a matrix, for each row or column


class Wiring:
    """Boxes and lines of the block, from the left end of one of its halves."""

    def __init__(self, axes: Axes, left: float, low: float) -> None:
        self.axes, self.left, self.low = axes, left, low

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.left + x, self.low + y

    def line(self, *points: tuple[float, float], color: str | None = None, head: bool = True) -> None:
        places = [self.at(*point) for point in points]
        color = color or ink()
        self.axes.plot(*zip(*places[: len(places) if not head else -1], strict=True), color=color, linewidth=1.2, zorder=2,
                       solid_joinstyle="round")
        if head:
            arrow(self.axes, places[-2], places[-1], color, 1.2, zorder=2)

    def box(self, x: float, y: float, text: str, wide: float, high: float = 0.27, color: str = "C0", **more: Any) -> None:
        a, b = self.at(x, y)
        at, look = (a - wide / 2, b - high / 2), {"boxstyle": "round,pad=0,rounding_size=0.05", "zorder": 4}
        for fill, alpha, edge in ((paper(), 1, "none"), (color, 0.16, "none"), ("none", 1, color)):
            self.axes.add_patch(FancyBboxPatch(at, wide, high, facecolor=fill, alpha=alpha, edgecolor=edge, linewidth=1.2, **look))
        self.axes.text(a, b - 0.012, text, ha="center", va="center", color=ink(), zorder=5, **{"fontsize": 8, "linespacing": 1.1, **more})

    def round(self, x: float, y: float, text: str) -> None:
        self.axes.add_patch(Circle(self.at(x, y), 0.12, facecolor=paper(), edgecolor=ink(), linewidth=1.2, zorder=4))
        a, b = self.at(x, y)
        self.axes.text(a, b - 0.01, text, ha="center", va="center", fontsize=11, color=ink(), zorder=5)

    def stream(self, begin: float, end: float) -> None:
        a, b = self.at(begin, 0)
        self.axes.add_patch(Rectangle((a, b - 0.1), end - begin, 0.2, facecolor="C0", alpha=0.45, edgecolor="none", zorder=1))

    def matrix(self, x: float, y: float, name: str, rows: int, columns: int) -> None:
        """From its left end x: as high as it has rows, as wide as it has columns."""
        wide, high = INCH * columns, INCH * rows
        self.box(x + wide / 2, y, name, wide, high, rotation=90 if rows > columns else 0, **NAME)

    def width(self, x: float, y: float, number: int, side: str = "center") -> None:
        a, b = self.at(x, y)
        self.axes.text(a, b, str(number), ha=side, va="center", fontsize=7, color=muted(), zorder=5)


NAME = {"family": "DejaVu Sans Mono", "fontsize": 7.5}
MIDDLE = 1.5



def attention_half(wires: Wiring) -> None:
    wires.line((0.35, 0.1), (0.35, MIDDLE), head=False)
    wires.box(0.35, 0.42, "RMS norm", 0.66, color="C2")
    wires.width(0.31, 0.8, D_MODEL, "right")
    for y, name, rows in ((2.15, "q_proj", D_MODEL), (MIDDLE, "k_proj", KEPT), (0.85, "v_proj", KEPT)):
        wires.line((0.35, MIDDLE), (0.47, MIDDLE), (0.47, y), (0.63, y))
        wires.matrix(0.63, y, name, rows, D_MODEL)
        wires.width(1.18, y + 0.08, rows)
    for y in (2.15, MIDDLE):
        wires.line((1.06, y), (1.32, y))
        wires.box(1.54, y, "rotate", 0.44, color="C3")
    wires.line((1.76, MIDDLE), (1.88, MIDDLE))
    wires.line((1.06, 0.85), (1.88, 0.85))
    for y in (MIDDLE, 0.85):
        wires.box(2.08, y, "share", 0.4, color="C5")
        wires.line((2.28, y), (2.52, y))
        wires.width(2.385, y + 0.08, D_MODEL)
    wires.line((1.76, 2.15), (2.52, 2.15))
    kept = [wires.at(1.81, y) for y in (0.66, MIDDLE + 0.24)]
    wires.axes.plot(*zip(*kept, strict=True), color="C1", linewidth=1.4, linestyle=(0, (2.5, 1.5)), zorder=3)
    wires.axes.text(*wires.at(1.81, 0.56), "kept", ha="center", va="center", fontsize=8, color="C1")
    wires.box(2.65, MIDDLE, "attend", 0.26, 1.6, color="C6", rotation=90)
    wires.line((2.78, MIDDLE), (2.9, MIDDLE))
    wires.matrix(2.9, MIDDLE, "o_proj", D_MODEL, D_MODEL)
    wires.line((3.33, MIDDLE), (3.44, MIDDLE), (3.44, 0.12))
    wires.width(3.4, 0.8, D_MODEL, "right")
    wires.round(3.44, 0, "+")


def network_half(wires: Wiring) -> None:
    wires.line((0.35, 0.1), (0.35, MIDDLE), head=False)
    wires.box(0.35, 0.42, "RMS norm", 0.66, color="C2")
    wires.width(0.31, 0.8, D_MODEL, "right")
    for y, name in ((2.11, "gate_proj"), (0.89, "up_proj")):
        wires.line((0.35, MIDDLE), (0.55, MIDDLE), (0.55, y), (0.8, y))
        wires.matrix(0.8, y, name, D_FF, D_MODEL)
        wires.width(1.37, y + (0.31 if y > MIDDLE else -0.31) + 0.08, D_FF)
    wires.line((1.23, 2.42), (1.62, 2.42), (1.62, 2.07))
    wires.box(1.62, 1.93, "swish", 0.44, color="C5")
    wires.line((1.62, 1.795), (1.62, 1.63))
    wires.line((1.23, 0.58), (1.62, 0.58), (1.62, 1.37))
    wires.round(1.62, MIDDLE, "×")
    wires.line((1.74, MIDDLE), (2.06, MIDDLE))
    wires.width(1.89, MIDDLE + 0.08, D_FF)
    wires.matrix(2.06, MIDDLE, "down_proj", D_MODEL, D_FF)
    wires.line((3.21, MIDDLE), (3.44, MIDDLE), (3.44, 0.12))
    wires.width(3.4, 0.8, D_MODEL, "right")
    wires.round(3.44, 0, "+")


@figure("block", width=7.6, height=3.1, narrow=(3.7, 6.2))
def block(data: Data, fig: Figure) -> None:
    """A block of today: two branches, each after a norm, added to the stream; matrices as large as they are."""
    axes = blackboard(fig)
    small, height = narrow(), fig.get_size_inches()[1]
    first = Wiring(axes, 0.03 if small else 0.1, height - 2.95)
    second = Wiring(axes, 0.03 if small else 3.85, height - 6.05 if small else height - 2.95)
    for wires, half, title in ((first, attention_half, "self_attn"), (second, network_half, "mlp")):
        wires.stream(-0.03 if small else -0.1 if wires is first else 0, 3.67 if small else 3.75)
        half(wires)
        axes.text(*wires.at(2.6, 2.6), title, ha="center", va="center", color=muted(), **{**NAME, "fontsize": 8.5})
    axes.text(*second.at(3.61, -0.01), "$y$", ha="center", va="center", fontsize=10, color=ink())
    axes.text(*first.at(0.1, -0.01), "$x$", ha="center", va="center", fontsize=10, color=ink())
