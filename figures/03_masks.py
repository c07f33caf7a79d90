"""Figures of chapter 3."""

import numpy as np
from glosses import glossed
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from style import Axes, Data, Figure, blackboard, figure, heat, ink, muted, narrow, panels, paper, say


def card(axes: Axes, x: float, y: float, word: str, *, width: float, height: float = 0.34,
         edge: str | None = None, fill: str = "none", alpha: float = 1, size: float = 10,
         line: str = "-", color: str | None = None) -> None:
    """A word in a box with round corners."""
    axes.add_patch(FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.07",
        facecolor=fill, edgecolor="none", alpha=alpha, zorder=2))
    axes.add_patch(FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.07",
        facecolor="none", edgecolor=edge or muted(), linewidth=1, linestyle=line, zorder=3))
    axes.text(x, y - 0.01, word, ha="center", va="center", fontsize=size, color=color or ink(), zorder=4)


def ring(axes: Axes, x: float, y: float, width: float, height: float) -> None:
    axes.add_patch(FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, zorder=5, facecolor="none", edgecolor="C1",
        boxstyle=f"round,pad=0,rounding_size={height / 2}", linewidth=2.2))


def look(axes: Axes, points: list[tuple[float, float]], color: str, line: str = "-") -> None:
    """A curved arrow from a seat to one that it looks at."""
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    axes.add_patch(PathPatch(Path(points, codes), facecolor="none", edgecolor=color, linewidth=2, linestyle=line,
                             capstyle="butt", zorder=6))
    x, y = points[-1]
    axes.add_patch(Polygon([(x, y + 0.09), (x - 0.055, y - 0.04), (x + 0.055, y - 0.04)], facecolor=color,
                           edgecolor="none", zorder=6))


@figure("seats", width=7.6, height=5.1, narrow=(3.7, 5.0))
def seats(data: Data, fig: Figure) -> None:
    """The place of I looks left and must not look right; the same for every place is the mask."""
    words = data.value("target_0").split()
    answers = [*words[1:], "E"]
    hidden = data.array("future")[0]  # [7, 7]
    small = narrow()
    axes = blackboard(fig)
    left, pitch, wide, cell = (0.83, 0.43, 0.385, 0.29) if small else (1.55, 0.92, 0.74, 0.3)
    size = 7.8 if small else 10.5
    x = [left + pitch * j for j in range(len(words))]
    top = fig.get_size_inches()[1]
    answer, seat = top - 0.3, top - 1.12
    grid = seat - 1.4 - cell / 2  # the middle of the table's first row
    me, next_one = 1, 2

    for j, (word, said) in enumerate(zip(words, answers, strict=True)):
        card(axes, x[j], answer, said, width=wide, line=(0, (3, 2)), size=size)
        card(axes, x[j], seat, word, width=wide, size=size,
             fill="C2" if not hidden[me, j] else "none", alpha=0.22)
        axes.annotate("", (x[j], answer - 0.19), (x[j], seat + 0.19), arrowprops={
            "arrowstyle": "-|>", "color": ink() if j == me else muted(), "linewidth": 1.6 if j == me else 0.8,
            "shrinkA": 0, "shrinkB": 0})
    label = x[0] - wide / 2 - 0.1
    for y, text in ((answer, "must\nsay" if small else "must say"), (seat, "reads")):
        axes.text(label, y, text, ha="right", va="center", fontsize=size - 0.5, color=muted())

    # the answer of this place is the word of the next
    ring(axes, x[me], answer, wide + 0.1, 0.46)
    ring(axes, x[next_one], seat, wide + 0.1, 0.46)
    axes.plot([x[me] + 0.32 * pitch, x[next_one] - 0.3 * pitch], [answer - 0.25, seat + 0.24], color="C1",
              linewidth=1.2, linestyle=(0, (1, 1.5)))

    # who looks at whom
    low = seat - 0.19
    deep = low - 0.5
    a, b, c, d = (x[me] + part * wide for part in (-0.3, -0.13, 0.13, 0.34))  # where lines leave
    look(axes, [(a, low), (a, deep), (x[0], deep), (x[0], low - 0.1)], "C2")
    look(axes, [(b, low), (b - 0.1, low - 0.38), (c + 0.1, low - 0.38), (c, low - 0.1)], "C2")
    look(axes, [(d, low), (d, deep), (x[next_one], deep), (x[next_one], low - 0.15)], "C1", (0, (3, 2)))
    axes.text(x[next_one] + 0.16, low - 0.25, "no: that is\nits answer" if small else "no: that is its answer",
              ha="left", va="center", fontsize=size - 0.5, color="C1")
    axes.text(x[0] - 0.14, low - 0.24, "yes", ha="right", va="center", fontsize=size - 0.5, color="C2")

    # the same for every place
    titles = ((label, "right", "place of" if small else "the place of"), (x[0] - wide / 2, "left", "may look at"))
    for at, side, text in titles:
        axes.text(at, grid + cell / 2 + 0.41, text, ha=side, va="center", fontsize=size - 0.5, color=muted())
    for j, word in enumerate(words):
        axes.text(x[j], grid + cell / 2 + 0.15, word, ha="center", va="center", fontsize=size, color=ink())
    for i, word in enumerate(words):
        y = grid - i * (cell + 0.04)
        axes.text(label, y, word, ha="right", va="center", fontsize=size, color=ink(), fontfamily="DejaVu Sans",
                  fontweight="bold" if i == me else "normal")
        for j in range(len(words)):
            seen = not hidden[i, j]
            axes.add_patch(Rectangle((x[j] - wide / 2, y - cell / 2), wide, cell, linewidth=0.8,
                                     facecolor="C2" if seen else "none", alpha=0.22 if seen else 1,
                                     edgecolor="none" if seen else muted()))
            if seen:
                axes.add_patch(Circle((x[j], y), 0.055, color="C2"))
            else:
                say(axes, x[j], y - 0.01, "×", fontsize=11, color="C1" if j == i + 1 else muted())
            if j == i + 1:
                ring(axes, x[j], y, min(wide, 0.5) - 0.02, cell - 0.04)
        if i == me:
            axes.add_patch(Rectangle(
                (x[0] - wide / 2 - 0.04, y - cell / 2 - 0.02), x[-1] - x[0] + wide + 0.08, cell + 0.04,
                facecolor="none", edgecolor=ink(), linewidth=1.3, zorder=7))


