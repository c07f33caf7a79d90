"""Figures of chapter 15's page on a published model."""

from __future__ import annotations

from blackboard import box, merge_tree
from matplotlib.patches import FancyArrowPatch, Rectangle
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow

CHAPTER, RUN = "15_language_model", "published"
SPACE = "␣"


@figure("file", width=7.6, height=2.35, narrow=(3.7, 3.6))
def file(data: Data, fig: Figure) -> None:
    """Three parts of a file, and what each is needed for: pieces of a text, a model, and the next piece."""
    data.chapter = CHAPTER
    found = data.values(run=RUN)
    prompt = "The capital of Portugal is"
    said = str(found["portugal"])
    assert said.startswith(prompt)
    pieces = [prompt.split()[0], *(SPACE + word for word in prompt.split()[1:])]
    answer = SPACE + said[len(prompt):].split(".")[0].strip()
    axes = blackboard(fig)
    small = narrow()
    parts = ("", f"fields:\n{found['layers']:.0f} blocks,\n{found['heads']:.0f} heads, …", "272 arrays\nof weights")
    if small:
        box(axes, 1.85, 3.3, 1.5, 0.34, "pieces, merges", "C2", 8.5)
        arrow(axes, (1.85, 3.12), (1.85, 2.66), "C2", 1.2)
        axes.text(1.95, 2.9, "cut the text", fontsize=8, color=muted(), va="center")
        row(axes, 0.38, 2.45, pieces)
        arrow(axes, (1.85, 2.27), (1.85, 1.68), ink(), 1.2)
        box(axes, 1.85, 1.45, 0.9, 0.42, "Llama", "C0", 9.5)
        box(axes, 0.6, 1.45, 1.06, 0.66, parts[1], "C5", 8.5)
        box(axes, 3.1, 1.45, 1.06, 0.66, parts[2], "C0", 8.5)
        arrow(axes, (1.15, 1.45), (1.38, 1.45), "C5", 1.2)
        arrow(axes, (2.55, 1.45), (2.32, 1.45), "C0", 1.2)
        arrow(axes, (1.85, 1.22), (1.85, 0.7), ink(), 1.2)
        row(axes, 1.46, 0.5, [answer])
        axes.text(1.85, 0.16, "and so on, piece by piece", fontsize=8, color=muted(), ha="center", va="center")
        return
    for x, text, color, wide in ((1.7, "pieces, merges", "C2", 1.5), (4.35, parts[1].replace("\n", " "), "C5", 2.3),
                                 (6.55, parts[2].replace("\n", " "), "C0", 1.7)):
        box(axes, x, 1.86, wide, 0.34, text, color)
    end = row(axes, 0.1, 0.6, pieces)
    box(axes, 5.1, 0.6, 1.0, 0.42, "Llama", "C0", 9.5)
    row(axes, 6.35, 0.6, [answer])
    arrow(axes, (1.7, 1.68), (1.7, 0.84), "C2", 1.2)
    axes.text(1.8, 1.28, "cut the text", fontsize=8.5, color=muted(), va="center")
    arrow(axes, (4.35, 1.68), (4.95, 0.83), "C5", 1.2)
    arrow(axes, (6.55, 1.68), (5.3, 0.83), "C0", 1.2)
    arrow(axes, (end + 0.08, 0.6), (4.56, 0.6), ink(), 1.2)
    arrow(axes, (5.64, 0.6), (6.28, 0.6), ink(), 1.2)
    axes.plot((6.75, 6.75, 2.3), (0.36, 0.14, 0.14), color=muted(), linewidth=1.0, linestyle=(0, (3, 2)))
    arrow(axes, (2.3, 0.14), (2.3, 0.35), muted(), 1.0)
    axes.text(4.6, 0.2, "and so on, piece by piece", fontsize=8, color=muted(), ha="center", va="bottom")


