"""Figures of chapter 10."""

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from style import Axes, Data, Figure, arrow, blackboard, figure, glossed, heat, ink, muted, narrow, panels, scale


# On the blackboard -----------------------------------------------------------------------------------

WORDS = ["S", "I", "have", "a", "good", "friend", ".", "E"]


def write(axes: Axes, x: float, y: float, text: str, size: float, ha: str = "center", color: str | None = None, va: str = "center") -> None:
    axes.text(x, y, text, ha=ha, va=va, fontsize=size, color=color or ink(), linespacing=1.1, zorder=4)


def box(axes: Axes, x: float, y: float, wide: float, high: float, text: str = "", *, color: str | None = None,
        fill: float = 0.0, size: float = 9.5, ink_of: str | None = None) -> None:
    """A box around (x, y), filled with this share of its color, and a text in it."""
    corner = (x - wide / 2, y - high / 2)
    axes.add_patch(Rectangle(corner, wide, high, facecolor=color or muted(), alpha=fill, edgecolor="none", zorder=2))
    axes.add_patch(Rectangle(corner, wide, high, facecolor="none", edgecolor=color or muted(), linewidth=1, zorder=3))
    write(axes, x, y - 0.01, text, size, "center", ink_of)


@figure("loop", width=7.6, height=4.1, narrow=(3.7, 3.95))
def loop(data: Data, fig: Figure) -> None:
    """Seven passes: each word that is said drops into what the next pass reads."""
    small = narrow()
    axes = blackboard(fig)
    top = axes.get_ylim()[1]
    left, pitch, wide, high, step, size = (0.55, 0.415, 0.36, 0.26, 0.43, 7.6) if small else (1.0, 0.86, 0.66, 0.29, 0.46, 10)
    line, source = 0.2 if small else 0.36, glossed(data.value("first_source").split()[:7])
    source_pitch = pitch if small else 0.62
    for j, word in enumerate(source):
        write(axes, left + j * source_pitch, top - 0.2, word, size)
    end = left + 6 * source_pitch + wide / 2
    y = top - 0.58
    box(axes, (left - wide / 2 + end) / 2, y, end - left + wide / 2, 0.26, "the encoder reads it, once", fill=0.12, size=size)
    rows = [top - 1.13 - step * t for t in range(7)]
    axes.plot([left - wide / 2, line, line, line], [y, y, y, rows[-1]], color=muted(), linewidth=1)
    for t, y in enumerate(rows):
        arrow(axes, (line, y), (left - wide / 2 - 0.02, y), muted())
        for j in range(t + 1):
            new = j == t and t > 0
            box(axes, left + j * pitch, y, wide, high, WORDS[j], color="C1" if new else None, size=size)
        x = left + (t + 1) * pitch
        arrow(axes, (x - pitch + wide / 2, y), (x - wide / 2, y), ink(), 1.2)
        box(axes, x, y, wide, high, WORDS[t + 1], color="C1", fill=0.3, size=size)
        if t < 6:
            arrow(axes, (x, y - high / 2), (x, rows[t + 1] + high / 2), "C1", 1.8)
    write(axes, left + 2.55 * pitch, rows[0], "the decoder says\nthe likeliest next word,", size, "left")
    write(axes, left + 3.55 * pitch, rows[1], "and in the next pass\nit reads that word, too", size, "left", "C1")
    write(axes, left + 7 * pitch, rows[6] + high / 2 + 0.12, "stop", size)


def branch(axes: Axes, start: tuple[float, float], end: tuple[float, float], p: float, color: str) -> None:
    axes.plot(*zip(start, end, strict=True), color=color, linewidth=9 * p, alpha=0.6, solid_capstyle="butt")