@figure("pads", width=7.6, height=2.4, narrow=(3.7, 3.6))
def pads(data: Data, fig: Figure) -> None:
    """What is added and what is counted: a pad in the mean, a pad of zero, a hidden pad."""
    words = ["I", "have", "a", "friend", ".", "P"]
    numbers, means = data.array("pad_words"), data.array("pad_means")
    small = narrow()
    axes = blackboard(fig)
    pitch = 0.5 if small else 0.56
    x0 = 0.36 if small else 2.0
    top = fig.get_size_inches()[1]
    step = 0.83 if small else 0.5
    size = 8.5 if small else 10
    y = top - (0.17 if small else 0.22)
    for j, word in enumerate(words):
        axes.text(x0 + j * pitch, y, word, ha="center", va="center", fontsize=size, color=muted())
    rows = [
        ("the sentence alone", None, means[0, 0], ""),
        ("the pad counts", numbers[-1], means[0, 1], "too high"),
        ("the pad is set to zero", 0.0, means[1, 1], "too low"),
        ("the pad is hidden", None, means[2, 1], "as it is alone"),
    ]
    for n, (title, pad, mean, verdict) in enumerate(rows):
        y = top - (0.8 if small else 0.58) - n * step
        hides = n == 3
        axes.text(0.16 if small else x0 - 0.36, y + (0.3 if small else 0), title, ha="left" if small else "right",
                  va="center", fontsize=size)
        shown = [*numbers[:-1], *([] if pad is None else [pad])]
        for j, number in enumerate(shown):
            last = j == len(words) - 1
            card(axes, x0 + j * pitch, y, f"{number:.0f}", width=0.42, height=0.32, size=size,
                 fill="C5" if last else "C2", alpha=0.3 if last else 0.18)
        if hides:
            card(axes, x0 + 5 * pitch, y, "×", width=0.42, height=0.32, size=size, line=(0, (3, 2)), color=muted())
        right = verdict in ("", "as it is alone")
        text = f"{sum(shown):.0f} / {len(shown)} = {mean:.3g}"
        if small:
            axes.text(3.56, y + 0.3, f"{text}  {verdict}".rstrip(), ha="right", va="center", fontsize=size,
                      color="C2" if right else "C1")
        else:
            axes.text(x0 + 5.75 * pitch, y, text, ha="left", va="center", fontsize=size, color=ink())
            say(axes, x0 + 7.75 * pitch, y, verdict, ha="left", fontsize=size, color="C2" if right else "C1")


