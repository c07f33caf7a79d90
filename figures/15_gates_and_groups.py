"""Figures of chapter 15's pages on gates and on groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray
from style import Axes, Data, Figure, arrow, blackboard, figure, glossed, ink, muted, narrow, panels, paper

Line = NDArray[np.float64]

PHRASES = (("good", 0, 1), ("very good", 1, 1), ("very bad", 1, -1), ("lovely", 0, 3))  # with x = (very, how good)


def signed(number: float) -> str:
    digits = f"{abs(number):.2f}".rstrip("0").rstrip(".")
    return digits if number >= 0 else f"−{digits}"


class Pipe:
    """A pipe from left to right with something in its middle that lets through or not."""

    LONG, HALF, UNIT = 1.66, 0.22, 0.12  # inches: its length, half its height, a stream for each 1 of its number

    def __init__(self, axes: Axes, x: float, y: float) -> None:
        self.axes, self.x, self.y, self.middle = axes, x, y, x + self.LONG / 2
        for side in (-self.HALF, self.HALF):
            axes.plot((x, x + self.LONG), (y + side, y + side), color=muted(), linewidth=1.0, zorder=2)

    def stream(self, comes: float, leaves: float, wanted: float | None = None) -> None:
        for number, begin in ((comes, self.x), (leaves, self.middle)):
            high = self.UNIT * abs(number)
            long = self.LONG if comes == leaves else self.LONG / 2
            color = "C0" if number > 0 else "C1"
            if number and begin + long < self.x + 1.01 * self.LONG:
                self.axes.add_patch(Rectangle((begin, self.y - high / 2), long, high, facecolor=color, alpha=0.55,
                                              edgecolor="none", zorder=1))
        said = signed(leaves) if wanted in (None, leaves) else f"{signed(leaves)}, not {signed(wanted)}"
        for text, x, side in ((signed(comes), self.x - 0.07, "right"), (said, self.x + self.LONG + 0.07, "left")):
            self.axes.text(x, self.y - 0.01, text, ha=side, va="center", fontsize=10, color=ink())

    def flap(self, opened: bool) -> None:
        """Hangs from the pipe's top, and is pushed open from the left."""
        top, long = (self.middle, self.y + self.HALF), 2 * self.HALF
        end = (top[0] + 0.97 * long, top[1] - 0.2 * long) if opened else (top[0], top[1] - long)
        self.axes.plot(*zip(top, end, strict=True), color=ink(), linewidth=2.4, zorder=4, solid_capstyle="round")
        self.axes.add_patch(Circle(top, 0.045, facecolor=ink(), edgecolor="none", zorder=5))

    def valve(self, turned: float) -> None:
        """A slide in the pipe with a handle above it, which another number lifts."""
        top = self.y + self.HALF
        handle = top + (0.2 if turned else 0.12)
        low = top - 0.05 if turned else self.y - self.HALF
        self.axes.add_patch(Rectangle((self.middle - 0.035, low), 0.07, handle - low, facecolor=ink(), edgecolor="none", zorder=4))
        self.axes.plot((self.middle - 0.13, self.middle + 0.13), (handle, handle), color="C2", linewidth=3.2, zorder=5,
                       solid_capstyle="round")
        self.axes.text(self.middle + 0.22, handle - 0.01, f"{turned:.0f}", ha="left", va="center", fontsize=9.5, color="C2")


@figure("valve", width=7.6, height=3.6, narrow=(3.7, 7.25))
def valve(data: Data, fig: Figure) -> None:
    """A unit of one number opens its own flap; a unit of two has a valve that another number turns."""
    axes = blackboard(fig)
    height = fig.get_size_inches()[1]
    panels = ((0.1, height), (0.1, height - 3.65)) if narrow() else ((0.1, height), (4.0, height))
    heads = (("one number: a flap", "$x_1 + x_2 - 1$", "leaves"), ("two numbers: a valve", "$u = x_2$", "$g\\,u$"))
    for which, ((left, top), (title, comes, leaves)) in enumerate(zip(panels, heads, strict=True)):
        x = left + 1.17
        axes.text(x + Pipe.LONG / 2, top - 0.08, title, ha="center", va="top", fontsize=10.5, color=ink())
        axes.text(x - 0.05, top - 0.45, comes, ha="center", va="center", fontsize=9, color=ink())
        axes.text(x + Pipe.LONG + 0.05, top - 0.45, leaves, ha="center", va="center", fontsize=9, color=ink())
        if which:
            axes.text(x + Pipe.LONG / 2, top - 0.45, "$g = x_1$", ha="center", va="center", fontsize=9, color="C2")
        for row, (phrase, very, good) in enumerate(PHRASES):
            y = top - 1.06 - 0.74 * row
            pipe = Pipe(axes, x, y)
            if which:
                pipe.stream(good, very * good)
                pipe.valve(very)
            else:
                a = very + good - 1
                pipe.stream(a, max(a, 0), max(very * good, 0))  # for worse, there is the other unit
                pipe.flap(a > 0)
            axes.text(left, y, phrase, ha="left", va="center", fontsize=9.5, color=ink())


