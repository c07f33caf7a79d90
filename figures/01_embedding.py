"""Figures of chapter 1."""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import ConnectionPatch
from style import Axes, Data, Figure, figure, heat, ink, muted, narrow

#: The ids that occur twice, and how their lines are drawn.
TWICE = {2: ("C1", "-"), 4: ("C2", (0, (4, 1.5)))}


def join(fig: Figure, left: Axes, right: Axes, pairs: Sequence[tuple[int, int, int]]) -> None:
    """An arrow from a row on the left to a row on the right, for each (row, row, id)."""
    for start, end, word in pairs:
        color, line = TWICE.get(word, (muted(), "-"))
        fig.add_artist(ConnectionPatch(
            xyA=(1.0, start), coordsA=left.get_yaxis_transform(),
            xyB=(-0.28, end), coordsB=right.get_yaxis_transform(),
            arrowstyle="-|>", color=color, linestyle=line, linewidth=1.6 if word in TWICE else 0.8,
            mutation_scale=8, zorder=5, shrinkA=1, shrinkB=1,
        ))


def name_rows(axes: Axes, labels: Sequence[str], ids: Sequence[int]) -> None:
    """Labels at the rows; the label of a repeated word has the word's color."""
    axes.set_yticks(range(len(labels)), labels)
    for text, word in zip(axes.get_yticklabels(), ids, strict=True):
        text.set_color(TWICE[word][0] if word in TWICE else ink())
        text.set(fontfamily="DejaVu Sans", fontweight="bold" if word in TWICE else "normal")


@figure("lookup", width=7.4, height=3.9, narrow=(3.7, 7.0))
def lookup(data: Data, fig: Figure) -> None:
    """Rows are copied forward; their gradients come back and are added."""
    ids = data.array("ids").ravel()  # [8]
    table, dtable = data.array("table"), data.array("dtable")  # [10, 3]
    width = table.shape[1]
    vectors = data.array("vectors").reshape(-1, width)  # [8, 3]
    dy = data.array("dy").reshape(-1, width)
    rows = range(len(table))
    if narrow():
        (one, two), (three, four) = fig.subplots(2, 2, gridspec_kw={"wspace": 0.55, "hspace": 0.12})
    else:
        one, two, three, four = fig.subplots(1, 4, gridspec_kw={"wspace": 0.6})
    limit = float(np.abs(np.concatenate([table, vectors])).max())
    for axes, matrix, title in ((one, table, "table $E$"), (two, vectors, "vectors $y$")):
        heat(axes, matrix, signed=True, low=-limit, high=limit)
        axes.set_title(title)
    for axes, matrix, title in ((three, dy, "$dy$"), (four, dtable, "$dE$")):
        heat(axes, matrix, numbers="{:.0f}", low=0, high=float(dtable.max()) * 2)
        axes.set_title(title)
    for axes in (one, two, three, four):
        axes.set_xticks([])
        axes.set_ylim(len(table) - 0.5, -0.5)  # rows of the same height in all four
    for axes in (one, four):
        name_rows(axes, [str(j) for j in rows], list(rows))
    for axes in (two, three):
        name_rows(axes, [str(j) for j in ids], list(ids))
    one.set_xlabel("forward: copy")
    three.set_xlabel("backward: add")
    join(fig, one, two, [(j, place, j) for place, j in enumerate(ids)])
    join(fig, three, four, [(place, j, j) for place, j in enumerate(ids)])