@figure("notice", width=7.6, height=2.2, narrow=(3.7, 2.9))
def notice(data: Data, fig: Figure) -> None:
    """By how much each place's mean moves when a word is replaced, with three masks."""
    moved = data.array("moved")  # [3, 7]
    words = data.value("target_0").split()
    new = 2
    small = narrow()
    axes = blackboard(fig)
    left, pitch, wide = (0.83 - 0.43, 0.483, 0.43) if small else (1.55, 0.92, 0.74)
    size = 8.2 if small else 10.5
    top = fig.get_size_inches()[1]
    x = [left + pitch * j for j in range(len(words))]
    y = top - (0.55 if small else 0.5)
    for j, word in enumerate(words):
        card(axes, x[j], y, "want" if j == new else word, width=wide, size=size, edge="C1" if j == new else None)
    axes.text(x[new], y + 0.31, "instead of have", ha="center", va="center", fontsize=size - 0.5, color="C1")
    for m, name in enumerate(("no mask", "one too far", "future hidden")):
        y = top - (1.2 + 0.64 * m if small else 1.0 + 0.4 * m)
        if small:
            axes.text(x[0] - wide / 2, y + 0.27, name, ha="left", va="center", fontsize=size)
        else:
            axes.text(x[0] - wide / 2 - 0.1, y, name, ha="right", va="center", fontsize=size - 0.5)
        for j, by in enumerate(moved[m]):
            wrong = by != 0 and j < new
            color = "C1" if wrong else "C2"
            axes.add_patch(Rectangle((x[j] - wide / 2, y - 0.15), wide, 0.3, linewidth=0.8,
                                     facecolor=color if by else "none", alpha=0.25 if by else 1,
                                     edgecolor="none" if by else muted()))
            say(axes, x[j], y - 0.01, f"+{by:.2f}" if by else "0", fontsize=size - 0.5, color=ink() if by else muted())
            if wrong:
                ring(axes, x[j], y, wide - 0.02, 0.27)


def why(axes: Axes, rows: list[str], columns: list[str], pads: np.ndarray, future: np.ndarray) -> None:
    """A table whose hidden cells say why: hatched for a pad, filled for the future."""
    for (i, j), pad in np.ndenumerate(pads):
        corner = (j - 0.5, i - 0.5)
        if future[i, j]:
            axes.add_patch(Rectangle(corner, 1, 1, facecolor="C0", alpha=0.45, edgecolor="none"))
        if pad:
            axes.add_patch(Rectangle(corner, 1, 1, facecolor="none", hatch="/////", linewidth=0))
        axes.add_patch(Rectangle(corner, 1, 1, facecolor="none", edgecolor=muted(), linewidth=0.6))
    axes.set(xlim=(-0.55, len(columns) - 0.45), ylim=(len(rows) - 0.45, -0.55), aspect="equal", anchor="N")
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)


@figure("grids", width=7.6, height=3.3, narrow=(3.7, 9.4))
def grids(data: Data, fig: Figure) -> None:
    """The three masks of one pair of sentences, and why each cell is hidden."""
    source, target = data.value("source_1").split(), data.value("target_1").split()
    encoder, decoder, cross = data.array("encoder")[1], data.array("target_pads")[1], data.array("cross")[1]
    future = data.array("future")[1]
    source = [label.removesuffix(" pad") for label in glossed(source, " ")]
    ratios = {"height_ratios" if narrow() else "width_ratios": [8, 7, 8 if not narrow() else 7]}
    axes = panels(fig, 3, **ratios)
    for ax, title, rows, columns, pads, later in (
        (axes[0], "source looks at source", source, source, encoder, np.zeros_like(encoder)),
        (axes[1], "target looks at target", target, target, decoder, future),
        (axes[2], "target looks at source", target, source, cross, np.zeros_like(cross)),
    ):
        why(ax, rows, columns, pads, later)
        ax.set_xlabel(title, fontsize=9.5)
    handles = [Rectangle((0, 0), 1, 1, facecolor="none", hatch="/////", linewidth=0.6, label="hidden: a pad"),
               Rectangle((0, 0), 1, 1, facecolor="C0", alpha=0.45, label="hidden: the future")]
    fig.legend(handles=handles, loc="outside lower center", ncols=2)


def mark(axes: Axes, taken: np.ndarray, right: np.ndarray) -> None:
    """Colors the wrong cells: a word that is hidden, or a pad that is not."""
    for i, j in np.argwhere(taken != right):
        axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor="C1", edgecolor=paper(),
                                 linewidth=0.6, alpha=1 if taken[i, j] else 0.45))
        say(axes, j, i, "×" if taken[i, j] else "○", fontsize=9, color=paper() if taken[i, j] else ink())


@figure("heads", width=5.6, height=4.8, narrow=(3.7, 3.9))
def heads(data: Data, fig: Figure) -> None:
    """The mask that broadcasting takes for each sentence and head, wrong cells marked."""
    mask = data.array("encoder")  # [B, L, L]
    axes = fig.subplots(2, 2)
    for sentence in range(2):
        words = data.value(f"source_{sentence}").split()
        for head in range(2):
            ax = axes[sentence][head]
            # broadcasting takes the mask of the sentence with the head's number
            heat(ax, mask[head], rows=glossed(words, " "), columns=words, low=0, high=1)
            mark(ax, mask[head], mask[sentence])
            wrong = int((mask[head] != mask[sentence]).sum())
            verdict = f"{wrong} wrong" if wrong else "right"
            ax.set_title(f"sentence {sentence}, head {head}:{chr(10) if narrow() else ' '}{verdict}")
