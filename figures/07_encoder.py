"""Figures of chapter 7."""

import sublayers
from style import Data, Figure, figure, panels
from sublayers import Sublayer


@figure("layer", width=7.4, height=1.7, narrow=(3.0, 4.0))
def layer(data: Data, fig: Figure) -> None:
    attention, ff = (f"{data.value(key):,.0f}" for key in ("toy_attention", "toy_ff"))
    sublayers.draw(fig, [
        Sublayer(f"self-attention\n{attention}", "C0"), Sublayer(f"feed-forward\n{ff}", "C1")
    ])


@figure("rows", width=7.4, height=2.9, narrow=(3.7, 7.0))
def rows(data: Data, fig: Figure) -> None:
    names = ("mean norm of a row", "cosine to the input", "cosine between two words")
    grid = panels(fig, 3)
    for column, (axes, name) in enumerate(zip(grid, names, strict=True)):
        for run, label, marker, line in (("main", "post", "o", "-"), ("pre", "pre", "s", "--")):
            table = data.array("layers", run=run)  # [layers + 1, 3]
            axes.plot(range(len(table)), table[:, column], marker=marker, linestyle=line, label=label)
        axes.set_xlabel("after layer (0: input)")
        axes.set_ylabel(name)
        axes.set_ylim(0, None if column == 0 else 1.02)
        axes.grid()
    grid[0].legend(loc="lower left")


@figure("gradient", width=6.0, height=2.8, narrow=(3.7, 2.8))
def gradient(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    highest = 0.0
    for run, label, marker, line in (("main", "post", "o", "-"), ("pre", "pre", "s", "--")):
        norms = data.array("dx_norms", run=run)  # from the output down to the input
        highest = max(highest, float(norms.max()))
        axes.plot(
            range(len(norms) - 1, -1, -1), norms, marker=marker, linestyle=line, label=label
        )
    axes.set_xlabel("above layer (0: input, rightmost: output)")
    axes.set_ylabel("norm of the gradient")
    axes.set_ylim(0, 1.1 * highest)
    axes.grid()
    axes.legend(loc="lower right")
