"""The figure `here` of chapters 1 to 10: the whole model as a strip from left to right, with the chapter's own part marked.
Chapter 15 shows what it leaves of the model.

`figures/draw.py` draws it for every chapter that `MARKED` names. On a phone the boxes have no room for words; a line above
them says what is marked.
"""

import itertools

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from style import arrow, ink, muted, narrow, paper

__all__ = ["MARKED", "SIZES", "draw"]

ATTENTIONS = {"self-attention", "masked self-attention", "cross-attention"}
#: What each chapter builds, and its name on a phone. A part whose name ends in a colon is a whole half.
MARKED = {
    "01_embedding": ({"embedding"}, "embedding"),
    "02_positional_encoding": ({"positions"}, "positions"),
    "03_masks": (ATTENTIONS, "what attention may look at"),
    "04_scaled_dot_product_attention": (ATTENTIONS, "attention, in all three places"),
    "05_multi_head_attention": (ATTENTIONS, "attention with several heads"),
    "06_feed_forward": ({"feed-forward"}, "feed-forward"),
    "06_feed_forward/add_norm": ({"add & norm"}, "add & norm"),  # a page with a strip of its own
    "07_encoder": ({"encoder:"}, "encoder"),
    "08_decoder": ({"decoder:"}, "decoder"),
    "09_training": ({"linear, softmax", "loss"}, "linear, softmax, loss"),
    "10_greedy_decoding": ({"linear, softmax", "next word"}, "the next word, which goes back in"),
    "15_language_model": ({"decoder:"}, "no encoder, no cross-attention"),
}
#: Where encoder and cross-attention are missing, and so fade.
ONE_STACK = {"15_language_model"}
FADED = 0.22
SIZES = {"width": 7.6, "height": 0.95, "narrow": (3.7, 0.9)}  # inches

# In inches, for the wide shape; the narrow one takes half of what is along the strip.
HALF, FRAME, GAP = 0.235, 0.3, 0.075
WIDTHS = {"self-attention": 0.55, "masked self-attention": 0.55, "cross-attention": 0.55, "feed-forward": 0.5, "add & norm": 0.15,
          "linear, softmax": 0.55}
ENCODER = ["self-attention", "add & norm", "feed-forward", "add & norm"]
DECODER = ["masked self-attention", "add & norm", "cross-attention", "add & norm", "feed-forward", "add & norm"]
BROKEN = {"self-attention": "self-\nattention", "masked self-attention": "masked\nself-\nattention",
          "cross-attention": "cross-\nattention", "feed-forward": "feed-\nforward", "linear, softmax": "linear,\nsoftmax"}


NOTHING = slice(0)