@figure("fan", width=7.6, height=3.1, narrow=(3.7, 6.4))
def fan(data: Data, fig: Figure) -> None:
    """The difference that very makes for each word: units that add shift the line, a product turns it."""
    words = np.linspace(-1.5, 5.6, 143)
    tries: tuple[tuple[str, Callable[[float, Line], Line]], ...] = (
        ("two units: the line shifts", lambda very, word: np.maximum(3 * very + word - 3, 0) - np.maximum(3 * very - word - 3, 0)),
        ("a product: the line turns", lambda very, word: very * word),
    )
    for axes, (title, says) in zip(panels(fig, 2, sharex=True, sharey=True), tries, strict=True):
        axes.set_title(title, fontsize=10.5)
        for name, very, color, dashes in (("very", 1.0, "C2", "-"), ("rather", 0.5, "C5", "--"), ("alone", 0.0, ink(), "-")):
            axes.plot(words, says(very, words), dashes, color=color, linewidth=1.8)
            axes.text(5.75, says(very, words)[-1], name, color=color, va="center", fontsize=9)
        for word, said in ((3, "lovely"), (5, "precious")):
            low, high = (float(says(very, np.array(word))) for very in (0, 1))
            arrow(axes, (word, low), (word, high), ink(), 1.0)
            axes.plot(word, low, "o", color=ink(), markersize=4.5)
            axes.text(word + 0.1, low + 0.8 * (high - low), f"+{high - low:.0f}", va="center", fontsize=9.5, color=ink())
            axes.text(word + 0.1, low - 0.18, said, ha="left" if low else "center", va="top", fontsize=9, color=ink())
        rather = float(says(0.5, np.array(1)))
        axes.plot(1, rather, "s", color="C5", markersize=5, zorder=5)
        axes.text(0.35, -0.18, f"rather good\n{signed(rather)}", va="top", fontsize=9, color="C5")
        axes.set(xlabel="how good the word is, $x_2$", xlim=(-1.7, 6.9), ylim=(-1.7, 5.8))
        axes.set_xticks((-1, 0, 1, 3, 5))
        axes.set_yticks((-1, 0, 1, 3, 5))
    fig.axes[0].set_ylabel("$y$")
    if narrow():
        fig.axes[1].set_ylabel("$y$")


# Groups -------------------------------------------------------------------------------------------

COLORS = tuple(f"C{n}" for n in range(3))
WORDS = glossed(("我", "有", "一", "个"), " ")


def heads(axes: Axes, left: float, top: float, wide: float, kept: int, reads: Callable[[int], int], words: int = 4,
          queries: int = 9) -> None:
    """Query heads above, below them the heads of keys and values that they read, a cell for each word so far."""
    pitch = wide / queries
    spread, radius = wide / kept, min(0.15, 0.44 * pitch)
    half = min(0.135, 0.36 * spread)  # of a column's width
    for h in range(queries):
        x, g = left + pitch * (h + 0.5), reads(h)
        color = muted() if kept == queries else COLORS[g]
        to = left + spread * (g + 0.5)
        axes.plot((x, to), (top - radius, top - 0.86), color=color, linewidth=1.3, zorder=1)
        axes.add_patch(Circle((x, top), radius, facecolor=paper(), edgecolor=color, linewidth=1.6, zorder=3))
        axes.text(x, top - 0.012, str(h), ha="center", va="center", fontsize=60 * radius, color=ink(), zorder=4)
    for g in range(kept):
        color = muted() if kept == queries else COLORS[g]
        x = left + spread * (g + 0.5)
        for word in range(words):
            at = (x - half, top - 0.86 - 0.2 * (word + 1))
            axes.add_patch(Rectangle(at, 2 * half, 0.2, facecolor=color, alpha=0.45, edgecolor="none", zorder=2))
            axes.add_patch(Rectangle(at, 2 * half, 0.2, facecolor="none", edgecolor=paper(), linewidth=1.0, zorder=3))
        axes.add_patch(Rectangle((x - half, top - 0.86 - 0.2 * words), 2 * half, 0.2 * words, facecolor="none", edgecolor=color,
                                 linewidth=1.3, zorder=4))


