"""Figures of chapter 15: weights in 4 bits."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle
from style import Data, Figure, arrow, blackboard, figure, ink, muted, narrow, paper

CHAPTER = "15_language_model"
BLOCK = np.array([0.38, -0.40, 0.17, -0.09])  # the page's first block of four
OUTLIER = 8.0  # the largest number of its neighbor
KINDS = ("F32", "BF16", "Q8_0", "file", "Q4_0")


@figure("roof", width=7.6, height=3.4, narrow=(3.7, 3.6))
def roof(data: Data, fig: Figure) -> None:
    """Tokens a second against bytes read for each, and the line that memory draws."""
    data.chapter = CHAPTER
    found = data.values(run="bits")
    axes = fig.add_subplot()
    megabytes = np.array([50, 800])
    axes.plot(megabytes, 1000 * found["read"] / megabytes, color=ink(), linewidth=1.2)
    at = 260 if narrow() else 330
    axes.annotate("what memory allows", (at, 1000 * found["read"] / at), (6, 6), textcoords="offset points", fontsize=8.5, color=ink(), va="bottom")
    for kind in KINDS:
        x, y = found[f"{kind}_megabytes"], found[f"{kind}_rate"]
        axes.plot(x, y, "D" if kind == "file" else "o", color="C1" if kind == "file" else "C0", markersize=6)
        beside = kind == "Q4_0"  # below it, a narrow figure has the file
        axes.annotate("the file" if kind == "file" else kind, (x, y), (-7, 0) if beside else (0, -8), textcoords="offset points", fontsize=8.5,
                      ha="right" if beside else "center", va="center" if beside else "top", color="C1" if kind == "file" else "C0")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks((75, 100, 150, 300, 600), ("75", "100", "150", "300", "600"))
    axes.minorticks_off()
    ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if axes.get_ylim()[0] <= n <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [str(n) for n in ticks])
    axes.set_xlabel("MB read for a token")
    axes.set_ylabel("tokens a second")


@figure("one_scale", width=7.6, height=1.25, narrow=(3.7, 1.25))
def one_scale(data: Data, fig: Figure) -> None:
    """A block of four numbers that shares its scale with an outlier."""
    number_line(fig, np.arange(-8, 8) * OUTLIER / -8)


@figure("own_scale", width=7.6, height=1.25, narrow=(3.7, 1.25))
def own_scale(data: Data, fig: Figure) -> None:
    """The same block with a scale of its own, as in Q4_0."""
    number_line(fig, np.arange(-8, 8) * BLOCK.min() / -8)


@figure("scale_and_minimum", width=7.6, height=1.25, narrow=(3.7, 1.25))
def scale_and_minimum(data: Data, fig: Figure) -> None:
    """The same block with scale and minimum, as in Q4_1."""
    number_line(fig, BLOCK.min() + np.arange(16) * (BLOCK.max() - BLOCK.min()) / 15)


def number_line(fig: Figure, lines: np.ndarray) -> None:
    """The levels between -0.46 and 0.46, and arrows from the block's numbers to the nearest ones."""
    axes = blackboard(fig)
    width, top = fig.get_size_inches()
    left, right, y = 0.2, width - 0.2, top - 0.75
    reach, above = 0.46, 0.36

    def at(x: float) -> float:
        return left + (x + reach) / (2 * reach) * (right - left)

    axes.plot((at(-reach), at(reach)), (y, y), color=muted(), linewidth=0.8)
    for level in lines[np.abs(lines) < reach]:
        axes.plot((at(level), at(level)), (y - 0.07, y + 0.07), color="C0", linewidth=1.6)
    shown: set[str] = set()
    for x in BLOCK:
        to = lines[np.abs(lines - x).argmin()]
        axes.text(at(x), y + above, f"{x:.2f}".replace("-", "−"), ha="center", va="bottom", fontsize=9, color=ink())
        arrow(axes, (at(x), y + above - 0.02), (at(to), y + 0.1), color="C1", width=1.1)
        label = "0" if to == 0 else f"{to:.3f}".removesuffix("0").replace("-", "−")
        if label not in shown:
            axes.text(at(to), y - 0.12, label, ha="center", va="top", fontsize=9, color="C1")
        shown.add(label)


@figure("block", width=7.6, height=1.2, narrow=(3.7, 1.35))
def block(data: Data, fig: Figure) -> None:
    """The twenty bytes of a block of Q4_1."""
    axes = blackboard(fig)
    small = narrow()
    width, top = fig.get_size_inches()
    left, y, high = 0.1, top - 0.8, 0.5
    box = (width - 0.2) / 20
    for i in range(20):
        x = left + i * box
        color = "C1" if i < 2 else "C2" if i < 4 else "C0"
        for half in range(1 if i < 4 else 2):
            tall = high if i < 4 else high / 2
            at = y if i < 4 else y + (1 - half) * high / 2  # the low half above
            axes.add_patch(Rectangle((x, at), box, tall, facecolor=color, alpha=(0.3, 0.14)[half], edgecolor="none"))
            axes.add_patch(Rectangle((x, at), box, tall, facecolor="none", edgecolor=paper(), linewidth=1.2))
            if i >= 4 and (not small or i in (4, 5, 19)):
                axes.text(x + box / 2, at + tall / 2, str(i - 4 + 16 * half), ha="center", va="center", fontsize=7 if small else 8.5, color=ink())
    for first, count, name, color in ((0, 2, "scale", "C1"), (2, 2, "min." if small else "minimum", "C2"), (4, 16, "32 numbers, two in a byte", "C0")):
        axes.text(left + (first + count / 2) * box, y + high + 0.07, name, ha="center", va="bottom", fontsize=8 if small else 9, color=color)
    axes.text(left + 4 * box, y - 0.08, "above, the low 4 bits;\nbelow, the high 4" if small else "above, the low 4 bits of each byte; below, its high 4",
              ha="left", va="top", fontsize=8.5, color=muted())
