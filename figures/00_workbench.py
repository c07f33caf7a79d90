"""Figures of chapter 0."""

from __future__ import annotations

import numpy as np
from style import Data, Figure, figure, ink, muted


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
