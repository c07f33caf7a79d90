"""Figures of chapter 7."""

import numpy as np
from glosses import glossed
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, paper, say

WORDS = ["好", "朋", "友"]
COLORS = ["C0", "C5", "C2"]  # of the three words


def plus(axes: Axes, x: float, y: float, color: str, radius: float = 0.1) -> None:
    """A sum: a plus sign in a ring."""
    axes.add_patch(Circle((x, y), radius, facecolor=paper(), edgecolor=color, linewidth=1.5, zorder=5))
    arm = 0.6 * radius
    axes.plot((x - arm, x + arm), (y, y), (x, x), (y - arm, y + arm), color=color, linewidth=1.5, zorder=6)


@figure("rounds", width=7.6, height=4.05, narrow=(3.7, 4.2))
def rounds(data: Data, fig: Figure) -> None:
    """What the rows of three words hold after each of two rounds, and how 友 gets to 好."""
    holds = data.array("rounds")  # [round, word, holds]
    small = narrow()
    axes = blackboard(fig)
    size, block = (8, 0.25) if small else (10, 0.3)
    x = [0.79, 1.95, 3.12] if small else [2.35, 4.25, 6.15]
    y = [0.8, 2.25, 3.7] if small else [0.85, 2.2, 3.6]
    under = 0.52  # from a plus sign up to its row

    def line(start: tuple[float, float], end: tuple[float, float], on: bool = False) -> None:
        arrow(axes, start, end, "C2" if on else muted(), 3.2 if on else 1.2, zorder=4 if on else 2)

    for r in range(3):
        for w in range(3):
            cells = [h for h in range(3) for _ in range(int(holds[r, w, h]))]
            left, low = x[w] - len(cells) * block / 2, y[r] - block / 2
            axes.add_patch(Rectangle((left, low), len(cells) * block, block, facecolor=paper(), edgecolor=ink(),
                                     linewidth=2.2, zorder=6))
            for n, h in enumerate(cells):
                axes.add_patch(Rectangle((left + n * block, low), block, block, facecolor=COLORS[h],
                                         edgecolor=COLORS[h], alpha=0.3, zorder=7))
                say(axes, left + (n + 0.5) * block, y[r] - 0.01, WORDS[h], fontsize=size - 1, zorder=8)
            if r == 0:
                continue
            on = (r, w) in ((1, 1), (2, 0))  # on the way of 友 to 好
            at, top = y[r] - under, y[r - 1] + block / 2
            line((x[w], top), (x[w], at - 0.1))
            if w == 2:  # sees itself: a loop beside the line
                aside = x[w] + 0.32
                axes.plot((x[w], aside, aside), (top + 0.08, top + 0.22, at - 0.08), color=muted(), linewidth=1.2)
                line((aside, at - 0.09), (x[w] + 0.1, at))
            else:
                start = x[w + 1] - 0.06
                short = 0.11 / np.hypot(x[w] - start, at - top)
                line((start, top), (x[w] - (x[w] - start) * short, at - (at - top) * short), on)
            plus(axes, x[w], at, "C2" if on else ink())
            line((x[w], at + 0.1), (x[w], low), on)
    for word, gloss, at in zip(WORDS, glossed(WORDS), x, strict=True):
        axes.text(at, y[0] - 0.4, word, ha="center", va="center", fontsize=size + 5)
        say(axes, at, y[0] - 0.68, gloss.partition("\n")[2], fontsize=size - 1, color=muted())
    for at, text in zip(y, ("at the start", "after layer 1", "after layer 2"), strict=True):
        say(axes, 0.1, at, text, ha="center" if small else "left", fontsize=size, rotation=90 if small else 0)
    if small:
        return
    for at, text in ((1, "朋 fetches 友"), (2, "好 finds a row\nthat holds both")):
        axes.text(0.1, y[at] - under - 0.05, text, va="center", fontsize=size - 0.5, color="C2", linespacing=1.25)


CURVES = (("main", "", "post", "C0", "o", "-"), ("pre", "", "pre", "C2", "s", "--"),
          ("main", "alone_", "without plus signs", "C3", "^", ":"))


