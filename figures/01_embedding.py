"""Figures of chapter 1."""

from matplotlib.patches import ConnectionPatch
from style import Data, Figure, figure, heat, ink, muted


@figure("lookup", width=6.8, height=3.6)
def lookup(data: Data, fig: Figure) -> None:
    """The table on the left, the sentence's vectors on the right, a line from row to row."""
    words = data.value("words").split()
    ids = data.array("ids")[0]  # [L]
    table, vectors = data.array("table"), data.array("vectors")[0]  # [11, 8], [L, 8]
    left, right = fig.subplots(1, 2, gridspec_kw={"wspace": 0.3})
    heat(left, table, rows=[f"{word}  {i}" for i, word in enumerate(words)],
         columns=[str(c) for c in range(table.shape[1])], signed=True, low=-3, high=3)
    heat(right, vectors, rows=[words[i] for i in ids],
         columns=[str(c) for c in range(table.shape[1])], signed=True, low=-3, high=3, bar="entry")
    left.set_xlabel("column")
    right.set_xlabel("column")
    left.set_ylabel("word and id: row of the table")
    edge = table.shape[1] - 0.4
    for place, i in enumerate(ids):
        fig.add_artist(ConnectionPatch(
            xyA=(edge, i), coordsA=left.transData, xyB=(-1.7, place), coordsB=right.transData,
            color=muted(), linewidth=0.9, zorder=5,
        ))


@figure("rows", width=6.4, height=3.4)
def rows(data: Data, fig: Figure) -> None:
    """The first entries of one row before and after the factor."""
    count = 48
    before, after = data.array("narrow")[:count], data.array("narrow_scaled")[:count]
    axes = fig.subplots()
    axes.axhspan(-1, 1, color=muted(), alpha=0.16, linewidth=0)
    axes.text(count + 0.3, 0, "position codes\nlie between\n−1 and 1", va="center", color=ink(),
              fontsize=8.5)
    columns = range(len(before))
    axes.vlines(columns, 0, after, color="C0", linewidth=1.2)
    axes.plot(columns, after, "o", color="C0", label="after: times $\\sqrt{d_{model}}$")
    axes.plot(columns, before, "s-", color="C1", label="before", markersize=3.2, linewidth=1)
    axes.set_xlabel("column")
    axes.set_ylabel("entry of the row of word 5")
    axes.set_xlim(-1, count)
    axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    axes.grid(axis="y")