def row(axes: Axes, left: float, y: float, pieces: list[str]) -> float:
    """Boxes of pieces side by side, from `left` on. Returns where they end."""
    size = 8.5
    for piece in pieces:
        wide = 0.13 + 0.075 * len(piece)
        box(axes, left + wide / 2, y, wide, 0.3, piece, "C2", size)
        left += wide + 0.05
    return left - 0.05


@figure("rows", width=7.6, height=1.9, narrow=(3.7, 2.5))
def rows(data: Data, fig: Figure) -> None:
    """The rows of a head of eight, in the order of a GGUF file, and which of them each reading makes a pair."""
    axes = blackboard(fig)
    small = narrow()
    cell, left, y, high = (0.41, 0.2, 1.2, 0.32) if small else (0.62, 1.92, 0.92, 0.36)
    order = [i // 2 + 4 * (i % 2) for i in range(8)]

    def middle(column: float) -> float:
        return left + cell * (column + 0.5)

    for column, original in enumerate(order):
        color = f"C{original % 4}"
        axes.add_patch(Rectangle((left + cell * column, y), cell, high, facecolor=color, alpha=0.22, linewidth=0))
        axes.add_patch(Rectangle((left + cell * column, y), cell, high, facecolor="none", edgecolor=color, linewidth=1.3))
        axes.text(middle(column), y + high / 2, str(original), ha="center", va="center", fontsize=10, color=ink())
    for i in range(4):
        for begin, end, edge, bend in ((2 * i, 2 * i + 1, y + high + 0.04, -0.7), (i, i + 4, y - 0.04, 0.3)):
            axes.add_patch(FancyArrowPatch((middle(begin), edge), (middle(end), edge), connectionstyle=f"arc3,rad={bend}",
                                           arrowstyle="<|-|>", mutation_scale=8, color=f"C{i}", linewidth=1.3, shrinkA=0, shrinkB=0))
        for x, height in ((2 * i + 0.5, y + high + 0.38), (i + 2, y - (0.42 if small else 0.58))):
            axes.text(middle(x), height, f"$f_{i}$", ha="center", va="center", fontsize=10, color=f"C{i}")
    titles = ("read in neighbors: right", "read in halves: wrong")
    if small:
        for title, height in zip(titles, (y + high + 0.7, y - 0.75), strict=True):
            axes.text(left, height, title, ha="left", va="center", fontsize=9.5, color=ink())
    else:
        for title, height in zip(titles, (y + high + 0.22, y - 0.3), strict=True):
            axes.text(left - 0.2, height, title.replace(": ", ":\n"), ha="right", va="center", fontsize=9.5, color=ink(),
                      linespacing=1.2)


@figure("merges", width=7.6, height=2.95, narrow=(3.7, 3.2))
def merges(data: Data, fig: Figure) -> None:
    """Seven bytes become one piece: six merges, each above the two pieces that it joins."""
    data.chapter = CHAPTER
    found = data.values(run=RUN)
    word = " friend"
    axes = blackboard(fig)
    small = narrow()
    cell, step, low = (0.37, 0.44, 0.3) if small else (0.68, 0.41, 0.28)
    left = 0.12 if small else 0.3
    right = left + len(word) * cell + (0.1 if small else 0.35)
    joins = []
    for n in range(1, int(found["merges_friend"]) + 1):
        begin, middle, end = (int(found[f"{what}{n}_friend"]) for what in ("begin", "middle", "end"))
        x, y = left + (begin + end) / 2 * cell, low + n * step
        joins.append((y, begin, middle, end))
        axes.plot((x + 0.1 + 0.06 * (end - begin), right - 0.08), (y, y), color=muted(), linewidth=0.6, linestyle=(0, (1, 3)), zorder=0)
        axes.text(right, y, f"{'' if small else f'merge {n}, '}place {found[f'place{n}_friend']:,.0f}",
                  fontsize=9, color=ink(), va="center")
    merge_tree(axes, word.replace(" ", SPACE), joins, left, low, cell)
