"""Figures of chapter 15's first page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle
from style import Axes, Data, Figure, FigureError, arrow, blackboard, figure, glossed, heat, ink, muted, narrow

SOURCE, TARGET = "我 有 一 个 好 朋 友".split(), "I have a good friend .".split()
READ, SAID = [*SOURCE, "→", *TARGET], [*TARGET, "E"]
ARROW = len(SOURCE)  # place of the arrow, and of S in the decoder
ASKS = READ.index("a")  # the word whose row is drawn
SELF, CROSS, ALL = "C0", "C2", "C1"  # colors of self-attention, of cross-attention, and of both in one


def write(axes: Axes, x: float, y: float, text: str, size: float, ha: str = "center", color: str | None = None, va: str = "center",
          **more: object) -> None:
    axes.text(x, y, text, ha=ha, va=va, fontsize=size, color=color or ink(), linespacing=1.1, zorder=4, **more)


class Text:
    """Words in a row, or one below the other on a phone: `along` goes with the text, `across` to the side of what is said."""

    def __init__(self, axes: Axes, origin: tuple[float, float], pitch: float, size: float) -> None:
        self.axes, self.origin, self.pitch, self.size, self.down = axes, origin, pitch, size, narrow()

    def at(self, along: float, across: float = 0.0) -> tuple[float, float]:
        x, y = self.origin
        return (x + across, y - along * self.pitch) if self.down else (x + along * self.pitch, y + across)

    def words(self, labels: Sequence[str], first: int = 0) -> None:
        for place, label in enumerate(labels, first):
            write(self.axes, *self.at(place), label, self.size)

    def frame(self, begin: float, end: float, half: float, color: str) -> None:
        (x0, y0), (x1, y1) = self.at(begin - 0.47, -half), self.at(end + 0.47, half)
        corner, wide, high = (min(x0, x1), min(y0, y1)), abs(x1 - x0), abs(y1 - y0)
        self.axes.add_patch(Rectangle(corner, wide, high, facecolor=color, alpha=0.13, edgecolor="none", zorder=1))
        self.axes.add_patch(Rectangle(corner, wide, high, facecolor="none", edgecolor=color, linewidth=1, zorder=2))

    def look(self, asks: int, at: int, edge: float, depth: float, color: str, width: float = 1.1, **line: object) -> None:
        """A curve from the row that asks to a row that it looks at; it ends in a small dot."""
        turn = np.linspace(0, np.pi, 40)
        middle, reach = (asks + at) / 2, (asks - at) / 2
        points = [self.at(middle + reach * np.cos(t), edge + depth * np.sin(t)) for t in turn]
        self.axes.plot(*zip(*points, strict=True), color=color, linewidth=width, zorder=3, **line)
        self.axes.plot(*points[-1], "o", color=color, markersize=2.6, zorder=3)

    def loop(self, at: int, edge: float, color: str) -> None:
        """A small loop: the row that asks looks at itself, too."""
        turn = np.linspace(0, np.pi / 2, 40)
        points = [self.at(at + size * np.cos(t) / self.pitch, edge - size * np.sin(t)) for t in turn for size in (0.2 * np.sin(2 * t),)]
        self.axes.plot(*zip(*points, strict=True), color=color, linewidth=1.1, zorder=3)
        self.axes.plot(*points[-1], "o", color=color, markersize=2.6, zorder=3)


# The idea ---------------------------------------------------------------------------------------------


@figure("idea", width=7.6, height=4.3, narrow=(3.7, 5.72))
def idea(data: Data, fig: Figure) -> None:
    """The row that must say *good*: in a decoder beside an encoder, and in one stack."""
    small = narrow()
    axes = blackboard(fig)
    top = axes.get_ylim()[1]
    pitch, size = (0.325, 7.6) if small else (0.515, 9.3)
    half, said = (0.33, 0.6) if small else (0.24, 0.46)
    deep = -0.046 if small else -0.088  # of a curve, for each place that it goes
    origins = [(0.85, top - 0.72), (2.72, top - 0.72)] if small else [(0.42, top - 0.86), (0.42, top - 3.02)]
    source, good = glossed(SOURCE, " " if small else "\n"), SOURCE.index("好")
    for one, origin in enumerate(origins):
        text = Text(axes, origin, pitch, size)
        text.words(source)
        text.words(["→" if one else "S", *TARGET], ARROW)
        if one:
            text.frame(0, len(READ) - 1, half, ALL)
        else:
            text.frame(0, ARROW - 1, half, CROSS)
            text.frame(ARROW, len(READ) - 1, half, SELF)
        for place, word in enumerate(SAID, ARROW):
            here = place == ASKS
            color = ink() if here else muted()
            write(axes, *text.at(place, said), word, size + (0.8 if here else 0), color=color, fontweight="bold" if here else "normal",
                  fontfamily="DejaVu Sans", ha="left" if small else "center")
            near, far = (half + 0.03, said - 0.03) if small else (half + 0.01, said - 0.09)
            arrow(axes, text.at(place, near), text.at(place, far), color, 1.4 if here else 0.8, head="-|>,head_length=0.25,head_width=0.12")
        for place in range(ASKS):
            color = ALL if one else CROSS if place < ARROW else SELF
            text.look(ASKS, place, -half, deep * (ASKS - place), color, 2.8 if place == good else 1.1)
        text.loop(ASKS, -half, ALL if one else SELF)
        if small:
            write(axes, origin[0], top - 0.13, ("two stacks", "one stack")[one], 9.5)
            write(axes, origin[0], top - 0.34, ("one reads, one writes", "that continues a text")[one], 7.6, color=muted())
            continue
        x, y = text.at(ARROW - 0.7, half + 0.2)
        write(axes, x, y, "one stack: what comes next?" if one else "an encoder, which reads", 9.5, "right", ALL if one else CROSS)
        x, y = text.at(len(READ) - 0.54, said + 0.27)
        if not one:
            write(axes, x, y, "a decoder, which says the next word", 9.5, "right", SELF)
        x, y = text.at(ASKS + 0.42, -half - 0.28)
        for line, (label, color) in enumerate([("self-attention,", ALL), ("over the whole text", ALL)] if one else
                                              [("self-attention", SELF), ("cross-attention", CROSS)]):
            write(axes, x, y - 0.2 * line, label, 9.5, "left", color)
    if small:
        for x, y, label, color in ((0.1, 0.26, "cross-attention", CROSS), (0.1, 0.09, "self-attention", SELF),
                                   (1.98, 0.26, "self-attention over all", ALL)):
            write(axes, x, y, label, 8, "left", color)


# The mask ---------------------------------------------------------------------------------------------


@figure("triangle", width=7.6, height=4.5, narrow=(3.7, 4.15))
def triangle(data: Data, fig: Figure) -> None:
    """The triangle over the whole line, in three parts that the encoder-decoder computes apart."""
    small = narrow()
    axes = blackboard(fig)
    top, count = axes.get_ylim()[1], len(READ)
    wide, high, size = (0.172, 0.222, 6.6) if small else (0.29, 0.25, 9)
    left, head = (0.62, top - 0.62) if small else (1.0, top - 0.72)
    rows = [*glossed(SOURCE, " "), *READ[ARROW:]]
    columns = glossed(SOURCE, "\n")
    for place in range(count):
        x, y = left + wide * (place + 0.5), head - high * (place + 0.5)
        write(axes, left - 0.07, y, rows[place], size, "right")
        if small:
            write(axes, x, head + 0.05, rows[place], size, rotation=90 if len(rows[place]) > 1 else 0, va="bottom")
        else:
            write(axes, x, head + 0.05, columns[place] if place < ARROW else READ[place], 7.6 if place < ARROW else 9,
                  va="bottom", rotation=90 if place > ARROW and len(READ[place]) > 1 else 0)
        for seen in range(count):
            where = (left + wide * (seen + 0.5), y)
            if seen > place:
                axes.plot(*where, "x", color=muted(), markersize=2.2 if small else 3, markeredgewidth=0.6, alpha=0.7)
            else:
                color = ALL if place < ARROW else CROSS if seen < ARROW else SELF
                axes.plot(*where, "o", color=color, markersize=3.4 if small else 5.2, zorder=3)
        after = left + wide * count
        if place < ARROW - 1:
            write(axes, after + 0.1, y, rows[place + 1], size, "left", muted())
        elif place == ARROW - 1:
            write(axes, after + 0.1, y, "→", size, "left", muted())
        else:
            write(axes, after + 0.1, y, SAID[place - ARROW], size, "left", fontweight="bold", fontfamily="DejaVu Sans")
    last = head - high * count
    for color, x0, x1, y0, y1 in ((ALL, 0, ARROW, 0, ARROW), (CROSS, 0, ARROW, ARROW, count), (SELF, ARROW, count, ARROW, count)):
        corner = (left + wide * x0, head - high * y1)
        axes.add_patch(Rectangle(corner, wide * (x1 - x0), high * (y1 - y0), facecolor=color, alpha=0.1, edgecolor="none", zorder=1))
        axes.add_patch(Rectangle(corner, wide * (x1 - x0), high * (y1 - y0), facecolor="none", edgecolor=color, linewidth=1, zorder=2))
    write(axes, after + 0.1, head + 0.07, "what\nit says", size, "left", muted(), va="bottom")
    notes = ((ALL, "the encoder's self-attention,\nbut only to the left"), (CROSS, "cross-attention"), (SELF, "masked self-attention"))
    if small:
        for line, (color, label) in enumerate(notes):
            x, y = ((0.1, 0.27), (0.1, 0.09), (1.75, 0.09))[line]
            write(axes, x, y, label.replace("\n", " "), 7.4, "left", color)
    else:
        x = after + 0.72
        write(axes, x, head - high * 2.9, notes[0][1], 9, "left", ALL)
        write(axes, x, head - high * 3.9 - 0.2, "not asked if only the\ntranslation counts", 9, "left", muted(), va="top")
        write(axes, left + wide * 3.5, last - 0.05, notes[1][1], 9, color=CROSS, va="top")
        write(axes, left + wide * (ARROW + 3.5), last - 0.05, notes[2][1], 9, color=SELF, va="top")
        write(axes, x, head - high * 10.5, "seven questions,\nas in chapter 8", 9, "left")


# What came out ----------------------------------------------------------------------------------------

KINDS = (("two", "encoder and decoder", SELF, "o"), ("one", "one stack, the translation counts", ALL, "s"),
         ("all", "one stack, all words count", CROSS, "^"))
SEEDS, EPOCHS = range(1, 6), 5


@figure("curves", width=7.2, height=2.9, narrow=(3.7, 3.1))
def curves(data: Data, fig: Figure) -> None:
    """How many held-out pairs are exact after the first epochs, five trainings of each kind."""
    axes, second, pairs = fig.subplots(), {}, 273
    for name, label, color, marker in KINDS:
        found = np.array([data.array(f"{name}_seed{seed}_curve", run="seeds") for seed in SEEDS])
        second[name] = found[:, 1]
        if (found[:, -1] < pairs).any():
            raise FigureError("not all trainings end with all pairs right, as the page says")
        low, high = found[:, 1].min(), found[:, 1].max()
        epochs = np.arange(1, EPOCHS + 1)
        label += ("\n" if narrow() else ": ") + f"{low:.0f} to {high:.0f} after the second"
        for row in found:
            axes.plot(epochs, row[:EPOCHS], color=color, linewidth=0.9, marker=marker, markersize=3.6, label=label)
            label = "_"  # in the legend once
    if not second["two"].min() > second["one"].max() >= second["one"].min() > second["all"].max():
        raise FigureError("after the second epoch the kinds are not in the order that the page says")
    axes.set(xlabel="epoch", ylabel=f"held-out pairs exact, of {pairs}", xlim=(0.9, EPOCHS + 0.1), ylim=(0, 284), xticks=range(1, EPOCHS + 1))
    axes.legend(loc="lower right", handlelength=1.4)
    axes.grid(axis="y")


# Where it looks ---------------------------------------------------------------------------------------

OWN = {"I": "我", "have": "有", "a": "一", "good": "好", "friend": "朋友"}  # which characters say a word


def own_share(weights: np.ndarray) -> float:
    """The mean weight that the words said give to characters of their own; `weights` is one head's `[L, L]`."""
    rows = [(ARROW + i, OWN[word]) for i, word in enumerate(SAID) if word in OWN]
    return float(np.mean([sum(weights[row, SOURCE.index(c)] for c in own) for row, own in rows]))


