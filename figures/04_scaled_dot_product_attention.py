"""Figures of chapter 4."""

from typing import Any

import numpy as np
from style import (
    Axes, Data, Figure, arrow, figure, glossed, heat, ink, muted, narrow, panels, paper, sequential,
)


class Sheets:
    """Matrices on one pair of axes, with cells one unit wide and y pointing down."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.size = 8.0 if narrow() else 8.5
        axes.set_axis_off()
        axes.set_aspect("equal")

    def matrix(
        self, left: float, top: float, numbers: np.ndarray, hidden: np.ndarray | None = None
    ) -> None:
        height, width = numbers.shape
        self.axes.pcolormesh(
            np.arange(width + 1) + left, np.arange(height + 1) + top, numbers, cmap=sequential(),
            vmin=min(0.0, float(numbers.min())), vmax=float(numbers.max()) or 1.0,
            edgecolors=paper(), linewidth=0.5,
        )
        for i, j in np.argwhere(hidden) if hidden is not None else ():
            x, y = left + float(j), top + float(i)
            for rise in (0.2, 0.8):
                ends = (y + rise, y + 1 - rise)
                self.axes.plot((x + 0.2, x + 0.8), ends, color=ink(), linewidth=0.7)
        self.axes.plot(
            np.array([0, width, width, 0, 0]) + left, np.array([0, 0, height, height, 0]) + top,
            color=muted(), linewidth=0.8,
        )

    def words(self, words: list[str], x: float, top: float) -> None:
        for i, word in enumerate(words):
            said = word.split("\n")[0] if narrow() else word.replace("\n", " ")
            self.text(x, top + i + 0.5, said, ha="right", smaller=1.5)

    def text(
        self, x: float, y: float, text: str, *, ha: str = "center", smaller: float = 0
    ) -> None:
        self.axes.text(
            x, y, text, ha=ha, va="center", fontsize=self.size - smaller, linespacing=1.3,
            color=ink(),
        )

    def name(self, x: float, y: float, name: str, shape: str) -> None:
        """A matrix's name, with its shape below."""
        self.text(x, y, name)
        self.text(x, y + 1.5, shape)

    def arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        arrow(self.axes, start, end)


