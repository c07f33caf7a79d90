"""Figures of chapter 6."""

import numpy as np
import strip
from matplotlib.patches import Circle, Rectangle
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, panels, paper, say


@figure("here_add_norm", **strip.SIZES)
def here_add_norm(data: Data, fig: Figure) -> None:
    strip.draw(fig, "06_feed_forward/add_norm")


@figure("v", width=7.6, height=2.75, narrow=(3.7, 5.9))
def v(data: Data, fig: Figure) -> None:
    """Two ramps, and their sum, which no line can be."""
    axes = blackboard(fig)
    small = narrow()
    unit, high = (0.92, 0.95) if small else (0.82, 1.15)  # inches for 1 across and for 1 up
    phrases = ((0, "good,\nnot bad", "C2"), (-1, "bad", "C1"), (1, "not good", "C1"))
    rules = (
        ("rule 1: “not”, but no “bad”", "$(x_1 - x_2)^+$", lambda x: max(x, 0)),
        ("rule 2: “bad”, but no “not”", "$(x_2 - x_1)^+$", lambda x: max(-x, 0)),
        ("both rules added: a complaint?", "$(x_1 - x_2)^+ + (x_2 - x_1)^+$", abs),
    )
    for n, (title, formula, f) in enumerate(rules):
        x0, y0 = (2.0, 4.45 - 1.93 * n) if small else (1.27 + 2.54 * n, 0.62)

        def place(x: float, y: float, x0: float = x0, y0: float = y0) -> tuple[float, float]:
            return x0 + unit * x, y0 + high * y

        arrow(axes, place(-1.28, 0), place(1.42, 0), muted(), 0.9)
        axes.text(*place(0, 1.38 if small else 1.58), title, ha="center", fontsize=9, color=ink())
        axes.text(*place(0, 1.19 if small else 1.36), formula, ha="center", fontsize=9.5, color="C0")
        if f is abs:
            axes.text(*place(1.42, 0.05), "$x_1 - x_2$", ha="right", va="bottom", fontsize=8, color=muted())
            axes.plot(*zip(place(-1.25, 0.5), place(1.25, 0.5), strict=True), color=ink(), linewidth=1.2, linestyle="--")
            axes.text(*place(0, 0.56), "the best line\nsays ½ to all", ha="center", va="bottom", fontsize=8, color=ink())
        bend = [place(x, f(x)) for x in (-1.12, 0, 1.12)]
        axes.plot(*zip(*bend, strict=True), color="C0", linewidth=2.4, solid_joinstyle="round", zorder=3)
        for x, phrase, color in phrases:
            axes.plot(*place(x, f(x)), "o" if color == "C1" else "s", color=color, markersize=8, zorder=4)
            axes.text(place(x, 0)[0], y0 - 0.1, phrase, ha="center", va="top", fontsize=9, color=color, linespacing=1.1)
        axes.text(0.45 if small else x0 - 1.27, y0 + 0.55, " +="[n], ha="center", va="center", fontsize=17, color=ink())


class River:
    """A stack as a stream from left to right, as wide as the numbers of its rows are large."""

    def __init__(self, axes: Axes, y: float) -> None:
        self.axes, self.y, self.x = axes, y, 0.14

    def flow(self, to: float, begin: float, end: float) -> None:
        xs, half = (self.x, to), (begin / 2, end / 2)
        self.axes.fill_between(xs, [self.y - h for h in half], [self.y + h for h in half], color="C0", alpha=0.5, linewidth=0)
        self.x = to

    def box(self, x: float, y: float, text: str, width: float, height: float, color: str) -> None:
        self.axes.text(x, y, text, ha="center", va="center", fontsize=10 if len(text) < 3 else 8.5, color=ink(), zorder=5)
        self.axes.add_patch(Rectangle((x - width / 2, y - height / 2), width, height, facecolor=paper(), edgecolor=color,
                                      linewidth=1.5, zorder=4))

    def branch(self, leave: float, back: float, wide: float) -> None:
        """Leaves the stream, goes through F and comes back at a plus sign."""
        up, middle = self.y + 0.58, (leave + back) / 2
        for start, corner, end in (((leave, self.y + wide / 2 - 0.05), (leave, up), (middle - 0.19, up)),
                                   ((middle + 0.19, up), (back, up), (back, self.y + 0.13))):
            self.axes.plot(*zip(start, corner, strict=True), color="C0", linewidth=1.6, zorder=3, solid_capstyle="round")
            arrow(self.axes, corner, end, "C0", 1.6, zorder=3)
        self.box(middle, up, "F", 0.38, 0.3, "C0")
        self.axes.add_patch(Circle((back, self.y), 0.11, facecolor=paper(), edgecolor=ink(), linewidth=1.1, zorder=4))
        self.axes.text(back, self.y - 0.005, "+", ha="center", va="center", fontsize=11, color=ink(), zorder=5)


