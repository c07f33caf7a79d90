"""Figures of the front matter."""

from itertools import accumulate

import architecture
import glosses
import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from style import Data, Figure, figure, ink, muted, narrow


def chapter(data: Data, name: str) -> Data:
    """The output of a chapter's programs."""
    return Data(name, data.results, data.read)


@figure("architecture", width=7.4, height=3.0, narrow=(3.7, 5.6))
def whole(data: Data, fig: Figure) -> None:
    architecture.draw(fig)


TOUCHED = "friend"  # the word whose lines stand out
LEAST = 0.05  # lighter lines are left out, here and in the live part


def middles(words: list[str], center: float, letter: float, gap: float) -> list[float]:
    """Where words are centered that stand beside one another."""
    widths = [letter * len(word) for word in words]
    ends = list(accumulate(widths, lambda end, width: end + gap + width))
    return [center - ends[-1] / 2 + end - width / 2 for end, width in zip(ends, widths, strict=True)]


@figure("lines", width=7.4, height=2.9, narrow=(3.7, 2.9))
def lines(data: Data, fig: Figure) -> None:
    """A translation, and where each of its words looked: lines as thick as the weights."""
    ten = chapter(data, "10_greedy_decoding")
    source = ten.value("unseen_source", run="grammar").split()
    said = ten.value("unseen_answer", run="grammar").split()  # without the end symbol
    weights = ten.array("unseen_cross", run="grammar")[: len(said)]
    width, height = fig.get_size_inches()
    fig.set_layout_engine("none")
    axes = fig.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    step = 0.5 if narrow() else 0.86
    above = width / 2 + step * (np.arange(len(source)) - (len(source) - 1) / 2)
    below = middles(said, width / 2, *((0.108, 0.25) if narrow() else (0.125, 0.58)))
    top, bottom = height - 0.92, 0.44
    for x, character in zip(above, source, strict=True):
        axes.text(x, height - 0.48, character, fontsize=20, ha="center", va="center")
    places = iter(above)
    for word, gloss in glosses.pieces("".join(source)):
        x = np.mean([next(places) for _ in word])
        axes.text(x, top + 0.13, gloss, fontsize=8 if narrow() else 9.5, color=muted(), ha="center", va="center")
    for i, (x, word) in enumerate(zip(below, said, strict=True)):
        touched = word == TOUCHED
        color = "C1" if touched else "C0"
        axes.text(x, 0.25, word, fontsize=12 if narrow() else 14, color=color if touched else ink(), ha="center", va="center")
        for j in np.flatnonzero(weights[i] >= LEAST):
            bend = 0.45 * (top - bottom)
            way = Path([(x, bottom), (x, bottom + bend), (above[j], top - bend), (above[j], top)], [Path.MOVETO, *3 * [Path.CURVE4]])
            axes.add_patch(PathPatch(way, fill=False, edgecolor=color, linewidth=9 * weights[i, j], alpha=0.9 if touched else 0.55))
            if touched:
                axes.text(above[j], height - 0.14, f"{weights[i, j]:.2f}", fontsize=9, color=color, ha="center", va="center")


@figure("learning", width=7.4, height=2.4, narrow=(3.7, 2.6))
def learning(data: Data, fig: Figure) -> None:
    """The first steps of chapter 9's training on the grammar."""
    steps = 120
    loss = chapter(data, "09_training").array("losses", run="grammar")[:steps]
    axes = fig.subplots()
    axes.plot(np.arange(1, steps + 1), loss, color="C0", linewidth=2)
    axes.set(xlabel="step", ylabel="loss", xlim=(0, steps), ylim=(0, 4.2))
    axes.grid()


@figure("mean", width=7.0, height=2.3, narrow=(3.7, 2.5))
def mean(data: Data, fig: Figure) -> None:
    """Four numbers as bars, as wide as their weights: first all weights equal, then one preferred."""
    numbers = np.array((2.0, 0.0, 8.0, 6.0))
    size = 8.0 if narrow() else 9.5
    for axes, said, weights in zip(
        fig.subplots(1, 2), ("equal weights", "its own weights"), ((0.25,) * 4, (0.1, 0.1, 0.7, 0.1)), strict=True
    ):
        axes.set_axis_off()
        axes.set(xlim=(-0.02, 1.3), ylim=(-1.2, 9))
        ends = np.cumsum(weights)
        level = float(numbers @ weights)
        for end, wide, number in zip(ends, weights, numbers, strict=True):
            middle = end - wide / 2
            axes.bar(middle, number, wide, color="C0", alpha=0.55, edgecolor=ink(), linewidth=0.8)
            axes.text(middle, max(0.3 * number, 0.7), f"{number:.0f}", ha="center", va="center", fontsize=size + 1, color=ink())
            axes.text(middle, -0.3, f"{wide:g}"[1:], ha="center", va="top", fontsize=size - 1.5, color=muted())
        axes.plot((0, 1.04), (level, level), color="C1", linewidth=2, linestyle="--")
        axes.text(1.06, level, f"{level:g}", va="center", fontsize=size + 2, color="C1")
        axes.set_title(said, fontsize=size + 0.5, color=ink(), x=0.4)
