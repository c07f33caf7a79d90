"""Figures of chapter 10."""

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.ticker import MaxNLocator
from style import Axes, Data, Figure, figure, glossed, heat, narrow, panels, scale


def grid_of(fig: Figure, shape: tuple[int, int]) -> np.ndarray:
    return np.atleast_2d(fig.subplots(*shape))


def head(axes: Axes, weights: np.ndarray, rows: list[str], columns: list[str], name: str) -> ScalarMappable:
    drawn = heat(axes, weights, rows=rows, columns=columns, low=0, high=1, top=True)
    axes.set_xlabel(name)
    axes.tick_params(labelsize=7.5)
    return drawn


def scale_of_heads(fig: Figure, grid: np.ndarray, drawn: ScalarMappable) -> None:
    where = "bottom" if narrow() else "right"
    scale(fig, drawn, grid.ravel().tolist(), "weight", shrink=0.6, location=where, aspect=30)


def heads(data: Data, fig: Figure, run: str, shape: tuple[int, int]) -> None:
    """One panel per head, all with the same range of colors."""
    weights = data.array("unseen_heads", run=run)  # [H, t, Ls]
    said, source = (data.value(f"unseen_{name}", run=run).split() for name in ("said", "source"))
    grid = grid_of(fig, shape)
    for h, axes in enumerate(grid.flat):
        drawn = head(axes, weights[h], said if h % shape[1] == 0 else [""] * len(said), glossed(source, staggered=True), f"head {h}")
    scale_of_heads(fig, grid, drawn)


@figure("heads_toy", width=7.5, height=4.2, narrow=(3.7, 7.8))
def heads_toy(data: Data, fig: Figure) -> None:
    heads(data, fig, "main", (4, 2) if narrow() else (2, 4))


@figure("heads_grammar", width=7.5, height=2.7, narrow=(3.7, 4.4))
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


# What each part of the trained model does: the run `inside` ------------------------------------------


def words_of(data: Data, name: str) -> list[str]:
    return data.value(name, run="inside").split()


def alike_together(cosines: np.ndarray, chosen: list[int]) -> list[int]:
    """The words, ordered so that each follows the one that it is most like."""
    order, left = [chosen[0]], set(chosen[1:])
    while left:
        order.append(max(left, key=lambda word: cosines[order[-1], word]))
        left.remove(order[-1])
    return order


def scale_of(fig: Figure, axes: Axes, drawn: ScalarMappable, label: str) -> None:
    """The scale of a heat map's colors: beside it, or below it on a phone, which is too narrow."""
    where = {"location": "bottom", "aspect": 30, "ticks": MaxNLocator(4, steps=[1, 2, 5, 10])} if narrow() else {"fraction": 0.05}
    scale(fig, drawn, axes, label, pad=0.02, **where)


@figure("inside_words", width=6.6, height=5.6, narrow=(3.7, 4.5))
def inside_words(data: Data, fig: Figure) -> None:
    cosines, words = data.array("word_cosines", run="inside"), words_of(data, "words")
    order = alike_together(cosines, list(range(3, len(words))))  # 0 to 2 are symbols
    named = [words[i] for i in order]
    axes = fig.subplots()
    shown = cosines[np.ix_(order, order)]
    drawn = heat(axes, shown, rows=named, columns=named, signed=True, low=-1, high=1, top=True)
    scale_of(fig, axes, drawn, "cosine")
    axes.tick_params(labelsize=6.2 if narrow() else 7.5)
    axes.tick_params(axis="x", labelrotation=90)


@figure("inside_starts", width=7.5, height=4.4, narrow=(3.7, 7.6))
def inside_starts(data: Data, fig: Figure) -> None:
    words = words_of(data, "source")
    grid = grid_of(fig, (4, 2) if narrow() else (2, 4))
    places = grid.T if narrow() else grid
    for row, name, start in zip(places, ("start_wide", "start_narrow"), ("too long", "right"), strict=True):
        for h, axes in enumerate(row):
            rows = glossed(words, " ") if h == 0 or narrow() else [""] * len(words)
            columns = glossed(words, staggered=True)
            drawn = head(axes, data.array(name, run="inside")[0][h], rows, columns, f"{start}, map {h}")
    scale_of_heads(fig, grid, drawn)


@figure("inside_order", width=7.4, height=3.4, narrow=(3.7, 6.6))
def inside_order(data: Data, fig: Figure) -> None:
    for axes, name in zip(panels(fig, 2), ("one", "other"), strict=True):
        weights = data.array(f"{name}_cross", run="inside").mean(axis=0)  # over heads
        source = glossed(words_of(data, f"{name}_source"), staggered=True)
        heat(axes, weights, rows=words_of(data, f"{name}_says"), columns=source, numbers="{:.2f}", low=0, high=1, top=True)
        axes.tick_params(labelsize=7.5)