def sharing(axes: Axes, left: float, top: float, wide: float, kept: int, title: str) -> None:
    """Nine query heads with some heads of keys and values, and what 2,048 words then take in SmolLM2-135M."""
    axes.text(left + wide / 2, top - 0.06, title, ha="center", va="top", fontsize=10.5, color=ink())
    heads(axes, left, top - 0.5, wide, kept, lambda h: h * kept // 9)
    said = f"{kept} {'heads' if kept > 1 else 'head'} kept: {1000 * cache(kept):.1f} MB"
    axes.text(left + wide / 2, top - 2.24, said, ha="center", va="top", fontsize=9, color=muted())
    axes.text(left - 0.1, top - 0.51, "asks", ha="right", va="center", fontsize=8.5, color=muted())
    for word, said in enumerate(WORDS):
        axes.text(left - 0.14, top - 1.465 - 0.2 * word, said, ha="right", va="center", fontsize=8.5, color=muted())


def cache(kept: int) -> float:
    """Gigabytes of keys and values, 64 wide, in 30 layers, at two bytes, after 2,048 words."""
    return 2 * kept * 64 * 30 * 2 * 2048 / 1e9


def weights(kept: int) -> float:
    """Gigabytes of the weights; each head of keys and values more or less than the model's three has 576 columns."""
    return 2 * (134_515_008 + 30 * (kept - 3) * 2 * 64 * 576) / 1e9


def one_step(axes: Axes, left: float, top: float, kept: int, inch: float, high: float) -> float:
    """What one step reads for ten texts: the weights once, and ten caches, `inch` long for each gigabyte. Returns where it ends."""
    begin, long = left + inch * weights(kept), inch * cache(kept)
    axes.add_patch(Rectangle((left, top - high), begin - left, high, facecolor="C6", alpha=0.7, edgecolor=paper()))
    for text in range(10):
        axes.add_patch(Rectangle((begin + text * long, top - high), long, high, facecolor="C0", alpha=0.55, edgecolor=paper(),
                                  linewidth=min(1.0, 12 * long)))
    return begin + 10 * long


@figure("own", width=7.6, height=2.5, narrow=(3.7, 4.2))
def own(data: Data, fig: Figure) -> None:
    """Each query head with keys and values of its own, and what that makes a step for ten texts read."""
    axes = blackboard(fig)
    height = fig.get_size_inches()[1]
    sharing(axes, 0.85, height, 2.5, 9, "each its own")
    left, top = (0.35, 1.1) if narrow() else (4.2, height - 0.95)
    axes.text(left, top + 0.14, "one step for ten texts reads", ha="left", va="bottom", fontsize=10.5, color=ink())
    end = one_step(axes, left, top, 9, 1.75, 0.42)
    for x, side, said in ((left, "left", f"weights\n{weights(9):.3f} GB"), (end, "right", f"ten caches\n{10 * cache(9):.3f} GB")):
        axes.text(x, top - 0.5, said, ha=side, va="top", fontsize=9, color=ink())


@figure("groups", width=7.6, height=3.9, narrow=(3.7, 6.4))
def groups(data: Data, fig: Figure) -> None:
    """One head of keys and values for all query heads, one for each three, and what a step reads with nine, three and one."""
    axes = blackboard(fig)
    height = fig.get_size_inches()[1]
    for n, (kept, title) in enumerate(((1, "one for all"), (3, "three groups"))):
        left, top = (0.85, height - 2.5 * n) if narrow() else (0.95 + 3.7 * n, height)
        sharing(axes, left, top, 2.5, kept, title)
    left, top, inch = (0.85, 0.95, 1.25) if narrow() else (0.95, 0.95, 2.9)
    axes.text(left, top + 0.1, "one step reads: weights, ten caches" if narrow() else "one step for ten texts reads: the weights and ten caches",
              ha="left", va="bottom", fontsize=9.5, color=ink())
    for row, kept in enumerate((9, 3, 1)):
        y = top - 0.32 * row
        end = one_step(axes, left, y, kept, inch, 0.24)
        axes.text(left - 0.1, y - 0.125, f"{kept} heads" if kept > 1 else "1 head", ha="right", va="center", fontsize=9, color=ink())
        axes.text(end + 0.07, y - 0.125, f"{weights(kept) + 10 * cache(kept):.2f} GB", ha="left", va="center", fontsize=9, color=ink())


@figure("dealt", width=5.6, height=2.1, narrow=(3.7, 4.2))
def dealt(data: Data, fig: Figure) -> None:
    """Nine heads cut into three groups, and dealt in turn."""
    axes = blackboard(fig)
    height = fig.get_size_inches()[1]
    ways = (("cut like a deck: ⌊h G / H⌋", lambda h: h * 3 // 9), ("dealt like cards: h mod G", lambda h: h % 3))
    for n, (title, reads) in enumerate(ways):
        left, top = (0.65, height - 2.1 * n) if narrow() else (0.3 + 2.8 * n, height)
        axes.text(left + 1.2, top - 0.06, title, ha="center", va="top", fontsize=10, color=ink())
        heads(axes, left, top - 0.5, 2.4, 3, reads, words=3)
