"""Figures of chapter 2."""

import numpy as np
from style import Data, Figure, figure, heat, muted

STYLES = (("C0", "-"), ("C1", "--"), ("C2", "-."), ("C3", ":"))


@figure("columns", width=7.4, height=2.9)
def columns(data: Data, fig: Figure) -> None:
    """Columns 4 to 7 of a code of width 20."""
    code = data.array("columns_of_20")  # [100, 20]
    axes = fig.subplots()
    for column, (colour, line) in zip(range(4, 8), STYLES, strict=True):
        axes.plot(code[:, column], color=colour, linestyle=line, label=f"dim {column}")
    axes.set_xlabel("position")
    axes.set_ylabel("entry of the code")
    axes.set_xlim(0, len(code) - 1)
    axes.grid()
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.14))


@figure("toy-heat-map", width=4.8, height=4.8)
def toy_heat_map(data: Data, fig: Figure) -> None:
    """The toy's table of 100 positions and 16 columns."""
    axes = fig.subplots()
    heat(axes, data.array("toy_of_16"), signed=True, low=-1, high=1, bar="entry")
    axes.set_xlabel("hidden dimension")
    axes.set_ylabel("sequence length")


@figure("toy-columns", width=6.4, height=3.2)
def toy_columns(data: Data, fig: Figure) -> None:
    """Columns 1 to 3 of the toy's table, from position 1 on."""
    toy = data.array("toy_of_16")
    axes = fig.subplots()
    for column, (colour, line) in zip(range(1, 4), STYLES, strict=False):
        axes.plot(range(1, len(toy)), toy[1:, column], color=colour, linestyle=line,
                  label=f"dimension {column}")
    axes.set_xlabel("sequence length (position)")
    axes.set_ylabel("period of positional encoding (entry)")
    axes.set_xlim(1, len(toy) - 1)
    axes.grid()
    axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.14))


@figure("two-formulas", width=6.8, height=3.8)
def two_formulas(data: Data, fig: Figure) -> None:
    """The paper's table beside the toy's, on one range of colours."""
    left, right = fig.subplots(1, 2, sharey=True)
    heat(left, data.array("code_of_16"), signed=True, low=-1, high=1)
    heat(right, data.array("toy_of_16"), signed=True, low=-1, high=1, bar="entry")
    left.set_title("pairs share a frequency: $2\\lfloor c/2 \\rfloor / d$")
    right.set_title("every column its own: $2c / d$")
    left.set_ylabel("position")
    for axes in (left, right):
        axes.set_xlabel("column $c$")


@figure("wavelengths", width=6.4, height=3.3)
def wavelengths(data: Data, fig: Figure) -> None:
    """How many positions a wave has, by column, for both formulas."""
    paper, toy = data.array("wavelengths")  # [2, d_model]
    axes = fig.subplots()
    axes.semilogy(paper, color="C0", label="pairs share a frequency")
    axes.semilogy(toy, color="C1", linestyle="--", label="the toy's formula")
    axes.axhline(100, color=muted(), linewidth=0.9)
    axes.annotate("100 positions", (len(paper) - 1, 115), ha="right", va="bottom", fontsize=8.5)
    axes.set_xlabel("column")
    axes.set_ylabel("wavelength in positions")
    axes.set_xlim(0, len(paper) - 1)
    axes.grid()
    axes.legend(loc="upper left")


@figure("dots", width=6.4, height=3.4)
def dots(data: Data, fig: Figure) -> None:
    """Dot products of two codes against their distance, with the spread over positions."""
    axes = fig.subplots()
    for name, colour, line, label in (
        ("dots", "C0", "-", "pairs share a frequency"),
        ("toy_dots", "C1", "--", "the toy's formula: lowest to highest"),
    ):
        low, high = data.array(name)  # [2, 100], by distance
        distance = np.arange(len(low))
        axes.fill_between(np.concatenate([-distance[::-1], distance]),
                          np.concatenate([low[::-1], low]), np.concatenate([high[::-1], high]),
                          color=colour, alpha=0.25, linewidth=0)
        for edge, text in ((low, None), (high, label)):
            axes.plot(np.concatenate([-distance[::-1], distance]),
                      np.concatenate([edge[::-1], edge]), color=colour, linestyle=line,
                      linewidth=1.2, label=text)
    axes.set_xlabel("distance $q - p$")
    axes.set_ylabel("$\\langle PE_p, PE_q \\rangle$")
    axes.set_ylim(0, None)
    axes.grid()
    axes.legend(loc="lower center")
