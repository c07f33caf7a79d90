"""What several chapters' figures draw on `style.blackboard`."""

from collections.abc import Sequence

from matplotlib.patches import FancyBboxPatch
from style import Axes, ink, muted, paper

RANKS = ("C5", "C3", "C0", "C2")  # the colors of chapter 14's ranks


def box(axes: Axes, x: float, y: float, wide: float, high: float, text: str, color: str | None = None,
        size: float = 9) -> None:
    """A rounded box around its middle, with a text in it."""
    look = {"boxstyle": "round,pad=0,rounding_size=0.05", "zorder": 3}
    at = (x - wide / 2, y - high / 2)
    for fill, alpha, edge in ((paper(), 1, "none"), (color or paper(), 0.16, "none"), ("none", 1, color or muted())):
        axes.add_patch(FancyBboxPatch(at, wide, high, facecolor=fill, alpha=alpha, edgecolor=edge, linewidth=1.1,
                                      **look))
    low = text in ("▁", ".")  # a mark at the foot of a line stays there
    axes.text(x, y - size / 200 if low else y - 0.01, text, ha="center", va="baseline" if low else "center",
              fontsize=size, color=ink(), zorder=4, linespacing=1.25)


def merge_tree(axes: Axes, text: str, joins: Sequence[tuple[float, int, int, int]], left: float, low: float,
               cell: float) -> None:
    """The letters of a text side by side, and above each two pieces the one that they are joined to.

    :param joins: for each piece its height, and where its two parts begin, meet and end
    """
    tops = {(i, i + 1): (left + (i + 0.5) * cell, low) for i in range(len(text))}
    for letter, (x, y) in zip(text, tops.values(), strict=True):
        box(axes, x, y, min(0.28, 0.8 * cell), 0.28, letter, "C6", 10)
    for y, begin, middle, end in joins:
        x = left + (begin + end) / 2 * cell
        for part in ((begin, middle), (middle, end)):
            a, b = tops[part]
            axes.plot((a, x), (b + 0.14, y - 0.14), color="C0", linewidth=1.1, zorder=1)
        box(axes, x, y, 0.16 + 0.105 * (end - begin), 0.28, text[begin:end], "C0", 10)
        tops[begin, end] = (x, y)
