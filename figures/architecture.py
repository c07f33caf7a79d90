"""The Transformer as boxes, for the front matter: each box has the number of its chapter, and the shapes of what flows are
beside the lines.

Data flow from left to right, the encoder above the decoder; on a phone from bottom to top, the encoder left of the decoder.
"""

import itertools
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from style import arrow, ink, muted, narrow, paper, say

__all__ = ["draw"]

#: The chapter of each box.
CHAPTER = {
    "embedding": "1", "positions": "2", "self-attention": "3–5", "masked self-attention": "3–5",
    "cross-attention": "3–5", "add & norm": "6", "feed-forward": "6", "linear, softmax": "9, 10",
    "encoder": "7", "decoder": "8",
}

ENCODER = ["embedding", "positions", "self-attention", "add & norm", "feed-forward", "add & norm"]
DECODER = [
    "embedding", "positions", "masked self-attention", "add & norm", "cross-attention", "add & norm",
    "feed-forward", "add & norm",
]


@dataclass(frozen=True)
class Place:
    """The place of a box: its step along the flow, and its half (0 encoder, 1 decoder)."""

    step: float
    half: int


class Plan:
    """Turns steps and halves into coordinates, for either shape of the figure."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.upright = narrow()
        self.width, self.height = (2.6, 0.66) if self.upright else (0.86, 0.92)

    def at(self, place: Place) -> tuple[float, float]:
        along = place.step + 0.2 * (place.step > 2.5)  # room for the frame's edge and for its name
        along += (0.35 if self.upright else 0.2) * (place.step > len(DECODER) + 0.5)
        return (3.2 * place.half, along) if self.upright else (along, -1.9 * place.half)

    def box(self, text: str, place: Place) -> None:
        x, y = self.at(place)
        name = text
        self.axes.add_patch(FancyBboxPatch(
            (x - self.width / 2, y - self.height / 2), self.width, self.height,
            boxstyle="round,pad=0,rounding_size=0.1", linewidth=0.8,
            edgecolor=muted(), facecolor=paper(), zorder=3,
        ))
        if not self.upright:
            for old, new in ((" & ", " &\n"), ("-", "-\n"), (" self", "\nself"), (", ", ",\n"), ("bedd", "bed-\nd")):
                text = text.replace(old, new)
        say(self.axes, x, y, text, fontsize=7.6 if self.upright else 7.0, zorder=4, fontfamily="DejaVu Sans",
            linespacing=1.05)
        corner = (x + self.width / 2 - 0.05, y + self.height / 2 - (0.05 if self.upright else 0.04))
        self.axes.text(*corner, CHAPTER[name], ha="right", va="top", fontsize=6.0 if self.upright else 7.0,
                       color=muted(), zorder=4)

    def shapes(self) -> None:
        """The shapes of the tensors, beside their lines."""
        memory, end = "memory [B, Ls, d_model]", len(DECODER)
        if self.upright:
            texts = [
                ("[B, Ls]", (0.15, 0.49), "left"), ("[B, Lt]", (3.35, 0.49), "left"),
                ("[B, Ls, d_model]", (0.15, 1.5), "left"), ("[B, Lt, d_model]", (3.35, 1.5), "left"),
                (memory, (-1.4, 7.25), "left"), ("[B, Lt, V]", (3.35, end + 2.12), "left"),
            ]
        else:
            texts = [
                ("[B, Ls]", (0, -0.3), "center"), ("[B, Lt]", (0, -2.3), "center"),
                ("[B, Ls, d_model]", (1.5, -0.62), "center"), ("[B, Lt, d_model]", (1.5, -2.52), "center"),
                (memory, (7.1, -0.45), "left"), ("[B, Lt, V]", (end + 1.4, -2.52), "center"),
            ]
        for text, (x, y), side in texts:
            self.axes.text(x, y, text, ha=side, va="center", fontsize=6.8, color=muted(), zorder=4)

    def word(self, text: str, place: Place) -> None:
        x, y = self.at(place)
        say(self.axes, x, y, text, fontsize=7.6, zorder=4, fontfamily="DejaVu Sans", linespacing=1.05)

    def line(self, *places: Place) -> None:
        """A line through all the places, with an arrowhead at the last."""
        points = [self.at(place) for place in places]
        color, width = muted(), 0.9
        for start, end in itertools.pairwise(points):
            self.axes.plot(*zip(start, end, strict=True), color=color, linewidth=width,
                           solid_capstyle="round", zorder=2)
        arrow(self.axes, points[-2], points[-1], color, width, zorder=2)

    def frame(self, text: str, first: Place, last: Place) -> None:
        (x0, y0), (x1, y1) = self.at(first), self.at(last)
        along, across = (0.46, 0.16) if self.upright else (0.55, 0.22)
        dx, dy = (self.width / 2 + across, along) if self.upright else (along, self.height / 2 + across)
        self.axes.add_patch(FancyBboxPatch(
            (min(x0, x1) - dx, min(y0, y1) - dy), abs(x1 - x0) + 2 * dx, abs(y1 - y0) + 2 * dy,
            boxstyle="round,pad=0,rounding_size=0.15", linewidth=0.8,
            linestyle=(0, (3, 2)), edgecolor=muted(), facecolor="none", zorder=1,
        ))
        x, y = (x0 - dx, y1 + dy + 0.1) if self.upright else (x0 - dx, y0 + dy + 0.08)
        self.axes.text(x, y, text, ha="left", va="bottom", fontsize=7.6, color=ink(), fontfamily="DejaVu Sans")
        self.axes.text(max(x0, x1) + dx, y, CHAPTER[text.split()[0]], ha="right", va="bottom",
                       fontsize=6.0 if self.upright else 7.0, color=muted())


def draw(fig: Figure) -> None:
    """The figure `architecture` of the front matter."""
    axes = fig.subplots()
    axes.set_axis_off()
    plan = Plan(axes)
    edge = plan.height / 2 if plan.upright else plan.width / 2
    for half, (parts, words) in enumerate([(ENCODER, "source"), (DECODER, "target,\nshifted")]):
        plan.word(words, Place(0, half))
        plan.line(Place(0.3 if plan.upright else 0.4, half), Place(1 - edge, half))
        for step, part in enumerate(parts, 1):
            plan.box(part, Place(step, half))
            if step < len(parts):
                plan.line(Place(step + edge, half), Place(step + 1 - edge, half))
        name = ["encoder", "decoder"][half]
        plan.frame(f"{name} × N", Place(3, half), Place(len(parts), half))
    # The encoder's output, which every decoder layer reads.
    top, cross = len(ENCODER), DECODER.index("cross-attention") + 1
    if plan.upright:
        plan.line(Place(top + edge, 0), Place(top + 0.78, 0), Place(top + 0.78, 0.5),
                  Place(cross, 0.5), Place(cross, 1 - 1.25 / 3.2))
    else:
        plan.line(Place(top + edge, 0), Place(top + 0.8, 0), Place(top + 0.8, 0.5),
                  Place(cross, 0.5), Place(cross, 1 - 0.46 / 1.9))
    end = len(DECODER)
    plan.line(Place(end + edge, 1), Place(end + 1 - edge, 1))
    plan.box("linear, softmax", Place(end + 1, 1))
    plan.line(Place(end + 1 + edge, 1), Place(end + (1.62 if plan.upright else 1.66), 1))
    plan.word("next word" if plan.upright else "next\nword", Place(end + (1.85 if plan.upright else 1.95), 1))
    plan.shapes()
    if plan.upright:
        axes.set(xlim=(-1.6, 5.1), ylim=(-0.4, end + 2.6))
    else:
        axes.set(xlim=(-0.45, end + 2.75), ylim=(-2.95, 0.95))
