"""Figures of chapter 1."""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Circle, ConnectionPatch, FancyBboxPatch, Rectangle
from style import (
    Axes, Data, Figure, arrow, diverging, figure, glossed, heat, ink, muted, narrow, panels, paper,
)

#: The words of the toy's English sentences, in the order of the program's table.
ENGLISH = ("I", "have", "a", "good", "friend", ".", "zero", "girl", "boy")
#: The words of the small table.
HAND = ("P", "我", "有", "一", "个", "好", "朋", "友")
#: The ids that occur twice, and how their lines are drawn.
TWICE = {6: ("C1", "-"), 7: ("C2", (0, (4, 1.5)))}


# One row, two places ------------------------------------------------------------------------------


def cells(axes: Axes, row: np.ndarray, x: float, y: float, size: tuple[float, float], edge: str,
          width: float = 1.0) -> None:
    """A row of the table, with its lower left corner at (x, y); `size` is that of a cell."""
    limit = 4.5
    for c, value in enumerate(row):
        color = diverging()((value + limit) / (2 * limit))
        axes.add_patch(Rectangle((x + c * size[0], y), *size, facecolor=color, edgecolor=paper(),
                                 linewidth=0.8))
    axes.add_patch(Rectangle((x, y), size[0] * len(row), size[1], fill=False, edgecolor=edge,
                             linewidth=width))


def place(axes: Axes, words: Sequence[str], x: Sequence[float], y: float) -> None:
    """A part of a sentence: the word that is read is blue, the one that should come next orange."""
    for i, (word, at) in enumerate(zip(words, x, strict=True)):
        color = {"a": "C0", "good": "C1", "boy": "C1"}.get(word, muted())
        axes.text(at, y, word, ha="center", va="center", fontsize=11, color=color,
                  fontfamily="DejaVu Sans", fontweight="normal" if color == muted() else "bold")


@figure("one_row", width=7.4, height=3.95, narrow=(3.7, 3.4))
def one_row(data: Data, fig: Figure) -> None:
    """One row serves two places; what the places want of it comes back and is added."""
    table = data.array("rows_after")  # [9, 2]
    axes = fig.subplots()
    order = ("I", "have", "zero", "friend", "a", "good", "girl", "boy", ".")
    cell, step, top, left = (0.56, 0.44), 0.56, 5.56, 1.05
    end, bottom = left + 2 * cell[0], top - 8 * step
    axes.add_patch(FancyBboxPatch((left - 0.09, bottom - 0.09), end - left + 0.18, top - bottom + cell[1] + 0.18,
                                  boxstyle="round,pad=0,rounding_size=0.08", fill=False,
                                  edgecolor=ink(), linewidth=1.3))
    axes.text((left + end) / 2, top + cell[1] + 0.2, "table $E$", ha="center", va="bottom", fontsize=9.5)
    for i, word in enumerate(order):
        y, chosen = top - step * i, word == "a"
        axes.text(left - 0.2, y + cell[1] / 2, word, ha="right", va="center", fontsize=10.5,
                  fontfamily="DejaVu Sans", fontweight="bold" if chosen else "normal", color="C0" if chosen else ink())
        cells(axes, table[ENGLISH.index(word)], left, y, cell, "C0" if chosen else muted(), 2.2 if chosen else 0.6)
    middle = top - step * order.index("a") + cell[1] / 2
    plus = (end + (1.0 if narrow() else 2.1), middle)
    x = (5.05, 6.0) if narrow() else (5.95, 6.75, 7.6, 8.5, 9.65)
    words = ("a", "{}") if narrow() else ("I", "have", "a", "{}", "friend")
    copy = x[words.index("a")]
    for said, sign in (("good", 1), ("boy", -1)):
        y = middle + sign * 1.6
        place(axes, [word.format(said) for word in words], x, y + sign * 0.55)
        cells(axes, table[ENGLISH.index("a")], copy - cell[0], y - cell[1] / 2, cell, "C0", 1.6)
        arrow(axes, (end + 0.14, middle + sign * 0.16), (copy - cell[0] - 0.08, y + sign * 0.04), "C0", 1.6)
        axes.annotate("", (plus[0] + 0.17, plus[1] + sign * 0.15), (copy + 0.12, y - sign * (cell[1] / 2 + 0.05)),
                      arrowprops={"arrowstyle": "-|>", "color": "C1", "linewidth": 1.9, "linestyle": (0, (4, 1.5)),
                                  "shrinkA": 0, "shrinkB": 0, "connectionstyle": f"arc3,rad={-sign * 0.28}"})
        axes.text(copy + (0.22 if narrow() else 0.3), middle + sign * 0.75, f"“say {said}!”", color="C1", fontsize=10,
                  va="center", ha="left", style="italic")
    axes.add_patch(Circle(plus, 0.2, facecolor=paper(), edgecolor="C1", linewidth=1.7, zorder=4))
    axes.text(*plus, "+", ha="center", va="center_baseline", color="C1", fontsize=13, fontfamily="DejaVu Sans",
              fontweight="bold", zorder=5)
    arrow(axes, (plus[0] - 0.2, middle), (end + 0.12, middle), "C1", 1.9)
    away = 2.0 if narrow() else 1.75
    axes.text(end + 0.45, middle + away, "forward:\ncopy the row", color="C0", fontsize=9.5, ha="left", va="center")
    axes.text(end + 0.45, middle - away, "backward:\nadd what\ncomes back", color="C1", fontsize=9.5, ha="left",
              va="center")
    axes.set(xlim=(0, 6.65 if narrow() else 10.3), ylim=(0.9, 6.65), aspect="equal")
    axes.axis("off")