@figure("matrices", width=7.6, height=3.4, narrow=(3.7, 5.4))
def matrices(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    q, k, v, s, w, y = (
        data.array(name)[0, 0]
        for name in ("queries", "keys", "values", "scores", "weights", "result")
    )
    hidden = w == 0
    sheets = Sheets(fig.subplots())
    words = glossed(words)
    (n_q, d_k), (n_k, d_v) = q.shape, v.shape
    gap = 3.4
    at_s = d_k + 1.0
    at_masked = at_s + n_k + gap
    middle, below = n_q / 2, n_q + 1.2
    sheets.words(words, -0.3, 0)
    sheets.matrix(0, 0, q)
    sheets.name(d_k / 2, below, "$Q$", "$[L_q, d_k]$")
    sheets.matrix(at_s, -1 - d_k, k.T)
    sheets.text(at_s + n_k / 2, -2 - d_k, "$K^\\top$  $[d_k, L_k]$")
    sheets.matrix(at_s, 0, s)
    sheets.name(at_s + n_k / 2, below, "$S = c\\,QK^\\top$", "$[L_q, L_k]$")
    sheets.arrow((at_s + n_k + 0.3, middle), (at_masked - 0.3, middle))
    sheets.text(at_s + n_k + gap / 2, middle - 0.9, "hide")
    sheets.matrix(at_masked, 0, np.where(hidden, 0.0, s), hidden)
    sheets.name(at_masked + n_k / 2, below, "$S'$", "$[L_q, L_k]$")
    if narrow():
        at_a, top = at_masked - 6.0, below + n_k + 4.4
        x = at_a + n_k - 1.2
        sheets.arrow((x, n_q + 0.3), (x, top - 0.3))
        sheets.text(x - 0.5, (n_q + top) / 2 + 0.5, "softmax,\nrow by row", ha="right")
        sheets.words(words, at_a - 0.3, top)
    else:
        at_a, top = at_masked + n_k + gap + 0.9, 0.0
        sheets.arrow((at_masked + n_k + 0.3, middle), (at_a - 0.3, middle))
        sheets.text((at_masked + n_k + at_a) / 2, middle - 0.9, "softmax")
        sheets.text((at_masked + n_k + at_a) / 2, middle + 0.9, "row by row", smaller=1)
    at_y = at_a + n_k + 1
    sheets.matrix(at_a, top, w)
    sheets.name(at_a + n_k / 2, top + below, "$A$", "$[L_q, L_k]$")
    sheets.matrix(at_y, top - 1 - n_k, v)
    if narrow():  # beside V, as S' stands above it
        sheets.name(at_y + d_v + 2.0, top - 1 - n_k / 2, "$V$", "$[L_k, d_v]$")
    else:
        sheets.text(at_y + d_v / 2, top - 2 - n_k, "$V$  $[L_k, d_v]$")
    sheets.matrix(at_y, top, y)
    sheets.name(at_y + d_v / 2 + 0.9, top + below, "$Y = AV$", "$[L_q, d_v]$")
    right = at_masked + n_k + 0.4 if narrow() else at_y + d_v + 2.6
    highest = -2.8 - (d_k if narrow() else n_k)
    sheets.axes.set(xlim=(-1.6 if narrow() else -3.2, right), ylim=(top + below + 2.4, highest))


@figure("weights", width=7.6, height=3.9, narrow=(3.7, 7.0))
def weights(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    axes = panels(fig, 2)
    for ax, name in zip(axes, ("weights", "causal_weights"), strict=True):
        heat(
            ax, data.array(name)[0, 0], rows=words, columns=glossed(words), numbers="{:.2f}", low=0,
            high=1, top=True,
        )
        ax.set_xlabel("key")
        if ax is axes[0] or narrow():
            ax.set_ylabel("query")


@figure("spread", width=7.6, height=3.2, narrow=(3.7, 5.6))
def spread(data: Data, fig: Figure) -> None:
    d_k, axes = data.array("d_k"), panels(fig, 2)
    for ax, name in zip(axes, ("spread", "largest"), strict=True):
        plain, scaled = data.array(name)
        line = "none" if name == "spread" else "solid"
        ax.plot(d_k, plain, marker="o", linestyle=line, label="$\\langle q, k \\rangle$")
        ax.plot(
            d_k, scaled, marker="s", linestyle="--",
            label="$\\langle q, k \\rangle\\, /\\, \\sqrt{d_k}$",
        )
        ax.set_xscale("log", base=2)
        ax.set_xlabel("$d_k$")
        ax.grid()
    axes[0].plot(d_k, d_k**0.5, color=muted(), linestyle=":", label="$\\sqrt{d_k}$")
    axes[0].set_yscale("log", base=2)
    axes[0].set_ylabel("standard deviation of a score")
    axes[1].set_ylabel("mean largest weight of 256")
    axes[1].set_ylim(0, 1)
    axes[0].legend()


@figure("jacobian", width=5.0, height=4.0, narrow=(3.7, 3.4))
def jacobian(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    axes = fig.subplots()
    heat(
        axes, data.array("jacobian").round(2) + 0.0, rows=words, columns=words,
        numbers=None if narrow() else "{:.2f}", signed=True,
        bar="$\\partial w_j / \\partial s'_n$",
    )
    axes.set_xlabel("score $n$")
    axes.set_ylabel("weight $j$")


COLUMNS = ("who", "does", "how many", "what")


@figure("idea", width=7.6, height=4.6, narrow=(3.7, 4.8))
def idea(data: Data, fig: Figure) -> None:
    """好 asks, all words answer, and their values come back in bands as wide as the weights."""
    words = data.value("words").split()[:7]
    keys, values, w, y = (
        data.array(name)[0, 0] for name in ("keys", "values", "weights", "result")
    )
    asks = words.index("好")
    meanings = [label.partition("\n")[2] for label in glossed(words)]
    axes = fig.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.62, 6.62), ylim=(-4.1, 5.75))
    size, box = (6.5, 1.5) if narrow() else (9.0, 1.1)  # of text; width of the box, all weights

    def text(x: float, y: float, text: str, larger: float = 0, **more: Any) -> None:
        axes.text(
            x, y, text, va="center", fontsize=size + larger,
            **{"ha": "center", "color": ink(), "linespacing": 1.0, "zorder": 4, **more},
        )

    def tag(x: float, y: float, said: str, color: str, larger: float = 0, pad: float = 0.3) -> None:
        look = {"boxstyle": f"round,pad={pad}", "facecolor": paper(), "edgecolor": color}
        text(x, y, said, larger, bbox={**look, "linewidth": 1.2 + larger / 3})

    def note(x: float, y: float, said: str, ha: str = "left") -> None:
        text(x, y, said, ha=ha, color=muted(), linespacing=1.25)

    begin = asks - box / 2
    for j, word in enumerate(words):
        arrow(axes, (asks + (j - asks) * 0.11, -3.1), (j, -1.95), "C0", 0.9)
        told = [name for name, number in zip(COLUMNS, keys[j], strict=True) if number > 0]
        loud = "!" * int(keys[j, 3] > 1)
        said = ",\n".join(told) + loud
        tag(j, -1.4, said.replace(" ", "\n") if narrow() else said, "C0")
        text(j, 0.4, word, larger=size * 1.3, color="C0" if j == asks else ink())
        note(j, -0.45, meanings[j], "center")
        tag(j, 1.45, f"{values[j, 0]:.0f} | {values[j, 1]:.0f}", "C1")
        wide = box * float(w[asks, j])
        axes.fill(
            (j - wide / 2, j + wide / 2, begin + wide, begin), (1.6, 1.6, 4.7, 4.7), color="C1",
            alpha=0.75, linewidth=0.3,
        )
        text(
            j + 0.3 * (begin + wide / 2 - j), 2.53, f"{w[asks, j]:.3f}",
            bbox={"boxstyle": "round,pad=0.12", "facecolor": paper(), "edgecolor": "none"},
        )
        begin += wide
    sides = np.array((-1, 1, 1, -1)) * box / 2 + asks
    axes.fill(sides, (4.7, 4.7, 5.5, 5.5), facecolor=paper(), edgecolor="C1", linewidth=1.8)
    text(asks, 5.08, f"{y[asks, 0]:.2f} | {y[asks, 1]:.2f}", larger=2)
    tag(asks, -3.5, "what?", "C0", larger=2)
    note(-0.5, -3.5, "1  the query of 好 asks\n    every key the same")
    if narrow():
        back = "2  each value comes back:\n    the better query and\n    key agree, the thicker"
        note(-0.55, 4.75, back)
        note(6.6, 5.0, "3  together\n    a mean", "right")
        text(-0.6, 2.25, "place |\nfriend", ha="left")
    else:
        back = "2  each value comes back: the better\n    query and key agree, the thicker"
        note(-0.5, 4.85, back)
        note(6.55, 5.08, "3  together they are a mean", "right")
        text(-0.45, 2.15, "place | friend", ha="left")


@figure("broken", width=7.6, height=2.9, narrow=(3.7, 3.1))
def broken(data: Data, fig: Figure) -> None:
    """Whom 好 listens to with the line that hides P, and without it."""
    words = glossed(data.value("words").split())
    asks = [word[0] for word in words].index("好")
    grown = np.exp(data.array("scores")[0, 0, asks])
    rows = (data.array("weights")[0, 0, asks], grown / grown.sum())
    small = narrow()
    axes = fig.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.5 if small else -2.1, 7.6), ylim=(-0.62, 2.5))
    size = 7.0 if small else 9.5
    for low, weights, said in zip((1.35, 0.0), rows, ("as it is", "line deleted"), strict=True):
        at = (-0.45, low + 0.98, "left") if small else (-0.6, low + 0.3, "right")
        axes.text(at[0], at[1], said, ha=at[2], va="center", fontsize=size + 1, color=ink())
        axes.plot((-0.45, 7.45), (low, low), color=muted(), linewidth=0.8)
        for j, (word, weight) in enumerate(zip(words, weights, strict=True)):
            color = "C1" if j == 7 else "C0"
            axes.bar(j, 2 * weight, 0.6, low, color=color, alpha=0.8)
            number = f"{weight:.2f}" if weight > 0 else "hidden"
            axes.text(j, low + 2 * weight + 0.1, number, ha="center", va="center", fontsize=size, color=color if j == 7 else ink())
            axes.text(j, low - 0.06, word if low == 0 else word[0], ha="center", va="top", fontsize=size + 1, color=ink())


