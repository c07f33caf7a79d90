"""Figures of chapter 1."""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Circle, ConnectionPatch, FancyBboxPatch, Rectangle
from style import Axes, Data, Figure, arrow, diverging, figure, heat, ink, muted, narrow, panels, paper

#: The words of the toy's English sentences, in the order of the program's table.
ENGLISH = ("I", "have", "a", "good", "friend", ".", "zero", "girl", "boy")
#: The words of the small table, each with its gloss.
HAND = ("P", "我 I", "有 have", "一 one", "个", "好 good", "朋 fri-", "友 -end")
#: The ids that occur twice, and how their lines are drawn.
TWICE = {6: ("C1", "-"), 7: ("C2", (0, (4, 1.5)))}


# A row is pulled out ------------------------------------------------------------------------------


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


def sentence(axes: Axes, words: Sequence[str], x: Sequence[float], y: float, wanted: int) -> None:
    """A sentence whose places are at x; the word that should come next is orange."""
    for i, (word, place) in enumerate(zip(words, x, strict=True)):
        read, next_one = i == wanted - 1, i == wanted
        axes.text(place, y, word, ha="center", va="center", fontsize=11,
                  fontweight="bold" if read or next_one else "normal",
                  color="C0" if read else "C1" if next_one else muted())


@figure("drawer", width=7.4, height=3.5, narrow=(3.7, 5.0))
def drawer(data: Data, fig: Figure) -> None:
    """One row serves two places; what the places want of it comes back and is added."""
    table = data.array("rows_after")  # [9, 2]
    axes = fig.subplots()
    order = ("I", "have", "zero", "a", "good", "girl", "boy", "friend")
    size = (0.62, 0.46)
    if narrow():
        top, pulled, plus = 9.4, (2.75, 7.35), (3.37, 6.45)
        places = {"good": ((0.75, 1.65, 2.62, 3.75, 5.2), 2.3), "boy": ((0.75, 1.65, 2.62, 3.75, 5.2), 2.3)}
    else:
        top = 5.2
    if narrow():
        _drawer_narrow(axes, table, order, size)
        return
    left = 1.15
    for i, word in enumerate(order):
        y = top - 0.56 * i
        axes.text(left - 0.15, y + size[1] / 2, word, ha="right", va="center", fontsize=10.5,
                  fontweight="bold" if word == "a" else "normal", color="C0" if word == "a" else ink())
        if word == "a":
            axes.add_patch(Rectangle((left, y), 2 * size[0], size[1], fill=False, edgecolor=muted(),
                                     linestyle=(0, (3, 2)), linewidth=0.9))
            out, level = left + 2.0, y
        else:
            cells(axes, table[ENGLISH.index(word)], left, y, size, muted(), 0.6)
    axes.add_patch(FancyBboxPatch((left - 0.08, top - 0.56 * 7 - 0.08), 2 * size[0] + 0.16, 0.56 * 8 + 0.06,
                                  boxstyle="round,pad=0,rounding_size=0.08", fill=False,
                                  edgecolor=ink(), linewidth=1.3))
    axes.text(left + size[0], top + 0.62, "the table $E$", ha="center", va="bottom", fontsize=9.5)
    for y in (level, level + size[1]):
        axes.plot([left + 2 * size[0] + 0.08, out], [y, y], color="C0", linewidth=0.7, linestyle=(0, (1, 2)))
    cells(axes, table[2], out, level, size, "C0", 1.8)
    end = out + 2 * size[0]
    middle = level + size[1] / 2
    plus = (end + 0.42, middle)
    x = np.array((6.05, 6.85, 7.7, 8.6, 9.75))
    small = (0.4, 0.32)
    for words, y, sign in ((("I", "have", "a", "good", "friend"), middle + 1.75, 1),
                           (("I", "have", "a", "boy", "friend"), middle - 1.75, -1)):
        sentence(axes, words, x, y, 3)
        below = y - sign * 0.68  # the middle of the copy, on the side of the drawer
        cells(axes, table[2], x[2] - small[0], below - small[1] / 2, small, "C0", 1.4)
        arrow(axes, (out + size[0], middle + sign * (size[1] / 2 + 0.03)), (x[2] - small[0] - 0.08, below + sign * 0.06),
              "C0", 1.5, head="-|>")
        axes.annotate("", (plus[0] + 0.12, plus[1] + sign * 0.14), (x[2] + 0.1, below - sign * (small[1] / 2 + 0.03)),
                      arrowprops={"arrowstyle": "-|>", "color": "C1", "linewidth": 1.8, "linestyle": (0, (4, 1.5)),
                                  "shrinkA": 0, "shrinkB": 0, "connectionstyle": f"arc3,rad={-sign * 0.25}"})
        axes.text(x[2] + 0.42, middle + sign * 0.55, f"more like what {words[3]} follows", color="C1",
                  fontsize=9, va="center", ha="left")
    axes.add_patch(Circle(plus, 0.2, fill=True, facecolor=paper(), edgecolor="C1", linewidth=1.6, zorder=4))
    axes.text(*plus, "+", ha="center", va="center", color="C1", fontsize=13, fontweight="bold", zorder=5)
    arrow(axes, (plus[0] - 0.2, plus[1]), (end + 0.03, plus[1]), "C1", 1.8)
    axes.text(out - 0.05, level + 1.75, "forward:\ncopy the row", color="C0", fontsize=9.5, ha="center", va="center")
    axes.text(out - 0.05, level - 1.3, "backward:\nadd the gradients", color="C1", fontsize=9.5, ha="center", va="center")
    axes.set_xlim(0, 10.4)
    axes.set_ylim(0.95, 6.35)
    axes.set_aspect("equal")
    axes.axis("off")