# A look-up and its gradient -----------------------------------------------------------------------


def join(fig: Figure, left: Axes, right: Axes, pairs: Sequence[tuple[int, int, int]]) -> None:
    """An arrow from a row on the left to a row on the right, for each (row, row, id)."""
    for start, end, word in pairs:
        color, line = TWICE.get(word, (muted(), "-"))
        fig.add_artist(ConnectionPatch(
            xyA=(1.02, start), coordsA=left.get_yaxis_transform(),
            xyB=(-0.02, end), coordsB=right.get_yaxis_transform(),
            arrowstyle="-|>", color=color, linestyle=line, linewidth=1.6 if word in TWICE else 0.8,
            mutation_scale=8, zorder=5, shrinkA=1, shrinkB=1,
        ))


def name_rows(axes: Axes, ids: Sequence[int]) -> None:
    """The words at the rows; a repeated word has a color."""
    axes.set_yticks(range(len(ids)), glossed([HAND[j] for j in ids], " "))
    for text, word in zip(axes.get_yticklabels(), ids, strict=True):
        text.set_color(TWICE[word][0] if word in TWICE else ink())


@figure("lookup", width=7.4, height=3.1, narrow=(3.7, 5.8))
def lookup(data: Data, fig: Figure) -> None:
    """Rows are copied forward; their gradients come back and are added."""
    ids = data.array("ids").ravel()  # [5]
    table, dtable = data.array("table"), data.array("dtable")  # [8, 4]
    width = table.shape[1]
    vectors = data.array("vectors").reshape(-1, width)  # [5, 4]
    dy = data.array("dy").reshape(-1, width)
    shape = (2, 2) if narrow() else (1, 4)
    one, two, three, four = fig.subplots(*shape, gridspec_kw={"wspace": 0.5, "hspace": 0.12}).ravel()
    for axes, matrix, title, high in (
        (one, table, "table $E$", 3), (two, vectors, "vectors $y$", 3), (three, dy, "$dy$", 14), (four, dtable, "$dE$", 14),
    ):
        heat(axes, matrix, numbers="{:.0f}", low=0, high=high)
        axes.set_title(title)
        axes.set_xticks([])
        axes.set_ylim(len(table) - 0.5, -0.5)  # rows of the same height in all four
    for axes in (two, four):
        axes.yaxis.tick_right()
        axes.tick_params(length=0)
    for axes, rows in ((one, range(len(table))), (two, ids), (three, ids), (four, range(len(table)))):
        name_rows(axes, rows)
    one.set_xlabel("forward: copy")
    three.set_xlabel("backward: add")
    join(fig, one, two, [(j, at, j) for at, j in enumerate(ids)])
    join(fig, three, four, [(at, j, j) for at, j in enumerate(ids)])


# Rows that learn ----------------------------------------------------------------------------------

#: The words that *friend* follows: color and width of their arrows, the widest below.
ALIKE = {"good": ("C1", 5.5), "girl": ("C2", 3.2), "boy": ("C3", 1.2)}


def side(part: float, low: str, high: str) -> str:
    """How a text beside an arrow's tip is aligned, if the arrow has this part in the direction of the axis."""
    return high if part < -0.45 else low if part > 0.45 else "center"


@figure("planes", width=7.4, height=3.6, narrow=(3.7, 7.0))
def planes(data: Data, fig: Figure) -> None:
    """The rows of the table of next words, as arrows, before training and after it."""
    before, after = data.array("rows_before"), data.array("rows_after")  # [9, 2]
    for axes, rows, title in zip(panels(fig, 2), (before, after), ("before: random", "after 1000 steps"), strict=True):
        limit = float(np.abs(rows).max()) * 1.2
        axes.axhline(0, color=muted(), linewidth=0.4)
        axes.axvline(0, color=muted(), linewidth=0.4)
        labels: list[tuple[str, np.ndarray]] = []
        for word, tip in zip(ENGLISH, rows, strict=True):
            color, width = ALIKE.get(word, (muted(), 1.0))
            if word in ALIKE:
                axes.plot((0, tip[0]), (0, tip[1]), color=color, linewidth=width, marker="o", markevery=[1],
                          markersize=width + 2.5, solid_capstyle="butt", zorder=3 + 1 / width)
            else:
                arrow(axes, (0, 0), tuple(tip), color, width)
            near = [i for i, (_, other) in enumerate(labels) if np.hypot(*(other - tip)) < 0.05 * limit]
            if near:
                labels[near[0]] = (f"{labels[near[0]][0]}, {word}", labels[near[0]][1])
            else:
                labels.append((word, tip))
        for text, tip in labels:
            direction = tip / np.hypot(*tip)
            first = text.split(",")[0]
            axes.text(*(tip + 0.05 * limit * direction), text, ha=side(direction[0], "left", "right"),
                      va=side(direction[1], "bottom", "top"), color=ALIKE[first][0] if first in ALIKE else ink(),
                      fontfamily="DejaVu Sans", fontweight="bold" if first in ALIKE else "normal")
        axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xticks=[], yticks=[])
        axes.set_title(title)
        for spine in axes.spines.values():
            spine.set_visible(False)
