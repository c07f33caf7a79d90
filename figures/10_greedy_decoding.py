"""Figures of chapter 10."""

import numpy as np
from style import Data, Figure, figure, heat, narrow, panels


@figure("alignment", width=7.4, height=3.7, narrow=(3.7, 7.2))
def alignment(data: Data, fig: Figure) -> None:
    both = panels(fig, 2)
    for axes, run, label in zip(both, ("main", "grammar"), ("toy", "grammar"), strict=True):
        weights = data.array("unseen_cross", run=run)
        heat(
            axes,
            weights,
            rows=data.value("unseen_said", run=run).split(),
            columns=data.value("unseen_source", run=run).split(),
            numbers="{:.2f}",
            low=0,
            high=1,
            top=True,
        )
        axes.set_xlabel(f"trained on the {label}")
        if narrow():
            axes.set_ylabel("word said")
    both[0].set_ylabel("word said")


def heads(data: Data, fig: Figure, run: str, shape: tuple[int, int]) -> None:
    """A panel for each head, all with the same colours."""
    weights = data.array("unseen_heads", run=run)  # [H, t, Ls]
    said = data.value("unseen_said", run=run).split()
    source = data.value("unseen_source", run=run).split()
    grid = np.atleast_2d(fig.subplots(*shape))
    for h, axes in enumerate(grid.flat):
        drawn = heat(
            axes,
            weights[h],
            rows=said if h % shape[1] == 0 else [""] * len(said),
            columns=source,
            low=0,
            high=1,
            top=True,
        )
        axes.set_xlabel(f"head {h}")
        axes.tick_params(labelsize=7.5)
    bar = fig.colorbar(
        drawn, ax=grid.ravel().tolist(), label="weight", shrink=0.6,
        location="bottom" if narrow() else "right", aspect=30,
    )
    bar.outline.set_visible(False)


@figure("heads_toy", width=7.5, height=4.2, narrow=(3.7, 7.8))
def heads_toy(data: Data, fig: Figure) -> None:
    heads(data, fig, "main", (4, 2) if narrow() else (2, 4))


@figure("heads_grammar", width=7.5, height=2.5, narrow=(3.7, 4.4))
def heads_grammar(data: Data, fig: Figure) -> None:
    heads(data, fig, "grammar", (2, 2) if narrow() else (1, 4))


@figure("cost", width=7.2, height=3.2, narrow=(3.7, 5.8))
def cost(data: Data, fig: Figure) -> None:
    words = data.array("words", run="cost")
    counted, timed = panels(fig, 2)
    for axes, name, label in (
        (counted, "multiply_adds", "multiply-adds in the decoder"),
        (timed, "milliseconds", "time / ms"),
    ):
        plain, cached = data.array(name, run="cost")
        axes.loglog(words, plain, marker="o", label="without cache")
        axes.loglog(words, cached, marker="s", linestyle="--", label="with cache")
        axes.set_xticks(words, [str(n) for n in words])
        axes.minorticks_off()
        axes.set_xlabel("words of the translation")
        axes.set_ylabel(label)
        axes.grid()
    counted.legend()