@figure("tree", width=6.4, height=2.3, narrow=(3.7, 2.5))
def tree(data: Data, fig: Figure) -> None:
    """Two words, five sentences: greedy decoding takes the thicker branch first."""
    small = narrow()
    axes = blackboard(fig)
    top = axes.get_ylim()[1]
    at = (0.25, 1.15, 2.4, 3.05) if small else (0.5, 2.2, 4.2, 5.1)
    start, size, half = (at[0], top / 2), 8.5 if small else 10, 0.5 if small else 0.6
    branches = (("many", 0.6, 0.75, "C1", (("thanks", 0.4, "C1"), ("kind", 0.3, None), ("happy", 0.3, None))),
                ("thank", 0.4, 0.22, "C2", (("you", 0.9, "C2"), ("goodness", 0.1, None))))
    box(axes, *start, 0.3, 0.28, "S", size=size)
    leaf = top - 0.42
    write(axes, at[3], top - 0.12, "together", size - 1, "left", muted())
    for first, p, height, color, after in branches:
        x, y = at[1], top * height
        branch(axes, (start[0] + 0.15, start[1]), (x - 0.3, y), p, color)
        beside = (1 if height > 0.5 else -1) * (0.26 if small else 0.16)
        write(axes, (start[0] + x - 0.15) / 2, (start[1] + y) / 2 + beside, f"{p}", size)
        box(axes, x, y, 0.6, 0.28, first, color=color, size=size)
        for word, q, tint in after:
            branch(axes, (x + 0.3, y), (at[2] - half, leaf), q, tint or muted())
            box(axes, at[2], leaf, 2 * half, 0.28, f"{word} {q}", color=tint, size=size)
            write(axes, at[3], leaf, f"{p * q:.2f}", size + (2 if tint else 0), "left", tint or muted())
            leaf -= 0.4
        leaf -= 0.08


@figure("company", width=7.6, height=1.5, narrow=(3.7, 2.95))
def company(data: Data, fig: Figure) -> None:
    """Which counts training shows with which nouns: three pairs, and the grammar."""
    small = narrow()
    axes = blackboard(fig)
    top = axes.get_ylim()[1]
    counts = {"一": "一 个\none", "零": "零 个\nzero", "两": "两 个\ntwo"}
    nouns = {"好": "好朋友\ngood\nfriend", "女": "女朋友\ngirl\nfriend", "男": "男朋友\nboy\nfriend", "朋": "朋友\nfriend",
             "老": "老师\nteacher", "学": "学生\nstudent", "孩": "孩子\nchild"}
    three = ("three pairs", "一零", "好女男", {"一好", "零女", "一男"}, 0.62, top - 0.66)
    seen = {a + b for a in "一两" for b in "女男朋老学孩"} - {"一女", "两孩"}
    grammar = ("the grammar", "一两", "女男朋老学孩", seen, 0.62 if small else 3.55, 0.84 if small else top - 0.66)
    wide, high, size = 0.5 if small else 0.66, 0.36, 6.6 if small else 8.2
    for name, rows, columns, shown, x0, y0 in (three, grammar):
        write(axes, x0 - 0.56, y0 + 0.52, name, size + 1, "left", muted())
        for j, noun in enumerate(columns):
            write(axes, x0 + wide * (j + 0.5), y0 + 0.04, nouns[noun], size, va="bottom")
        for i, count in enumerate(rows):
            y = y0 - high * (i + 0.5)
            write(axes, x0 - 0.06, y, counts[count], size, "right")
            for j, noun in enumerate(columns):
                asked, here = count + noun == "一女", count + noun in shown
                box(axes, x0 + wide * (j + 0.5), y, wide - 0.05, high - 0.05, "?" if asked else "", size=12, ink_of="C1",
                    color="C1" if asked else "C2" if here else None, fill=0.35 if here else 0)


@figure("looks", width=7.4, height=3.4, narrow=(3.7, 6.3))
def looks(data: Data, fig: Figure) -> None:
    """Where both models look as they translate the same sentence: the mean over the heads."""
    for axes, run, name in zip(panels(fig, 2), ("main", "grammar"), ("three pairs", "2,247 pairs"), strict=True):
        said, source = (data.value(f"unseen_{part}", run=run).split() for part in ("said", "source"))
        weights = data.array("unseen_cross", run=run)
        heat(axes, weights, rows=said, columns=glossed(source, staggered=True), numbers="{:.2f}", low=0, high=1, top=True)
        axes.tick_params(labelsize=7.5)
        axes.set_xlabel(f"trained on {name}")


