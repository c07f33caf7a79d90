"""Figures of chapter 11."""

import numpy as np
from style import Data, Figure, figure, ink, muted, narrow


@figure("roofline", width=7.2, height=3.4, narrow=(3.7, 4.0))
def roofline(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    names = data.value("intensity_names").split("|")
    intensity = data.array("intensity")
    rows = np.arange(len(names))
    balance = data.value("balance")
    bounded_by_memory = intensity < balance
    for memory, color, hatch, label in (
        (True, "C0", "", "bound by memory"), (False, "C1", "///", "bound by arithmetic"),
    ):
        chosen = bounded_by_memory == memory
        axes.barh(rows[chosen], intensity[chosen], 0.7, color=color, hatch=hatch, label=label)
    axes.axvline(balance, color=ink(), linewidth=1, linestyle="--")
    for row, value in zip(rows, intensity, strict=True):
        axes.annotate(
            f"{value:.3g}", (value, row), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize=8, color=muted(),
        )
    axes.set_xscale("log")
    axes.set_xlim(0.05, 1000)
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("operations per byte")
    axes.grid(axis="x")
    if narrow():  # beside the bars, there is no room for it
        fig.legend(loc="outside lower center", ncols=2)
    else:
        axes.legend(loc="upper right")