@figure("looks", width=6.2, height=3.65, narrow=(3.7, 2.65))
def looks(data: Data, fig: Figure) -> None:
    """The head of the stack that gives a word's own characters most."""
    heads = [(layer, h) for layer in range(1, 6) for h in range(4)]
    maps = {(layer, h): data.array(f"map{layer}", run="seeds")[0, h] for layer, h in heads}
    layer, head = max(heads, key=lambda at: own_share(maps[at]))
    most, mean = own_share(maps[layer, head]), np.mean([own_share(maps[at]) for at in heads])
    weights = maps[layer, head][ARROW:]
    if weights[-2:, ARROW:].sum(axis=1).min() < 0.5 or weights[-2, [ARROW + 1, ARROW + 2]].min() < 0.3:
        raise FigureError("the period or E looks elsewhere, and the page says where")
    if [ARROW + i - int(weights[i, :ARROW].argmax()) for i in range(5)] != [7, 7, 7, 6, 5]:
        raise FigureError("the head looks at other places, and the page counts how far back they are")
    if mean < 3 * 0.12:
        raise FigureError("all heads look at a word's characters little more than by chance, and the page says several times")
    own, back = (np.mean([maps[at][ASKS, place] for at in heads]) for place in (SOURCE.index("好"), ASKS - 7))
    if not (0.4 < own < 0.6 and back < 0.1):
        raise FigureError("where good is said, the heads look seven places back, or less at its character than the page says")
    columns = [*glossed(SOURCE, staggered=True), *(word + "\n" * (i % 2) for i, word in enumerate(READ[ARROW:]))]
    axes = fig.subplots()
    heat(axes, weights, rows=SAID, columns=columns, low=0, high=1, top=True)
    axes.tick_params(labelsize=7 if narrow() else 8.5)
    axes.xaxis.set_label_position("bottom")
    axes.set_ylabel("must say")
    axes.set_xlabel(f"layer {layer}, head {head + 1}: {most:.2f}; all {len(heads)} heads: {mean:.2f}\nsaying good, all {len(heads)}: 好 {own:.2f}, {READ[ASKS - 7]} {back:.2f}")