@figure("kept", width=7.6, height=3.0, narrow=(3.7, 5.75))
def kept(data: Data, fig: Figure) -> None:
    """Which rows seven passes send through the decoder, without the cache and with it."""
    small = narrow()
    axes = blackboard(fig)
    top = axes.get_ylim()[1]
    wide, high, size = (0.41, 0.29, 7.6) if small else (0.45, 0.29, 8.2)
    places = ((0.62, top - 0.5), (0.62, top - 3.27)) if small else ((0.62, top - 0.5), (4.4, top - 0.5))
    titles = ("no cache: 28 rows", "with a cache: 7 rows")
    for cached, ((x0, y0), title) in enumerate(zip(places, titles, strict=True)):
        write(axes, x0, y0 + 0.36, title, size + 2, "left")
        write(axes, x0 - 0.06, y0 + 0.1, "pass", size, "right", muted())
        for t in range(7):
            x, y = x0 + wide * (t + 0.5), y0 - high * (t + 0.5)
            write(axes, x, y0 + 0.1, WORDS[t], size)
            write(axes, x0 - 0.06, y, f"{t + 1}", size, "right", muted())
            for j in range(t):
                chip = {"text": "k v", "color": "C2", "size": size - 1, "ink_of": "C2"} if cached else {"fill": 0.45}
                box(axes, x0 + wide * (j + 0.5), y, wide - (0.12 if cached else 0.05), high - (0.1 if cached else 0.05), **chip)
            box(axes, x, y, wide - 0.05, high - 0.05, color="C1", fill=0.8)
    for k, (text, color, fill) in enumerate((("computed", "C1", 0.8), ("computed again", None, 0.45), ("kept", "C2", 0.0))):
        x = 0.72 + (0.0, 0.95, 2.25)[k] * (1 if small else 1.3)
        box(axes, x, 0.14, 0.2, 0.16, color=color, fill=fill)
        write(axes, x + 0.16, 0.13, text, size, "left")


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
    grid = fig.subplots(*((4, 2) if narrow() else (2, 4)))
    places = grid.T if narrow() else grid
    for row, name, start in zip(places, ("start_wide", "start_narrow"), ("too long", "right"), strict=True):
        for h, axes in enumerate(row):
            rows = glossed(words, " ") if h == 0 or narrow() else [""] * len(words)
            columns = glossed(words, staggered=True)
            drawn = heat(axes, data.array(name, run="inside")[0][h], rows=rows, columns=columns, low=0, high=1, top=True)
            axes.set_xlabel(f"{start}, map {h}")
            axes.tick_params(labelsize=7.5)
    where = "bottom" if narrow() else "right"
    scale(fig, drawn, grid.ravel().tolist(), "weight", shrink=0.6, location=where, aspect=30)


@figure("inside_order", width=7.4, height=3.4, narrow=(3.7, 6.6))
def inside_order(data: Data, fig: Figure) -> None:
    for axes, name in zip(panels(fig, 2), ("one", "other"), strict=True):
        weights = data.array(f"{name}_cross", run="inside").mean(axis=0)  # over heads
        source = glossed(words_of(data, f"{name}_source"), staggered=True)
        heat(axes, weights, rows=words_of(data, f"{name}_says"), columns=source, numbers="{:.2f}", low=0, high=1, top=True)
        axes.tick_params(labelsize=7.5)


@figure("inside_cross", width=5.2, height=3.6, narrow=(3.7, 3.4))
def inside_cross(data: Data, fig: Figure) -> None:
    weights = data.array("cross", run="inside")[0].mean(axis=0)
    axes = fig.subplots()
    source = glossed(words_of(data, "source"))
    heat(axes, weights, rows=words_of(data, "says"), columns=source, numbers="{:.2f}", low=0, high=1, top=True)
    axes.set_xlabel("word of the source")
    axes.set_ylabel("word said")


@figure("inside_heads", width=7.5, height=2.6, narrow=(3.7, 4.8))
def inside_heads(data: Data, fig: Figure) -> None:
    weights, words = data.array("heads", run="inside")[0], words_of(data, "source")
    shape = (2, 2) if narrow() else (1, len(weights))
    grid = np.atleast_2d(fig.subplots(*shape))
    for head, axes in enumerate(grid.flat):
        rows = glossed(words, " ") if head % shape[1] == 0 else [""] * len(words)
        heat(axes, weights[head], rows=rows, columns=words, low=0, high=1, top=True)
        axes.tick_params(labelsize=7.5)
        axes.set_xlabel(f"head {head}")
        for place, label in enumerate(glossed(words, " ")):  # columns are too narrow for a gloss that lies
            axes.text(place, len(words) - 0.3, label.partition(" ")[2], rotation=90, ha="center", va="top", fontsize=7, color=ink())


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
    for row in [row for row, unit in enumerate(units) if of[int(means[seen, unit].argmax())] == "女"][:1]:
        axes.add_patch(Rectangle((-0.5, row - 0.5), len(of), 1, fill=False, edgecolor=ink(), linewidth=1.6, clip_on=False, zorder=5))
    if narrow():
        axes.set_aspect("auto")
        axes.tick_params(labelsize=6.5)
        axes.tick_params(axis="x", labelrotation=90)


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