@figure("river", width=7.6, height=4.75, narrow=(3.7, 4.9))
def river(data: Data, fig: Figure) -> None:
    """Three stacks: sublayers in a row; with branches that come back; and with a norm after each sum."""
    axes = blackboard(fig)
    small = narrow()
    layers, pitch, right = (2, 1.62, 3.6) if small else (4, 1.75, 7.46)
    top = fig.get_size_inches()[1]
    titles = ("nothing around it: it dries up", "x + F(x): what the branches add makes it swell", "norm(x + F(x)): word and size stay")
    for title, y in zip(titles, (top - 0.12, top - 1.2, top - 2.88), strict=True):
        axes.text(0.14, y, title, ha="left", va="top", fontsize=9.5, color=ink())

    one = River(axes, top - 0.72)
    wide = 0.42
    for n in range(layers):
        middle = 0.14 + pitch * (n + 0.55)
        one.flow(middle, wide, wide)
        one.box(middle, one.y, "F", 0.38, 0.5, "C0")
        wide *= 0.24
    one.flow(right, wide, wide)

    for y, normed in ((top - 2.35, False), (top - 4.03, True)):
        stream = River(axes, y)
        wide, grows = 0.3, 1.5 if normed or small else 1.3
        for n in range(layers):
            begin = 0.14 + pitch * n
            leave, back, gate = begin + 0.18, begin + 0.88, begin + 1.42
            stream.branch(leave, back, wide)
            stream.flow(back, wide, wide)
            stream.flow(back + 0.06, wide, wide * grows)
            if normed:
                stream.flow(gate, wide * grows, wide * grows)
                stream.box(gate, y, "norm", 0.42, 0.34, "C2")
            else:
                wide *= grows
        stream.flow(right, wide, wide)
        if normed:
            arrow(axes, (right, y - 0.42), (0.14, y - 0.42), "C1", 1.6)
            axes.text(right / 2 + 0.07, y - 0.5, "the gradient runs back along the same stream", ha="center", va="top",
                      fontsize=8.5 if small else 9.5, color="C1")


@figure("stacks", width=7.6, height=3.0, narrow=(3.7, 5.8))
def stacks(data: Data, fig: Figure) -> None:
    """Size and likeness of the rows after each layer, with and without residual connection and norm."""
    size, alike = panels(fig, 2)
    layer = np.arange(int(data.value("depth")) + 1)
    for key, color, line, width, name, above, at in (
        ("nothing", "C1", "-", 1.6, "nothing", (47, 0.12, "right"), (13, 1.0, "right")),
        ("norm", "C3", "--", 1.6, "norm alone", (47, 1.12, "right"), (13, 0.78, "left")),
        ("sum", "C5", "--", 1.6, "residual alone", (30, 2.75, "right"), (25, 0.46, "right")),
        ("post", "C0", "-", 2.0, "both", (26, 1.12, "right"), (22, 0.2, "left")),
    ):
        found = data.array(f"stack_{key}")
        for axes, curve in ((size, found[0]), (alike, found[3])):
            axes.plot(layer, curve, color=color, linestyle=line, linewidth=width, zorder=4 if line == "--" else 3)
        size.text(*above[:2], name, color=color, fontsize=8.5, ha=above[2], va="bottom")
        alike.text(*at[:2], name, color=color, fontsize=8.5, ha=at[2], va="center")
    size.set_ylim(-0.12, 4.2)
    size.set_ylabel("size of a number")
    alike.set_ylabel("how alike two words are")
    alike.set_ylim(-0.05, 1.05)
    for axes in (size, alike):
        axes.set_xlabel("after layer")
        axes.grid()


