"""Figures of chapter 0."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.patches import FancyBboxPatch
from style import Axes, Data, Figure, arrow, figure, ink, muted, narrow, paper


@figure("chords", width=5.6, height=3.4, narrow=(3.7, 3.2))
def chords(data: Data, fig: Figure) -> None:
    curve, points = data.array("curve"), data.array("points")
    slope = data.value("slope")
    left, middle, right = points.T
    axes = fig.subplots()
    axes.plot(*curve, color=muted(), linewidth=1.2)
    axes.annotate(
        "$f$", curve[:, 6], xytext=(0, 6), textcoords="offset points", color=muted(), ha="center"
    )
    near = np.array([-1.9, 1.9])
    axes.plot(
        middle[0] + near, middle[1] + slope * near, color=ink(), linewidth=1.2,
        label=f"tangent, slope {slope:.3f}",
    )
    axes.plot(
        *np.stack([left, right], 1), "C0", marker="o", linestyle="--",
        label=f"central chord, slope {data.value('central'):.3f}",
    )
    axes.plot(
        *np.stack([middle, right], 1), "C1", marker="s", linestyle=":", linewidth=2,
        label=f"one-sided chord, slope {data.value('one_sided'):.3f}",
    )
    axes.set_xticks([left[0], middle[0], right[0]], ["$x-\\delta$", "$x$", "$x+\\delta$"])
    axes.set_ylabel("$f(x)=\\log(1+e^x)$")
    axes.legend(loc="upper left")


@figure("step", width=6.4, height=4.0, narrow=(3.7, 4.4))
def step(data: Data, fig: Figure) -> None:
    steps = data.array("steps")  # [n]
    errors = data.array("errors")  # [4, n]
    labels = ("double, central", "double, one-sided", "float, central", "float, one-sided")
    looks = (("C0", "o", "-"), ("C0", "s", ":"), ("C1", "o", "-"), ("C1", "s", ":"))
    axes = fig.subplots()
    for row, label, (color, marker, line) in zip(errors, labels, looks, strict=True):
        axes.loglog(steps, row, color=color, marker=marker, linestyle=line, label=label)
    for row, point, law, place in ((1, 9, "as $\\delta$", (8, 6)), (0, 5, "as $\\delta^2$", (8, 2)),
                                   (0, 17, "as $1/\\delta$", (10, -14))):
        axes.annotate(
            law, (steps[point], errors[row, point]), xytext=place, textcoords="offset points",
            color=muted(),
        )
    axes.invert_xaxis()
    axes.set_xlabel("step $\\delta$")
    axes.set_ylabel("relative error of the gradient")
    axes.grid()
    axes.legend(loc="upper right", ncols=2)
    axes.set_ylim(top=errors.max() * 300)


class Wires:
    """Two numbers of a word, its three results and the loss: boxes on one pair of axes, y pointing down."""

    ROWS = ((0.5, 2.5), (0.0, 1.5, 3.0), (1.5,))
    HIGH = 0.36

    def __init__(self, axes: Axes, title: str) -> None:
        self.axes = axes
        self.size, self.half = (8.0, 1.0) if narrow() else (9.5, 0.66)
        self.columns = (0.0, 4.1, 8.2) if narrow() else (0.0, 4.6, 9.2)
        axes.set_axis_off()
        axes.set(xlim=(-1.9, self.columns[2] + 1.9), ylim=(3.7, -2.0))
        self.text(-1.7, -1.6, title, ink(), ha="left")

    def place(self, column: int, row: int) -> tuple[float, float]:
        return self.columns[column], self.ROWS[column][row]

    def text(self, x: float, y: float, text: str, color: str, **more: Any) -> None:
        options = {"ha": "center", "va": "center", "fontsize": self.size} | more
        self.axes.text(x, y, text, color=color, **options)

    def box(self, column: int, row: int, text: str, color: str) -> None:
        x, y = self.place(column, row)
        self.axes.add_patch(FancyBboxPatch(
            (x - self.half, y - self.HIGH), 2 * self.half, 2 * self.HIGH, facecolor="none",
            boxstyle="round,pad=0,rounding_size=0.15", edgecolor=color, linewidth=1.2,
        ))
        self.text(x, y, text, color)

    def tag(self, column: int, row: int, text: str, color: str, *, below: bool = False) -> None:
        """What has arrived at a box: filled, in the color of its arrows."""
        x, y = self.place(column, row)
        self.text(
            x, y + (0.72 if below else -0.72), text, paper(), fontsize=self.size - 0.5,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": color, "edgecolor": "none"},
        )

    def wire(
        self, left: tuple[int, int], right: tuple[int, int], color: str, factor: str = "", *,
        back: bool = False, at: float = 0.5, width: float = 1.5,
    ) -> None:
        (x0, y0), (x1, y1) = self.place(*left), self.place(*right)
        ends = ((x0 + self.half + 0.1, y0), (x1 - self.half - 0.1, y1))
        arrow(self.axes, *(reversed(ends) if back else ends), color=color, width=width)
        if factor:
            x, y = (a + at * (b - a) for a, b in zip(*ends, strict=True))
            patch = {"boxstyle": "round,pad=0.15", "facecolor": paper(), "edgecolor": "none"}
            self.text(x, y, factor, color, bbox=patch)


def number(value: float, *, signed: bool = False) -> str:
    """A whole number with a real minus sign; a plus sign where it is a change."""
    return (f"{value:+.0f}" if signed else f"{value:.0f}").replace("-", "−")


def total(terms: Sequence[float]) -> str:
    """`1 - 2 + 0 = -1`."""
    signs = "".join(f" {number(term, signed=True)[0]} {abs(term):.0f}" for term in terms[1:])
    return f"{number(terms[0])}{signs} = {number(sum(terms))}"


@figure("there_and_back", width=7.6, height=5.0, narrow=(3.7, 5.6))
def there_and_back(data: Data, fig: Figure) -> None:
    x, y, prices = (data.array(name)[0] for name in ("x", "y", "dy"))
    weight = data.array("weight")  # [3, 2]
    loss = float((data.array("y") * data.array("dy")).sum())
    titles = ("There: a nudge of one number", "Back: a price for every number")
    for back, (axes, title) in enumerate(zip(fig.subplots(2, 1), titles, strict=True)):
        wires, color = Wires(axes, title), "C1" if back else ink()
        for j, i in np.ndindex(2, 3):
            thin = j == 1
            wires.wire(
                (0, j), (1, i), muted() if thin and not back else color,
                "" if thin and not back else f"×{number(weight[i, j])}", back=bool(back), at=0.28, width=0.6 if thin else 1.5,
            )
        for i in range(3):
            wires.wire((1, i), (2, 0), color, "" if back else f"×{number(prices[i])}", back=bool(back))
            wires.box(1, i, f"$y_{{0{i}}}$ = {number(y[i])}", ink())
            wires.tag(1, i, number(prices[i]) if back else number(weight[i, 0], signed=True), color)
        for j in range(2):
            wires.box(0, j, f"$x_{{0{j}}}$ = {number(x[j])}", ink() if j == 0 or back else muted())
            if back:
                wires.tag(0, j, total(list(weight[:, j] * prices)), color, below=j == 1)
        wires.box(2, 0, f"loss {number(loss)}", ink())
        if not back:
            wires.tag(0, 0, number(1, signed=True), color)
            wires.tag(2, 0, total(list(weight[:, 0] * prices)), color)


@figure("bend", width=5.6, height=3.0, narrow=(3.7, 3.0))
def bend(data: Data, fig: Figure) -> None:
    rate, loss, promised = data.array("along")
    axes = fig.subplots()
    axes.plot(rate, loss, "C0")
    axes.plot(rate, promised, "C1", linestyle="--")
    axes.annotate("the loss", (rate[66], loss[66]), xytext=(-8, 2), textcoords="offset points", color="C0", ha="right")
    axes.annotate("what the gradient promises", (rate[22], promised[22]), xytext=(9, -2), textcoords="offset points", color="C1")
    for at in (20, 80):
        axes.plot(rate[at], loss[at], "C0", marker="o")
        axes.annotate(
            f"{loss[at]:.2f}", (rate[at], loss[at]), xytext=(0, 8) if at == 20 else (-8, -2),
            textcoords="offset points", color="C0", ha="center" if at == 20 else "right",
        )
    axes.axhline(0, color=muted(), linewidth=0.8)
    axes.set_ylim(-1.5, loss.max())
    axes.set_xlabel("learning rate $\\eta$")
    axes.set_ylabel("loss")
