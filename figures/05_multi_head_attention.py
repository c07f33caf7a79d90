"""Figures of chapter 5."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle
from style import Axes, Data, Figure, arrow, figure, glossed, heat, ink, narrow, panels, paper

HEADS = 4  # in the figures `split` and `join`
SHIFT = 3.0  # cells from one head's sheet to the next


class Rows:
    """Rows of words whose columns belong to heads: all in one matrix, or a sheet for each head."""

    def __init__(self, axes: Axes, length: int, d_k: int) -> None:
        self.axes, self.length, self.d_k = axes, length, d_k

    def sheet(self, left: float, top: float, heads: list[int]) -> None:
        d_k, length, width = self.d_k, self.length, self.d_k * len(heads)
        self.axes.add_patch(Rectangle((left, top), width, length, facecolor=paper(), zorder=2))
        for place, head in enumerate(heads):
            self.axes.add_patch(Rectangle(
                (left + place * d_k, top), d_k, length, facecolor=f"C{head}", alpha=0.55, zorder=2,
            ))
        lines = [((left + x, left + x), (top, top + length)) for x in range(width + 1)]
        lines += [((left, left + width), (top + y, top + y)) for y in range(length + 1)]
        for x, y in lines:
            self.axes.plot(x, y, color=paper(), linewidth=0.6, zorder=2)
        for y, height in ((0, length), (2, 1)):  # the matrix, and one word's row
            self.axes.add_patch(Rectangle(
                (left, top + y), width, height, facecolor="none", edgecolor=ink(),
                linewidth=1.4 if y else 0.6, zorder=2,
            ))

    def joined(self, left: float, top: float) -> None:
        self.sheet(left, top, list(range(HEADS)))
        for head in range(HEADS):
            self.text(left + (head + 0.5) * self.d_k, top - 0.9, f"$h = {head}$", 7.0)

    def apart(self, left: float, top: float) -> None:
        """Sheets for all heads, with the first head's in front."""
        for head in reversed(range(HEADS)):
            x, y = left + SHIFT * head, top - 1.5 * head
            self.sheet(x, y, [head])
            self.text(x + 0.2, y - 0.7, f"$h = {head}$", 7.0, ha="left")

    def text(self, x: float, y: float, text: str, size: float = 8.5, *, ha: str = "center") -> None:
        self.axes.text(x, y, text, ha=ha, va="center", fontsize=size, color=ink(), linespacing=1.3)

    def name(self, x: float, name: str, shape: str, top: float) -> None:
        self.text(x, top + self.length + 1.5, name)
        self.text(x, top + self.length + 3.6, shape)

    def arrow(self, start: tuple[float, float], end: tuple[float, float], text: str) -> None:
        arrow(self.axes, start, end)
        if start[1] == end[1]:
            self.text((start[0] + end[0]) / 2, start[1] - 1.2, text)
        else:
            self.text(start[0] - 0.7, (start[1] + end[1]) / 2, text, ha="right")


@figure("split", width=7.6, height=2.3, narrow=(3.7, 4.5))
def split(data: Data, fig: Figure) -> None:
    length, width = data.array("joined").shape
    d_k = width // HEADS
    axes = fig.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    rows = Rows(axes, length, d_k)
    middle, gap, sheets = length / 2, 5.0, d_k + SHIFT * (HEADS - 1)
    rows.joined(0, 0)
    rows.name(width / 2, "$Q$", "$[B, L, d_{model}]$", 0)
    at = width + gap
    rows.arrow((width + 0.4, middle), (at - 0.4, middle), "split")
    rows.apart(at, 0)
    rows.name(at + sheets / 2, "$Q_h$", "$[B, H, L, d_k]$", 0)
    if narrow():
        top = length + 15.0
        rows.arrow((at + 1.5, length + 5.2), (at + 1.5, top - 1.6), "attention,\neach head\nalone")
        contexts, joined = at, 0.0
        rows.arrow((at - 0.4, top + middle), (width + 0.4, top + middle), "join")
        axes.set(xlim=(-0.5, at + sheets + 0.5), ylim=(top + length + 4.8, -6.4))
    else:
        top = 0.0
        contexts = at + sheets + gap + 2.2
        rows.arrow((at + sheets + 0.4, middle), (contexts - 0.4, middle), "attention")
        rows.text((at + sheets + contexts) / 2, middle + 1.9, "each head\nalone", 7.5)
        joined = contexts + sheets + gap
        rows.arrow((contexts + sheets + 0.4, middle), (joined - 0.4, middle), "join")
        axes.set(xlim=(-0.5, joined + width + 0.5), ylim=(length + 4.8, -6.4))
    rows.apart(contexts, top)
    rows.name(contexts + sheets / 2, "$C_h$", "$[B, H, L, d_k]$", top)
    rows.joined(joined, top)
    rows.name(joined + width / 2, "$C$", "$[B, L, d_{model}]$", top)


@figure("join", width=7.4, height=2.6, narrow=(3.7, 4.6))
def join(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    both = (("joined", "join_heads"), ("reshaped", "bare reshape"))
    for place, (name, title) in zip(panels(fig, 2, sharey=True), both, strict=True):
        origin = data.array(name)  # [L, H * d_k]: the position that each number comes from
        columns = [""] * origin.shape[1]
        heat(place, origin + 1, rows=glossed(words, " "), columns=columns, numbers="{:.0f}", low=0, high=10)
        place.set_title(title)
        place.set_xlabel("column of the result")
        d_k = origin.shape[1] // HEADS
        for edge in np.arange(d_k, origin.shape[1], d_k) - 0.5:
            place.axvline(edge, color=ink(), linewidth=0.8)