@figure("learned", width=7.2, height=3.5, narrow=(3.7, 6.6))
def learned(data: Data, fig: Figure) -> None:
    """Where the tiny translator looks, in the first sentence and in the third."""
    weights = data.array("learned")[:, 0, :, :7]
    words = data.value("words").split()[:7]
    for ax, sentence, pair in zip(panels(fig, 2), (0, 2), ("好 good", "男 boy"), strict=True):
        words[4], meaning = pair.split()
        heat(
            ax, weights[sentence], rows=["I", "have", "a", meaning, "friend", ".", "E"],
            columns=glossed(words), numbers="{:.2f}", low=0, high=1, top=True,
        )
        ax.set_ylabel("says")


@figure("areas", width=6.4, height=2.9, narrow=(3.7, 2.9))
def areas(data: Data, fig: Figure) -> None:
    """The gradient of a score as the area between a bar, weight by price, and the mean cost."""
    w, prices, ds = (data.array(f"worked_{name}") for name in ("weights", "prices", "ds"))
    mean = float(w @ prices)
    axes = fig.subplots()
    start = 0.0
    for j, (wide, price) in enumerate(zip(w, prices, strict=True)):
        end = start + float(wide)
        axes.fill_between(
            (start, end), mean, price, color="C1" if price > mean else "C0", alpha=0.75, linewidth=0
        )
        axes.plot(
            (start, start, end, end), (0, price, price, 0), color=ink(), linewidth=1.2,
            linestyle="-" if wide > 0 else ":",
        )
        middle = (start + end) / 2
        gap = "\n" if narrow() and wide < 0.5 else " "
        if wide > 0:
            axes.text(
                middle, (mean + price) / 2, f"$ds_{j}$ ={gap}{ds[j]:+.2f}".replace("-", "\u2212"),
                ha="center", va="center", fontsize=9, color=ink(),
            )
            axes.text(middle, -0.75, f"$w_{j}$ = {wide:.2f}", ha="center", color=ink())
        beside = 0.015 if wide == 0 else 0.0
        said = f"hidden:\nprice {price:.0f},\nwidth 0" if wide == 0 else f"price {price:.0f}"
        at = price - 0.9 if wide == 0 else price + 0.15
        axes.text(
            middle + beside, at, said, ha="left" if beside else "center", fontsize=8.5, color=ink()
        )
        start = end
    axes.plot((-0.02, 1.02), (mean, mean), color="C2", linestyle="--", linewidth=1.4)
    axes.text(-0.03, mean, f"mean cost {mean:.0f} ", ha="right", va="center", color="C2")
    axes.set(xlim=(-0.28, 1.2), ylim=(-1.0, 7.4))
    axes.set_axis_off()