@figure("gradient", width=5.6, height=2.6, narrow=(3.7, 2.7))
def gradient(data: Data, fig: Figure) -> None:
    """The length of the gradient between all layers, with and without residual connections."""
    axes = fig.subplots()
    for run, alone, curve, color, marker, line in CURVES:
        numbers = data.array(alone + "dx_norms", run=run)
        axes.plot(range(len(numbers)), numbers, color=color, marker=marker, linestyle=line, label=curve)
    axes.set_xlabel("after layer (0: the input, 6: the output)")
    axes.set_ylabel("length of the gradient")
    axes.set_yscale("log")
    axes.grid()
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.1))


def said(number: float) -> str:
    """A number of the layer by hand: 1, −2, 1½."""
    half = abs(round(2 * float(number)))
    text = f"{half // 2 or ''}½" if half % 2 else f"{half // 2}"
    return f"\u2212{text}" if number < -0.1 else text


@figure("turned", width=7.6, height=3.75, narrow=(3.7, 3.7))
def turned(data: Data, fig: Figure) -> None:
    """A layer forward and backward: plus signs and forks change places."""
    small = narrow()
    axes = blackboard(fig)
    wide, tall = fig.get_size_inches()
    size = 6.6 if small else 9.5
    begin, end = (0.22, wide - 0.16) if small else (0.55, wide - 0.4)
    unit = (end - begin) / 15.4
    # in units from the left; then where the numbers stand, forward and backward
    fork, part, total, norm = (0.9, 7.9), (2.9, 9.9), (4.9, 11.9), (6.4, 13.4)
    places = ((0.0, 4.35, 5.45, 7.35, 11.35, 12.45, 15.2), (-0.05, 1.35, 5.35, 7.25, 8.4, 12.45, 15.2))

    def at(place: float) -> float:
        return begin + place * unit

    def box(place: float, y: float, text: str, half: float) -> None:
        axes.add_patch(FancyBboxPatch(
            (at(place) - half * unit, y - 0.15), 2 * half * unit, 0.3, facecolor=paper(), edgecolor=muted(),
            boxstyle="round,pad=0,rounding_size=0.06", linewidth=1.3, zorder=4))
        axes.text(at(place), y - 0.01, text, ha="center", va="center", fontsize=size - 0.5, zorder=5)

    for y, back, color in ((tall - 0.92, False, ink()), (tall / 2 - 0.92, True, "C1")):
        steps = data.array("hand_backward" if back else "hand_forward").reshape(7, 2, 4)[:, 0]
        title = "backward: the same wires, turned around" if back else "forward"
        axes.text(0.05, y + 0.78, title, va="center", fontsize=size + 1, color=color)
        rise = 0.42

        def wire(*points: tuple[float, float], head: bool = True, color: str = color) -> None:
            drawn = [(at(p), q) for p, q in points]
            axes.plot(*zip(*drawn, strict=True), color=color, linewidth=1.3, zorder=2)
            if head:
                arrow(axes, drawn[-2], drawn[-1], color, 1.3, zorder=3)

        turn = -1 if back else 1
        for a, b, c, d in zip(fork, part, total, norm, strict=True):
            (first, second) = (c, a) if back else (a, c)
            wire((first, y), (b - turn * 1.25, y))
            wire((b + turn * 1.25, y), (second - turn * 0.1 / unit, y))
            wire((first, y), (first, y + rise), (second, y + rise), (second, y + 0.1))
            wire((d - 0.75, y), (c, y), head=False)
            if not back:
                wire((c, y), (d - 0.75, y))
            axes.add_patch(Circle((at(first), y), 0.05, color=color, zorder=6))
            plus(axes, at(second), y, color)
            box(d, y, "norm", 0.75)
        for ends in ((0.0, fork[0]), (norm[0] + 0.75, fork[1])):
            wire(*((p, y) for p in ends[::turn]), head=back)
        wire(*((p, y) for p in (norm[1] + 0.75, 15.4)[::turn]))
        box(part[0], y, "attn" if small else "attention", 1.25)
        box(part[1], y, "ff" if small else "feed-forward", 1.25)
        for place, numbers in zip(places[back], steps, strict=True):
            for n, number in enumerate(numbers):
                say(axes, at(place), y - 0.28 - n * (0.15 if small else 0.17), said(number), fontsize=size, color=color)
        for place, text in ((0.0, "$dx$" if back else "$x$"), (15.3, "$dy$" if back else "$y$")):
            axes.text(at(place), y + 0.17, text, ha="center", va="center", fontsize=size + 1, color=color)
