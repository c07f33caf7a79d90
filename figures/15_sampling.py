"""Figures of chapter 15: words that are drawn."""

from __future__ import annotations

import numpy as np
from glosses import ALONE
from matplotlib.patches import Polygon, Rectangle
from style import Data, Figure, blackboard, figure, ink, muted, narrow, panels, paper, say

WORDS = ("good", "old", "girl", "has")
PIECES = np.array([0.5, 0.25, 0.15, 0.1])  # the example's probabilities; the last word would be a mistake
COLORS = ("C0", "C4", "C2", "C1")
DART = 0.7
CHAPTER = "15_language_model"


def tempered(t: float) -> np.ndarray:
    return PIECES ** (1 / t) / np.sum(PIECES ** (1 / t))


@figure("dart", width=7.6, height=1.3, narrow=(3.7, 1.3))
def dart(data: Data, fig: Figure) -> None:
    """A bar cut into pieces as long as the words' probabilities, and where a dart hits it."""
    bars(fig, (("", PIECES),))


@figure("darts", width=7.6, height=2.95, narrow=(3.7, 3.85))
def darts(data: Data, fig: Figure) -> None:
    """The bar, what two temperatures and top-p make of it, and where the same dart hits each of them."""
    kept = np.where(np.cumsum(PIECES) - PIECES < 0.8, PIECES, 0)
    bars(fig, (("as it is", PIECES), ("temperature ½", tempered(0.5)), ("temperature 2", tempered(2)), ("top-p 0.8", kept / kept.sum())))


def bars(fig: Figure, rows: tuple[tuple[str, np.ndarray], ...]) -> None:
    """Bars with their names, and the dart through all of them."""
    axes = blackboard(fig)
    small = narrow()
    width, top = fig.get_size_inches()
    left, right = (0.14, width - 0.14) if small or len(rows) == 1 else (1.75, width - 0.14)
    bar, step, first = (0.36, 0.86, top - 1.0) if small else (0.42, 0.56, top - 1.02)
    at = left + DART * (right - left)
    last = first - (len(rows) - 1) * step
    axes.plot((at, at), (last - 0.16, top - 0.34), color=ink(), linewidth=1.1, linestyle=(0, (4, 3)), zorder=5)
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
                say(axes, middle, y + bar / 2, word, fontsize=9.5, zorder=8)
            x += long
    for x, label in ((left, "0"), (right, "1")):
        axes.text(x, last - 0.05, label, ha="left" if x == left else "right", va="top", fontsize=8.5, color=muted())


DRAWS = 500
HEATS, HOT, CUT = (0, 1, 2, 3, 4), 3, 7  # settings of the run, by number: temperatures; 1.5, and 1.5 with top-p
EVEN = 260  # different lines of 500, if all that begin so were equally likely


@figure("choices", width=7.6, height=3.9, narrow=(3.7, 4.1))
def choices(data: Data, fig: Figure) -> None:
    """Right lines against different ones, for five models: a curve of temperatures, and a cut that leads off it."""
    data.chapter = CHAPTER
    found = data.values(run="choices")
    small = narrow()
    possible = found["possible"]
    assert round(possible * (1 - (1 - 1 / possible) ** DRAWS)) == EVEN
    axes = fig.add_subplot()

    def points(number: int) -> np.ndarray:
        return np.array([[found[f"{number}_seed{seed}_{what}"] for what in ("different", "right")] for seed in range(1, 6)])

    middle = {number: points(number).mean(axis=0) for number in (*HEATS, CUT)}
    axes.plot(*np.array([middle[number] for number in HEATS]).T, color="C0", linewidth=1.2, alpha=0.5)
    axes.annotate("", middle[CUT], middle[HOT], arrowprops={"arrowstyle": "-|>", "color": "C2", "alpha": 0.7, "connectionstyle": "arc3,rad=-0.3",
                                                            "shrinkA": 7, "shrinkB": 7})
    for number in HEATS:
        axes.plot(*points(number).T, "o", color="C0", markersize=4.5, alpha=0.75, linestyle="")
    axes.plot(*points(CUT).T, "^", color="C2", markersize=4.5, alpha=0.75, linestyle="")
    axes.plot((EVEN, EVEN), (-12, 370), color=muted(), linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
    axes.text(EVEN + 4, 20, f"{EVEN}: if all {possible:.0f}\nwere equally\nlikely" if small else f"{EVEN} different ones: if all\n{possible:.0f} were equally likely",
              fontsize=8, color=muted(), va="bottom")
    temperature = "" if small else "temperature "
    for x, y, label, color, side in (
        (2, 474, "temperature 0", "C0", "left"), (186, 474, f"{temperature}½", "C0", "right"), (256, 456, f"{temperature}1", "C0", "left"),
        (170, 226, f"{temperature}1.5", "C0", "left"), (29, 14, "temperature 2", "C0", "left"),
        (256, 486, "1.5, top-p 0.9" if small else "temperature 1.5, top-p 0.9", "C2", "left")):
        axes.text(x, y, label, fontsize=8.5 if not small else 8, color=color, ha=side, va="center")
    for x, y, label, side in ((2, 420, "dull", "left"), (2, 110 if small else 66, "wrong", "left"), (350, 420, "right\nand varied", "right")):
        axes.text(x, y, label, fontsize=12 if not small else 11, style="italic", color=muted(), ha=side, va="center")
    axes.set_xlim(-8, 352)
    axes.set_ylim(-12, 528)
    axes.set_yticks(range(0, DRAWS + 1, 100))
    axes.set_xlabel("different lines among the right ones")
    axes.set_ylabel(f"right lines, of {DRAWS}")


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
        assert f"{bars[-1]:.3f}" == {"exact": "0.004", "smooth": "0.084"}[model], "the page's task says it"
        axes.barh(range(len(bars)), bars, color=["C0"] * len(may) + ["C1"], hatch=[""] * len(may) + ["////"])
        for y, x in enumerate(bars):
            axes.text(x + 0.01, y, f"{x:.3f}", va="center", fontsize=8, color=ink())
        axes.set_xlim(0, 0.55)
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlabel(f"probability, {title}")
        axes.tick_params(axis="y", length=0)
        if model == "exact" or narrow():
            axes.set_yticks(range(len(names)), names)