@figure("depth", width=7.4, height=3.1, narrow=(3.7, 5.6))
def depth(data: Data, fig: Figure) -> None:
    rows, gradient = panels(fig, 2)
    post, pre = data.array("stack_post"), data.array("stack_pre")  # [3, depth + 1]
    layer = np.arange(post.shape[1])
    rows.plot(layer, post[0], label="post")
    rows.plot(layer, pre[0], label="pre", linestyle="--")
    rows.plot(
        layer, np.sqrt(1 + layer / 18), color=muted(), linewidth=0.9, linestyle=":",
        label="$\\sqrt{1 + l/18}$",
    )
    gradient.plot(layer, post[1], label="post")
    gradient.plot(layer, pre[1], label="pre", linestyle="--")
    gradient.plot(layer, post[2], color="C0", linewidth=0.9, marker=".", markevery=6,
                  label="post, residual path alone")
    gradient.plot(layer, pre[2], color="C1", linewidth=0.9, marker="x", markevery=6, linestyle="--",
                  label="pre, residual path alone")
    gradient.plot(
        layer, 1 / np.sqrt(1 + layer / 18), color=muted(), linewidth=0.9, linestyle=":",
        label="$1/\\sqrt{1 + l/18}$",
    )
    for axes in (rows, gradient):
        axes.set_xlabel("after layer $l$")
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.legend()
    rows.set_ylabel("size of a number in a row")
    gradient.set_ylabel("size of its gradient")
    gradient.set_ylim(0, 1.8)


@figure("three_paths", width=6.4, height=2.9, narrow=(3.7, 3.6))
def three_paths(data: Data, fig: Figure) -> None:
    """The gradient of a normalized row on its three ways back to one number, with what each brings."""
    axes = fig.subplots()
    axes.set_axis_off()
    small = narrow()
    wide, high = (3.7, 3.4) if small else (6.4, 2.9)
    axes.set_xlim(0, wide)
    axes.set_ylim(-high / 2 - 0.18, high / 2)
    begin, formula, box, end = (0.28, 1.13, 2.48, 3.42) if small else (0.4, 2.0, 4.3, 6.0)
    paths = (
        (high / 2 - 0.4, "through the\nmean  $\\mu$", "$-\\dfrac{1}{\\sigma}\\;\\overline{d\\hat x}$"),
        (0.0, "directly", "$\\dfrac{1}{\\sigma}\\; d\\hat x_i$"),
        (-high / 2 + 0.4, "through the\ndeviation  $\\sigma$", "$-\\dfrac{1}{\\sigma}\\;\\hat x_i\\;\\overline{d\\hat x\\,\\hat x}$"),
    )
    for x, text in ((begin, "$dx_i$"), (end, "$d\\hat x$")):
        axes.text(x, 0, text, ha="center", va="center", fontsize=13, color="C1")
    for y, text, gradient in paths:
        axes.plot((end - 0.25, box, formula), (y * 0.12, y, y), color="C1", linewidth=1.4, zorder=1)
        arrow(axes, (formula, y), (begin + 0.27, y * 0.12), "C1", 1.4, zorder=1)
        say(axes, box, y, text, fontsize=8.5 if small else 9.5, zorder=3,
            bbox={"boxstyle": "round,pad=0.4", "facecolor": paper(), "edgecolor": muted(), "linewidth": 1.2})
        axes.text(formula, y, gradient, ha="center", va="center", fontsize=9.5 if small else 11, color="C1", zorder=3,
                  bbox={"boxstyle": "round,pad=0.15", "facecolor": paper(), "edgecolor": "none"})
