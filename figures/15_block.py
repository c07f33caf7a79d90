"""Figures of chapter 15's page on the block."""

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
    axes.text(*second.at(3.61 if small else 3.63, -0.01), "$y$", ha="center", va="center", fontsize=10, color=ink())
    axes.text(*first.at(0.1, -0.01), "$x$", ha="center", va="center", fontsize=10, color=ink())


# Where the norm stands ----------------------------------------------------------------------------


class Row(Wiring):
    """One try: a stream with two branches for pen and paper, and the numbers at each place of it."""

    def __init__(self, axes: Axes, left: float, low: float, wide: float) -> None:
        super().__init__(axes, left, low)
        self.wide = wide  # of a unit of x, in inches

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.left + self.wide * x, self.low + y

    def says(self, x: float, y: float, row: str, side: str = "center", color: str | None = None) -> None:
        a, b = self.at(x, y)
        self.axes.text(a, b, row, ha=side, va="center", fontsize=8.5, color=color or ink(), zorder=5)

    def branch(self, leaves: float, name: str, reads: str, adds: str, norm: str) -> None:
        back = leaves + 0.72
        self.line((leaves, 0.1), (leaves, 0.72), (back, 0.72), (back, 0.12))
        self.box((leaves + back) / 2, 0.72, name, 0.64, 0.26, color="C6", fontsize=8.5)
        if norm:
            self.norm(leaves, 0.34, norm)
            self.says(leaves - 0.05, 0.62, reads, "right", muted())
        self.says(back + 0.05, 0.42, adds, "left", muted())
        self.round(back, 0, "+")

    def norm(self, x: float, y: float, by: str) -> None:
        self.box(x, y, "÷ " + by, 0.36 if len(by) == 1 else 0.52, 0.24, color="C2", fontsize=8.5)


@figure("tries", width=7.6, height=3.85, narrow=(3.7, 4.75))
def tries(data: Data, fig: Figure) -> None:
    """A block of two numbers without a norm, with a norm on each sum, and with one on what each branch reads."""
    axes = blackboard(fig)
    small, height = narrow(), fig.get_size_inches()[1]
    for n, (title, sums, inside) in enumerate((("no norm", False, False), ("norm\nthe sums", True, False),
                                               ("norm what\na branch reads", False, True))):
        row = Row(axes, 0.02, height - 1.2 - 1.62 * n, 0.98) if small else Row(axes, 1.45, height - 0.9 - 1.3 * n, 1.6)
        begin, end = row.at(-0.02, 0)[0], row.at(3.72, 0)[0]
        row.axes.add_patch(Rectangle((begin, row.low - 0.1), end - begin, 0.2, facecolor="C0", alpha=0.45, edgecolor="none", zorder=1))
        if small:
            axes.text(0.04, row.low + 1.05, title.replace("\n", " "), ha="left", va="center", fontsize=10, color=ink())
        else:
            axes.text(0.05, row.low + 0.3, title, ha="left", va="center", fontsize=10, linespacing=1.25, color=ink())
        row.branch(0.42, "attention", "(1, 1)", "(0, 6)", "1" if inside else "")
        row.branch(2.02, "network", "(0.2, 1.4)", "(7, 0)" if sums or inside else "(35, 0)", "5" if inside else "")
        row.says(0.15, -0.21, "(1, 1)")
        row.says(1.14, -0.21, "(1, 7)")
        if sums:
            row.norm(1.5, 0, "5")
            row.norm(3.12, 0, "5.19")
            row.says(1.8, -0.21, "(0.2, 1.4)")
            row.says(2.66, -0.21, "(7.2, 1.4)")
        row.says(3.72, -0.21, "(1.39, 0.27)" if sums else "(8, 7)" if inside else "(36, 7)", "right")


# Where the weights are ----------------------------------------------------------------------------


def cells(axes: Axes, left: float, top: float, rows: int, columns: int, side: float, color: str) -> None:
    for r in range(rows):
        for c in range(columns):
            axes.add_patch(Rectangle((left + side * c, top - side * (r + 1)), side, side, facecolor=color, alpha=0.5, edgecolor="none"))
            axes.add_patch(Rectangle((left + side * c, top - side * (r + 1)), side, side, facecolor="none", edgecolor=paper(),
                                     linewidth=60 * side * 0.12))


@figure("small", width=7.6, height=1.35, narrow=(3.7, 2.7))
def small_block(data: Data, fig: Figure) -> None:
    """All weights of a block 4 wide, a cell for each."""
    axes = blackboard(fig)
    height, side = fig.get_size_inches()[1], 0.13
    parts = (("norm", 1, 4, "C2"), ("q_proj", 4, 4, "C0"), ("k_proj", 2, 4, "C0"), ("v_proj", 2, 4, "C0"), ("o_proj", 4, 4, "C0"),
             ("norm", 1, 4, "C2"), ("gate_proj", 6, 4, "C1"), ("up_proj", 6, 4, "C1"), ("down_proj", 4, 6, "C1"))
    for n, (name, rows, columns, color) in enumerate(parts):
        second = narrow() and n > 4
        middle = 0.37 + 0.74 * n if narrow() and not second else 0.46 + 0.92 * (n - 5) if second else 0.45 + 0.84 * n
        low = height - (0.6 if narrow() else 0.85) - (1.5 if second else 0)  # of the matrix
        cells(axes, middle - side * columns / 2, low + side * rows, rows, columns, side, color)
        axes.text(middle, low - 0.14, name, ha="center", va="center", color=ink(), **NAME)
        axes.text(middle, low - 0.36, str(rows * columns), ha="center", va="center", fontsize=9.5, color=ink())


@figure("pieces", width=7.6, height=1.35, narrow=(3.7, 1.1))
def pieces(data: Data, fig: Figure) -> None:
    """SmolLM2-135M in pieces of the size of one block's attention."""
    axes = blackboard(fig)
    height = fig.get_size_inches()[1]
    blocks, table = 30, 49152 * D_MODEL // (4 * D_FF * D_MODEL)  # both in columns of four pieces
    left, between = (0.72, 0.1) if narrow() else (0.95, 0.18)
    side = (fig.get_size_inches()[0] - left - between - 0.06) / (blocks + table)
    top = height - 0.3
    cells(axes, left, top, 1, blocks, side, "C0")
    cells(axes, left, top - side, 3, blocks, side, "C1")
    cells(axes, left + blocks * side + between, top, 4, table, side, "C3")
    size = 8.5 if narrow() else 10
    for y, said, color in ((0.5, "attention", "C0"), (2.5, "network", "C1")):
        axes.text(left - 0.08, top - y * side, said, ha="right", va="center", fontsize=size, color=color)
    middle = left + (blocks + table / 2) * side + between
    for x, said, color in ((left + blocks * side / 2, "30 blocks", ink()), (middle, "table", "C3")):
        axes.text(x, top + 0.14, said, ha="center", va="center", fontsize=size, color=color)
    for x, said, color in ((left + 0.25 * blocks * side, "30 pieces, 20 %", "C0"), (left + 0.75 * blocks * side, "90 pieces, 59 %", "C1"),
                           (middle, "32, 21 %", "C3")):
        axes.text(x, top - 4 * side - 0.16, said, ha="center", va="center", fontsize=size, color=color)
