"""Figures of chapter 6."""

from __future__ import annotations

import numpy as np
from style import Axes, Data, Figure, arrow, figure, muted, narrow, panels, paper


def outline(axes: Axes, values: np.ndarray, low: float, high: float, label: str, dash: str) -> None:
    """The share of the values in each of 50 bins, as a line."""
    share, edges = np.histogram(values, bins=50, range=(low, high))
    axes.stairs(100 * share / values.size, edges, label=label, linestyle=dash, linewidth=1.4)


@figure("distributions", width=7.4, height=2.7, narrow=(3.7, 6.6))
def distributions(data: Data, fig: Figure) -> None:
    before, after, relu = panels(fig, 3)
    for kind, label, dash in (("plain", "embedding", "-"), ("scaled", "times $\\sqrt{d}$", "--")):
        outline(before, data.array(f"before_{kind}"), -75, 75, label, dash)
        outline(after, data.array(f"after_{kind}"), -4, 4, label, dash)
    outline(relu, data.array("relu_before"), -2, 2, "before", "-")
    outline(relu, data.array("relu_after"), -2, 2, "after", "--")
    before.set_xlabel("$x + F(x)$, before the norm")
    after.set_xlabel("after the norm")
    relu.set_xlabel("hidden numbers and ReLU")
    for axes in (before, after, relu) if narrow() else (before,):
        axes.set_ylabel("share of the numbers (%)")
    for axes in (before, after, relu):
        axes.set_yscale("log")
        axes.set_ylim(0.01, 1000)  # room for the legend above the peak
        axes.legend(loc="upper left", handlelength=1.6)


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
    """The three paths from an element to the normalized row, with the gradient that comes back along each."""
    axes = fig.subplots()
    axes.set_axis_off()
    small = narrow()
    wide, high = (3.7, 3.4) if small else (6.4, 2.9)
    axes.set_xlim(0, wide)
    axes.set_ylim(-high / 2 - 0.18, high / 2)
    begin, middle, end = 0.3, wide / 2, wide - 0.3
    paths = (
        (high / 2 - 0.45, "mean  $\\mu$", "C1", "$-\\dfrac{1}{\\sigma}\\;\\overline{d\\hat x}$"),
        (0.0, "itself  $x_i - \\mu$", "C0", "$\\dfrac{1}{\\sigma}\\; d\\hat x_i$"),
        (-high / 2 + 0.45, "deviation  $\\sigma$", "C2",
         "$-\\dfrac{1}{\\sigma}\\;\\hat x_i\\;\\overline{d\\hat x\\,\\hat x}$"),
    )
    for x, text in ((begin, "$x_i$"), (end, "$\\hat x$")):
        axes.text(x, 0, text, ha="center", va="center", fontsize=13)
    for y, text, color, gradient in paths:
        axes.text(
            middle, y, text, ha="center", va="center", fontsize=8.5 if small else 9.5, zorder=3,
            bbox={"boxstyle": "round,pad=0.4", "facecolor": paper(), "edgecolor": color, "linewidth": 1.4},
        )
        arrow(axes, (begin + 0.22, y * 0.12), (middle, y), color, 1.4, head="-", zorder=1)
        arrow(axes, (middle, y), (end - 0.22, y * 0.12), color, 1.4, zorder=1)
        axes.text(middle, y - 0.34, gradient, ha="center", va="top", fontsize=9 if small else 10, color=color, zorder=3,
                  bbox={"boxstyle": "round,pad=0.1", "facecolor": paper(), "edgecolor": "none"})
