"""Figures of chapter 15: words that are drawn."""

from __future__ import annotations

import numpy as np
from glosses import ALONE
from matplotlib.patches import Polygon, Rectangle
from style import Data, Figure, blackboard, figure, ink, muted, narrow, panels, paper

WORDS = ("good", "old", "girl", "has")
PIECES = np.array([0.5, 0.25, 0.15, 0.1])  # the example's probabilities; the last word would be a mistake
COLORS = ("C0", "C4", "C2", "C1")
DART = 0.7
CHAPTER = "15_language_model"


def tempered(t: float) -> np.ndarray:
    return PIECES ** (1 / t) / np.sum(PIECES ** (1 / t))


@figure("darts", width=7.6, height=3.25, narrow=(3.7, 3.85))
def darts(data: Data, fig: Figure) -> None:
    """Four bars cut into pieces as long as the words' probabilities, and where one dart hits each of them."""
    axes = blackboard(fig)
    small = narrow()
    width, top = fig.get_size_inches()
    left, right = (0.14, width - 0.14) if small else (1.75, width - 0.14)
    bar, step, first = (0.36, 0.86, top - 1.0) if small else (0.42, 0.66, top - 1.02)
    kept = np.where(np.cumsum(PIECES) - PIECES < 0.8, PIECES, 0)
    rows = (("as it is", PIECES), ("temperature ½", tempered(0.5)), ("temperature 2", tempered(2)), ("top-p 0.8", kept / kept.sum()))
    at = left + DART * (right - left)
    bottom = first - 3 * step - 0.16
    axes.plot((at, at), (bottom, top - 0.34), color=ink(), linewidth=1.1, linestyle=(0, (4, 3)), zorder=5)
    axes.add_patch(Polygon([(at, first + bar + 0.02), (at - 0.07, first + bar + 0.19), (at + 0.07, first + bar + 0.19)], closed=True,
                           facecolor=ink(), edgecolor="none", zorder=6))
    axes.text(at, top - 0.3, f"one dart, $u$ = {DART}", ha="center", va="bottom", fontsize=9.5, color=ink())
    for n, (name, pieces) in enumerate(rows):
        y, x = first - n * step, left
        if small:
            axes.text(left, y + bar + 0.06, name, ha="left", va="bottom", fontsize=9, color=ink())
        else:
            axes.text(left - 0.16, y + bar / 2, name, ha="right", va="center", fontsize=9.5, color=ink())
        for word, piece, color in zip(WORDS, pieces, COLORS, strict=True):
            long = piece * (right - left)
            hit = x <= at < x + long
            axes.add_patch(Rectangle((x, y), long, bar, facecolor=color, alpha=0.5 if hit else 0.2, edgecolor="none", zorder=2))
            axes.add_patch(Rectangle((x, y), long, bar, facecolor="none", edgecolor=paper(), linewidth=1.6, zorder=3))
            if hit:
                axes.add_patch(Rectangle((x, y), long, bar, facecolor="none", edgecolor=ink(), linewidth=1.6, zorder=7))
            if long > 0.08 * len(word) + 0.06:
                middle = x + long / 2
                if abs(middle - at) < 0.05 * len(word) + 0.07:  # beside the dart's way
                    middle = at - 0.06 * len(word) - 0.08 if middle <= at else at + 0.06 * len(word) + 0.08
                axes.text(middle, y + bar / 2, word, ha="center", va="center", fontsize=9.5, color=ink(),
                          zorder=8)
            x += long
    for x, label in ((left, "0"), (right, "1")):
        axes.text(x, first - 3 * step - 0.05, label, ha="left" if x == left else "right", va="top", fontsize=8.5, color=muted())


NAMES = ("temperature 0", "temperature ½", "temperature 1", "temperature 1.5", "temperature 2", "top-k 5", "top-p 0.9",
         "1.5 and top-p 0.9", "smoothed", "smoothed, top-p 0.8")
ORDER = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
DRAWS = 500


@figure("choices", width=7.6, height=3.5, narrow=(3.7, 6.6))
def choices(data: Data, fig: Figure) -> None:
    """Of 500 lines, how many are right and how many different ones there are among these, for each of five models."""
    data.chapter = CHAPTER
    found = data.values(run="choices")
    possible = found["possible"]
    right, different = panels(fig, 2, sharey=not narrow())
    fig.get_layout_engine().set(wspace=0.08)
    for axes, what, most in ((right, "right", DRAWS), (different, "different", possible)):
        for place, number in enumerate(ORDER):
            counts = sorted(found[f"{number}_seed{seed}_{what}"] for seed in range(1, 6))
            color = "C1" if number >= 8 else "C0"
            axes.plot((counts[0], counts[-1]), (place, place), color=color, linewidth=3, alpha=0.35, solid_capstyle="round")
            axes.plot(counts, [place] * len(counts), "s" if number >= 8 else "o", color=color, markersize=4.5, alpha=0.8)
        axes.set_xlim(-0.02 * most, 1.03 * most)
        axes.set_ylim(len(ORDER) - 0.4, -0.6)
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        if axes is right or narrow():
            axes.set_yticks(range(len(ORDER)), [NAMES[number] for number in ORDER])
    right.set_xlabel(f"sentences of the grammar, of {DRAWS} lines")
    different.set_xlabel(f"different ones, of {possible:.0f} that begin so")


@figure("tail", width=7.6, height=2.9, narrow=(3.7, 5.2))
def tail(data: Data, fig: Figure) -> None:
    """The next word by two models: each word that may come, and all others together."""
    data.chapter = CHAPTER
    found = data.values(run="choices")
    words, line = found["next_words"].split(), found["next_line"].split()
    at = line.index("个")
    counts = data.array("next_counts", run="choices")[at]
    logits = data.array("next_exact", run="choices")[at]
    may = sorted(np.flatnonzero(counts), key=lambda j: -logits[j])
    names = [f"{words[j]} {ALONE.get(words[j], '')}".strip() for j in may] + [f"{len(words) - len(may)} others"]
    for axes, model, title in zip(panels(fig, 2, sharey=not narrow()), ("exact", "smooth"), ("without smoothing", "with smoothing"), strict=True):
        z = data.array(f"next_{model}", run="choices")[at].astype(float)
        p = np.exp(z - z.max())
        p /= p.sum()
        bars = [*p[may], 1 - p[may].sum()]
        axes.barh(range(len(bars)), bars, color=["C0"] * len(may) + ["C1"], hatch=[""] * len(may) + ["////"])
        for y, x in enumerate(bars):
            axes.text(x + 0.01, y, f"{x:.2f}" if x >= 0.005 else "0.00", va="center", fontsize=8, color=ink())
        axes.set_xlim(0, 0.55)
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlabel(f"probability, {title}")
        axes.tick_params(axis="y", length=0)
        if model == "exact" or narrow():
            axes.set_yticks(range(len(names)), names)