@figure("inside_self", width=4.6, height=3.6, narrow=(3.6, 3.2))
def inside_self(data: Data, fig: Figure) -> None:
    weights = data.array("self", run="inside")[0].mean(axis=0)  # over heads
    reads = ["S", *words_of(data, "says")[:-1]]
    axes = fig.subplots()
    heat(axes, weights, rows=reads, columns=reads, numbers="{:.2f}", low=0, high=1, top=True)
    if narrow():
        axes.tick_params(axis="x", labelsize=7)
    axes.set_ylabel("the word that looks")
    axes.set_xlabel("at this word")


@figure("inside_cross", width=5.2, height=3.6, narrow=(3.7, 3.4))
def inside_cross(data: Data, fig: Figure) -> None:
    weights = data.array("cross", run="inside")[0].mean(axis=0)
    axes = fig.subplots()
    source = glossed(words_of(data, "source"))
    heat(axes, weights, rows=words_of(data, "says"), columns=source, numbers="{:.2f}", low=0, high=1, top=True)
    axes.set_xlabel("word of the source")
    axes.set_ylabel("word said")


@figure("inside_heads", width=7.5, height=2.7, narrow=(3.7, 4.2))
def inside_heads(data: Data, fig: Figure) -> None:
    weights, words = data.array("heads", run="inside")[0], words_of(data, "source")
    shape = (2, 2) if narrow() else (1, len(weights))
    grid = np.atleast_2d(fig.subplots(*shape))
    for head, axes in enumerate(grid.flat):
        rows = glossed(words, " ") if head % shape[1] == 0 else [""] * len(words)
        heat(axes, weights[head], rows=rows, columns=glossed(words, staggered=True), low=0, high=1, top=True)
        axes.tick_params(labelsize=7.5)
        axes.set_xlabel(f"head {head}")


@figure("inside_units", width=7.2, height=3.4, narrow=(3.7, 2.3))
def inside_units(data: Data, fig: Figure) -> None:
    means, words = data.array("units", run="inside"), words_of(data, "source_words")  # [words, units]
    seen = [i for i in range(len(words)) if means[i].any()]
    best = np.sort(means[seen], axis=0)
    margin = best[-1] - best[-4]  # of the three words that excite it most over all others
    units = np.argsort(-margin)[: 8 if narrow() else 14]
    units = sorted(units, key=lambda unit: int(means[seen, unit].argmax()))
    axes = fig.subplots()
    shown, of = means[np.ix_(seen, units)].T, [words[i] for i in seen]
    drawn = heat(
        axes, shown, rows=[str(unit) for unit in units], columns=glossed(of, " " if narrow() else "\n", staggered=not narrow()), low=0,
        top=True,
    )
    scale_of(fig, axes, drawn, "mean of the unit")
    axes.set_ylabel("hidden unit")
    if narrow():
        axes.set_aspect("auto")
        axes.tick_params(labelsize=6.5)
        axes.tick_params(axis="x", labelrotation=90)


@figure("inside_uses", width=5.2, height=2.9, narrow=(3.6, 2.9))
def inside_uses(data: Data, fig: Figure) -> None:
    uses = data.array("uses", run="inside")  # [layers + 1, 3]
    axes = fig.subplots()
    kinds = ("old and old", "teacher and teacher", "old and teacher")
    for column, (label, marker, line) in enumerate(zip(kinds, "os^", ("--", ":", "-"), strict=True)):
        axes.plot(range(len(uses)), uses[:, column], marker=marker, linestyle=line, label=label)
    axes.set_xticks(range(len(uses)))
    axes.set_xlabel("after layer (0: word and position)")
    axes.set_ylabel("cosine of two 老 (old)")
    axes.grid()
    axes.legend(loc="lower left")


@figure("inside_lens", width=6.0, height=2.0, narrow=(3.7, 1.7))
def inside_lens(data: Data, fig: Figure) -> None:
    lens = data.array("lens", run="inside")  # [layers + 1, words]
    axes = fig.subplots()
    heat(
        axes, lens, rows=[f"after layer {i}" if i else "before" for i in range(len(lens))],
        columns=words_of(data, "says"), numbers="{:.2f}", low=0, high=1, top=True,
    )
    if narrow():
        axes.tick_params(axis="x", labelsize=7)