# A look-up and its gradient -----------------------------------------------------------------------


def join(fig: Figure, left: Axes, right: Axes, pairs: Sequence[tuple[int, int, int]]) -> None:
    """An arrow from a row on the left to a row on the right, for each (row, row, id)."""
    for start, end, word in pairs:
        color, line = TWICE.get(word, (muted(), "-"))
        fig.add_artist(ConnectionPatch(
            xyA=(1.0, start), coordsA=left.get_yaxis_transform(),
            xyB=(-0.55, end), coordsB=right.get_yaxis_transform(),
            arrowstyle="-|>", color=color, linestyle=line, linewidth=1.6 if word in TWICE else 0.8,
            mutation_scale=8, zorder=5, shrinkA=1, shrinkB=1,
        ))


def name_rows(axes: Axes, ids: Sequence[int]) -> None:
    """The words at the rows; a repeated word has a color."""
    axes.set_yticks(range(len(ids)), [HAND[j] for j in ids])
    for text, word in zip(axes.get_yticklabels(), ids, strict=True):
        text.set_color(TWICE[word][0] if word in TWICE else ink())
        text.set(fontweight="bold" if word in TWICE else "normal")


@figure("lookup", width=7.4, height=3.3, narrow=(3.7, 6.2))
def lookup(data: Data, fig: Figure) -> None:
    """Rows are copied forward; their gradients come back and are added."""
    ids = data.array("ids").ravel()  # [5]
    table, dtable = data.array("table"), data.array("dtable")  # [8, 4]
    width = table.shape[1]
    vectors = data.array("vectors").reshape(-1, width)  # [5, 4]
    dy = data.array("dy").reshape(-1, width)
    if narrow():
        (one, two), (three, four) = fig.subplots(2, 2, gridspec_kw={"wspace": 0.75, "hspace": 0.12})
    else:
        one, two, three, four = fig.subplots(1, 4, gridspec_kw={"wspace": 0.75})
    for axes, matrix, title in ((one, table, "table $E$"), (two, vectors, "vectors $y$")):
        heat(axes, matrix, numbers="{:.0f}", low=0, high=4)
        axes.set_title(title)
    for axes, matrix, title in ((three, dy, "$dy$"), (four, dtable, "$dE$")):
        heat(axes, matrix, numbers="{:.0f}", low=0, high=float(dtable.max()) * 2)
        axes.set_title(title)
    for axes in (one, two, three, four):
        axes.set_xticks([])
        axes.set_ylim(len(table) - 0.5, -0.5)  # rows of the same height in all four
    for axes in (one, four):
        name_rows(axes, range(len(table)))
    for axes in (two, three):
        name_rows(axes, ids)
    one.set_xlabel("forward: copy")
    three.set_xlabel("backward: add")
    join(fig, one, two, [(j, place, j) for place, j in enumerate(ids)])
    join(fig, three, four, [(place, j, j) for place, j in enumerate(ids)])


# Rows that learn ----------------------------------------------------------------------------------

#: The words that *friend* follows, and how their arrows are drawn.
ALIKE = {"good": ("C1", 0.0), "girl": ("C2", 0.0), "boy": ("C3", 0.0)}


@figure("planes", width=7.4, height=3.7, narrow=(3.7, 6.6))
def planes(data: Data, fig: Figure) -> None:
    """The rows of the table of next words, as arrows, before training and after it."""
    before, after = data.array("rows_before"), data.array("rows_after")  # [9, 2]
    limit = float(np.abs(after).max()) * 1.18
    for axes, rows, title in zip(panels(fig, 2), (before, after), ("random", "trained"), strict=True):
        axes.axhline(0, color=muted(), linewidth=0.5)
        axes.axvline(0, color=muted(), linewidth=0.5)
        for word, (x, y) in zip(ENGLISH, rows, strict=True):
            color = ALIKE[word][0] if word in ALIKE else muted()
            arrow(axes, (0, 0), (x, y), color, 2.0 if word in ALIKE else 1.0)
            axes.text(x, y, word, color=color)
        axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xticks=[], yticks=[])
        axes.set_title(title)