class Strip:
    """Draws from left to right; `x` is where the next thing begins."""

    def __init__(self, axes: Axes, marked: set[str]) -> None:
        self.axes, self.marked, self.small = axes, marked, narrow()
        self.x, self.along = 0.0, 0.5 if narrow() else 1.0
        self.alpha = 1.0  # of what is drawn next

    def line(self, *points: tuple[float, float], marked: bool = False) -> None:
        """A line through all the points, with an arrowhead at the last."""
        color, width = ("C1", 1.6) if marked else (muted(), 0.8)
        for start, end in itertools.pairwise(points):
            self.axes.plot(*zip(start, end, strict=True), color=color, linewidth=width, solid_capstyle="round", zorder=2,
                           alpha=self.alpha)
        arrow(self.axes, points[-2], points[-1], color, width, zorder=2, annotation_clip=False)
        self.axes.texts[-1].arrow_patch.set_mutation_scale(6)
        self.axes.texts[-1].arrow_patch.set_alpha(self.alpha)

    def text(self, x: float, y: float, text: str, marked: bool, **look: object) -> None:
        weight, color = ("bold", ink()) if marked else ("normal", muted())
        look = {"ha": "center", "va": "center", "fontsize": 6.6, "linespacing": 1.0, "color": color, "zorder": 4, "alpha": self.alpha} | look
        self.axes.text(x, y, text, fontweight=weight, fontfamily="DejaVu Sans", **look)

    def rectangle(self, x: float, y: float, width: float, height: float, marked: bool, *, frame: bool = False) -> None:
        edge, line = ("C1", 1.6) if marked else (muted(), 0.7)
        dash = (0, (3, 2)) if frame and not marked else "-"
        if marked:
            self.axes.add_patch(Rectangle((x, y), width, height, facecolor="C1", alpha=0.2, zorder=1 if frame else 3))
        elif not frame:
            self.axes.add_patch(Rectangle((x, y), width, height, facecolor=paper(), zorder=2.5))
        self.axes.add_patch(
            Rectangle((x, y), width, height, facecolor="none", edgecolor=edge, linewidth=line, linestyle=dash, zorder=3, alpha=self.alpha)
        )

    def word(self, text: str, width: float, marked: bool = False) -> float:
        """A word of the flow. Returns its middle."""
        middle = self.x + width * self.along / 2
        if self.small:
            self.axes.plot(middle, 0, "o", color="C1" if marked else muted(), markersize=4 if marked else 2.5, zorder=3,
                           alpha=self.alpha)
        else:
            self.text(middle, 0, text, marked)
        self.x += width * self.along
        return middle

    def join(self, gap: float = GAP) -> None:
        """A line to what comes next."""
        gap *= self.along
        self.axes.plot([self.x, self.x + gap], [0, 0], color=muted(), linewidth=0.8, zorder=2, alpha=self.alpha)
        self.x += gap

    def box(self, name: str) -> tuple[float, float]:
        """Returns its left and right edge."""
        left, width, marked = self.x, WIDTHS[name] * self.along, name in self.marked
        self.rectangle(left, -HALF, width, 2 * HALF, marked)
        if not self.small:
            tall = {"rotation": 90, "fontsize": 5.2} if name == "add & norm" else {}
            self.text(left + width / 2, 0, BROKEN.get(name, name), marked, **tall)
        self.x += width
        return left, self.x

    def start(self) -> None:
        """What a half begins with: its words' rows, and their positions."""
        width = 0.62 * self.along
        self.axes.add_patch(Rectangle((self.x, -HALF), width, 2 * HALF, facecolor=paper(), zorder=2.4))
        for name, bottom in (("embedding", 0.015), ("positions", -HALF)):
            self.rectangle(self.x, bottom, width, HALF - 0.015, name in self.marked)
            if not self.small:
                self.text(self.x + width / 2, bottom + (HALF - 0.015) / 2, name, name in self.marked)
        self.x += width

    def half(self, name: str, parts: list[str], fade: slice = NOTHING) -> dict[str, tuple[float, float]]:
        """The encoder or the decoder, in which some parts may fade. Returns its boxes' edges."""
        self.join(0.09)
        begin, edges = self.x, {}
        self.join()
        alpha, gone = self.alpha, set(range(len(parts))[fade])
        for place, part in enumerate(parts):
            self.alpha = FADED if place in gone else alpha
            edges[part] = self.box(part)
            self.alpha = alpha
            self.join()
        marked = f"{name}:" in self.marked
        self.rectangle(begin, -FRAME, self.x - begin, 2 * FRAME, marked, frame=True)
        self.text(begin, -FRAME - 0.03, name if self.small else f"{name} × N", marked, ha="left", va="top", fontsize=6.6)
        return edges


def draw(fig: Figure, chapter: str) -> None:
    """The figure `here` of a chapter."""
    marked, name = MARKED[chapter]
    fig.set_layout_engine("none")
    axes = fig.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    strip, one = Strip(axes, marked), chapter in ONE_STACK
    strip.alpha = FADED if one else 1.0
    strip.word("source", 0.42)
    strip.join()
    strip.start()
    encoder = strip.half("encoder", ENCODER)
    strip.x += 0.12 * strip.along
    strip.alpha = 1.0
    target = strip.word("text" if one else "target", 0.42)
    strip.join()
    strip.start()
    decoder = strip.half("decoder", DECODER, slice(2, 4) if one else NOTHING)
    top, leaves, enters = 0.37, encoder["add & norm"][1], sum(decoder["cross-attention"]) / 2
    bend = leaves + 0.15 * strip.along  # the encoder's output, which every decoder layer reads
    strip.alpha = FADED if one else 1.0
    strip.line((leaves, 0), (bend, 0), (bend, top), (enters, top), (enters, HALF))
    strip.alpha = 1.0
    strip.join(0.12)
    strip.box("linear, softmax")
    strip.join()
    last = "loss" if "loss" in marked else "next word"
    end = strip.word(last.replace(" ", "\n"), 0.36, last in marked)
    if "next word" in marked:  # it goes back in as the newest target word
        low = -0.52
        strip.line((end, -0.12), (end, low), (target, low), (target, -0.07), marked=True)
    if strip.small:
        strip.text(0.02, 0.46, name, True, ha="left", va="bottom", fontsize=7.5)
    edge = (SIZES["narrow"][0] if strip.small else SIZES["width"]) - 0.03
    axes.set(xlim=(-0.03, max(edge, strip.x)), ylim=(-0.55, 0.62 if strip.small else 0.42))
