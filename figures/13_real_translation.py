"""Figures of chapter 13."""

import numpy as np
from blackboard import box, merge_tree
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, panels, paper


def sizes_on(axes: Axes, sizes: list[int]) -> None:
    """A logarithmic axis with a mark at each size."""
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid()


@figure("vocabulary", width=7.6, height=3.3, narrow=(3.7, 6.0))
def vocabulary(data: Data, fig: Figure) -> None:
    found = data.values(run="text")
    for axes, language, color, mark, sizes, words, label in zip(
        panels(fig, 2), ("English", "Chinese"), ("C0", "C2"), "os",
        ([500, 1000, 2000, 4000, 8000], [4000, 8000, 16000]), ("english_words", "chinese_spaces"),
        ("words and marks", "between spaces"), strict=True,
    ):
        x, y = ([found[f"{name}_{language}_{size}"] for size in sizes] for name in ("pieces", "length"))
        characters = f"{language.lower()}_characters"
        for units, line, name in ((characters, "-.", "characters"), (words, ":", label)):
            mean = found[f"{units}_units"] / found["pairs_test"]
            axes.axhline(mean, color=muted(), linestyle=line, label=f"{name}, {mean:.1f}")
        axes.plot(x, y, f"{mark}-", color=color, label="pieces")
        axes.set_xlabel(f"pieces in the {language} vocabulary")
        axes.set_ylabel("units of a test sentence, mean")
        sizes_on(axes, sizes)
        axes.set_ylim(0, 1.3 * found[f"{characters}_units"] / found["pairs_test"])
        axes.legend(loc="upper right", ncols=2)


@figure("bootstrap", width=6.4, height=2.8, narrow=(3.7, 3.0))
def bootstrap(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    sentences = data.value("interval_sentences", run="score")
    for name, label, bins, y in (("samples_200", "200", 40, 128), ("samples_all", f"{sentences:,.0f}", 20, 138)):
        samples = data.array(name, run="score")
        low, high = np.percentile(samples, (2.5, 97.5))
        drawn = axes.hist(samples, bins=bins, histtype="stepfilled", alpha=0.6,
                          label=f"{label} sentences; the middle 95 %: {low:.1f} to {high:.1f}")[2]
        axes.plot((low, high), (y, y), "|-", color=drawn[0].get_facecolor()[:3], markersize=9, markeredgewidth=1.6)
    axes.set_xlabel("BLEU of a sample")
    axes.set_ylabel("samples of 1,000")
    fig.legend(loc="outside upper center")


@figure("matches", width=6.4, height=2.2, narrow=(3.7, 2.2))
def matches(data: Data, fig: Figure) -> None:
    """All runs of one to four words of the second hypothesis, and whether the reference has them."""
    axes, small = blackboard(fig), narrow()
    lines = data.printed("By hand", run="score")
    reference, words = lines[0].split()[1:], lines[3].split()[6:]
    shares = lines[3].split()[:4]
    left = 0.42 if small else 0.95
    cell = 2.8 / len(words) if small else 0.56
    size = 6.5 if small else 9
    for i, word in enumerate(words):
        box(axes, left + cell * (i + 0.5), 1.83, cell - 0.05, 0.28, word, "C6", size)
    gap = next(i for i, (said, wanted) in enumerate(zip(words, reference, strict=False)) if said != wanted)
    x, y = left + cell * gap, 1.55
    axes.plot((x, x), (0.08, 2.0), color=muted(), linewidth=1, linestyle=(0, (1, 2)))
    axes.text(x, 2.09, reference[gap], ha="center", va="center", fontsize=9, color=ink(), style="italic")
    for n, share in zip((1, 2, 3, 4), shares, strict=True):
        middle = y - 0.055 * (n - 1)
        axes.text(left - 0.1, middle, f"{n}" if small else f"{n} word{'s' * (n > 1)}", ha="right", va="center",
                  fontsize=9, color=ink())
        axes.text(left + cell * len(words) + 0.1, middle, share, ha="left", va="center", fontsize=9, color=ink())
        said = [words[i : i + n] for i in range(len(words) - n + 1)]
        wanted = [reference[i : i + n] for i in range(len(reference) - n + 1)]
        assert share == f"{sum(run in wanted for run in said)}/{len(said)}"
        for i, run in enumerate(said):
            there = run in wanted
            at = y - 0.11 * (i % n)
            axes.plot((left + cell * i + 0.06, left + cell * (i + n) - 0.06), (at, at), color="C2" if there else "C1",
                      linewidth=3.5, linestyle="-" if there else (0, (1.2, 0.6)), solid_capstyle="butt")
        y -= 0.11 * n + 0.14


@figure("curves", width=7.6, height=3.3, narrow=(3.7, 6.0))
def curves(data: Data, fig: Figure) -> None:
    left, right = panels(fig, 2)
    bleu = data.array("curve_bleu")
    epochs = np.arange(1, len(bleu) + 1)
    left.plot(epochs, data.array("curve_loss"), "-", color="C0", label="training")
    left.plot(epochs, data.array("curve_dev_loss"), "--", color="C1", label="development")
    known = data.value("frequency_loss")
    left.axhline(known, color=muted(), linestyle=":", label="frequencies alone")
    left.set_ylabel("loss per word")
    left.legend()
    right.plot(epochs, bleu, "-", color="C2")
    best = int(data.value("best_epoch"))
    right.plot([best], [bleu[best - 1]], "o", markersize=10, markerfacecolor="none", color="C3")
    right.set_ylabel("BLEU, development")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.grid()
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if narrow():
        left.set_xlabel("")


@figure("beams", width=5.6, height=3.1, narrow=(3.7, 3.0))
def beams(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    found, widths = data.values(), [1, 2, 4, 8]
    by_sums = [found[f"beam_{width}_sums_bleu"] for width in widths]
    by_means = [found[f"beam_{width}_bleu"] for width in widths]
    axes.plot(widths, by_means, "o-", color="C0", label="by means")
    axes.plot(widths, by_sums, "s--", color="C1", label="by sums")
    sizes_on(axes, widths)
    axes.set_ylim(0.9 * min(by_sums + by_means), 1.03 * max(by_sums + by_means))
    axes.set_xlabel("width of the beam")
    axes.set_ylabel("BLEU, development")
    axes.legend(loc="lower right")


# On the blackboard -----------------------------------------------------------------------------------


def joins_of(
    text: str, merges: list[tuple[str, str]], heights: list[float]
) -> tuple[list[tuple[float, int, int, int]], list[str]]:
    """The pieces that the merges make of a text, as `merge_tree` takes them, and those that are left."""
    pieces, joins = list(text), []
    for (a, b), y in zip(merges, heights, strict=True):
        for i in range(len(pieces) - 1):
            if pieces[i : i + 2] == [a, b]:
                begin = sum(map(len, pieces[:i]))
                joins.append((y, begin, begin + len(a), begin + len(a + b)))
                pieces[i : i + 2] = [a + b]
                break
    return joins, pieces


@figure("merges", width=7.6, height=3.25, narrow=(3.7, 3.25))
def merges(data: Data, fig: Figure) -> None:
    """A word of the text and a new one above their letters: the same merges in the same order."""
    axes = blackboard(fig)
    small = narrow()
    found = [line.split() for line in data.printed("Byte pair encoding, by hand", run="text")]
    numbered = [words for words in found if len(words) > 5 and words[0].isdigit() and words[2] == "times"]
    learned = [(words[3], words[4], words[1]) for words in numbered]
    low, step, cell = 0.62, 0.345, 0.24 if small else 0.39
    heights = [low + step * (n + 1) for n in range(len(learned))]
    left = 0.42 if small else 1.95
    gap = 0.12 if small else 0.4
    new = found[-2][-2] + found[-2][-1]
    for n, ((a, b, times), y) in enumerate(zip(learned, heights, strict=True)):
        label = f"{times}×" if small else f"{n + 1}: {a} and {b}, {times} times"
        axes.text(left - 0.1, y, label, ha="right", va="center", fontsize=8 if small else 9, color=ink())
        axes.plot((left - 0.05, left + 13 * cell + gap), (y, y), color=muted(), linewidth=0.6, linestyle=(0, (1, 3)),
                  zorder=0)
    axes.text(left - 0.1, 0.62, "count" if small else "counts over all five words", ha="right", va="center",
              fontsize=7.5 if small else 8.5, color=muted())
    for text, name in (("▁walked", "in the text"), (new, "not in the text")):
        joins, pieces = joins_of(text, [merge[:2] for merge in learned], heights)
        merge_tree(axes, text, joins, left, low, cell)
        for at, words, color in ((0.32, " · ".join(pieces), ink()), (0.12, name, muted())):
            axes.text(left + len(text) * cell / 2, at, words, ha="center", va="center", fontsize=8.5, color=color)
        left += len(text) * cell + gap


@figure("means", width=6.4, height=1.5, narrow=(3.7, 1.5))
def means(data: Data, fig: Figure) -> None:
    """The losses of two batches' words, as wide as they weigh: in the mean over words, and in the mean of two means."""
    axes, small = blackboard(fig), narrow()
    left, losses = 0.1 if small else 1.45, ([1] * 2, [3] * 8)
    whole = fig.get_size_inches()[0] - left - 0.55
    for row, (name, mean) in enumerate((("mean over words", False), ("mean of means", True))):
        x, y, total = left, 1.0 - 0.62 * row, 0.0
        at, side = ((left, y + 0.38), "left") if small else ((left - 0.1, y + 0.13), "right")
        axes.text(*at, name, ha=side, va="center", fontsize=9, color=ink())
        for batch, color in zip(losses, ("C1", "C0"), strict=True):
            weight = 1 / (2 * len(batch)) if mean else 1 / sum(map(len, losses))
            for loss in batch:
                axes.add_patch(Rectangle((x, y), whole * weight - 0.025, 0.27, facecolor=color, alpha=0.3))
                axes.text(x + whole * weight / 2, y + 0.125, f"{loss}", ha="center", va="center", fontsize=9)
                x, total = x + whole * weight, total + weight * loss
        axes.text(left + whole + 0.08, y + 0.125, f"{total:g}", va="center", fontsize=10, color=ink())
    for x, text, color in ((left, "batch of 2", "C1"), (left + whole / 2, "batch of 8", "C0")):
        axes.text(x, 0.17, text, va="center", fontsize=8.5, color=color)


@figure("beam", width=6.4, height=2.95, narrow=(3.7, 2.9))
def beam(data: Data, fig: Figure) -> None:
    """All beginnings of two rounds with their ranks: the beam of 2 is framed, and greedy decoding follows a."""
    axes = blackboard(fig)
    small = narrow()
    model = {"": (0.5, 0.4, 0.1), "a": (0.3, 0.3, 0.4), "b": (0.05, 0.05, 0.9)}
    size, high = (8.5, 0.26) if small else (9.5, 0.27)
    top = axes.get_ylim()[1]
    x = (0.3, 1.35, 2.55) if small else (0.7, 2.6, 4.5)
    for place, text in zip(x, ("", "round 1", "round 2"), strict=True):
        axes.text(place, top - 0.14, text, ha="center", va="center", fontsize=size, color=muted())
    start = (x[0], top / 2 - 0.05)
    box(axes, *start, 0.34, high, "S", size=size)
    leaf = top - 0.45
    first: list[float] = []  # the heights of the beam's boxes
    likely = [p * q for word, p in zip("ab", model[""], strict=False) for q in model[word]]

    def branch(begin: tuple[float, float], end: tuple[float, float], p: float, color: str) -> None:
        axes.plot(*zip(begin, end, strict=True), color=color, linewidth=0.6 + 7 * p, alpha=0.6, solid_capstyle="butt",
                  zorder=1)
        at = (begin[0] * 0.4 + end[0] * 0.6, begin[1] * 0.4 + end[1] * 0.6)
        axes.text(*at, f"{p}", ha="center", va="center", fontsize=size - 1.5, color=ink(), zorder=2,
                  bbox={"facecolor": paper(), "edgecolor": "none", "pad": 0.8})

    for word, p, color in zip("abE", model[""], ("C0", "C2", "C6"), strict=True):
        y = leaf - (0 if word == "E" else 0.36)
        branch((x[0] + 0.17, start[1]), (x[1] - 0.3, y), p, color)
        box(axes, x[1], y, 0.6, high, f"{word}  {p:.2f}", color, size)
        if word == "E":
            axes.text(x[1] + 0.41, y, "3. dropped", va="center", fontsize=size - (1.5 if small else 0.5), color=muted())
            continue
        first.append(y)
        for after, q in zip("abE", model[word], strict=True):
            kept, goes_on = after == "E", word == "a"
            tint = color if kept or goes_on else "C6"
            place = f"{1 + sum(p * q < other - 1e-9 for other in likely)}."
            branch((x[1] + 0.3, y), (x[2] - 0.36, leaf), q, tint)
            box(axes, x[2], leaf, 0.72, high, f"{word} {after}  {p * q:.2f}", tint, size)
            if kept:
                run = "greedy" if word == "a" else "beam"
                assert abs(p * q - data.value(f"{run}_probability", run="search")) < 1e-6
                text = f"{place} {'greedy' if word == 'a' else 'beam of 2'}" + ("" if small else " finds it")
            else:
                text = f"{place} " + ("dropped" if not goes_on else "goes on" if small else "would go on")
            axes.text(x[2] + 0.41, leaf, text, va="center", fontsize=size - (1.5 if small else 0.5),
                      color=color if kept else muted())
            leaf -= 0.33
        leaf -= 0.12
    axes.add_patch(Rectangle((x[1] - 0.37, first[1] - 0.2), 0.74, first[0] - first[1] + 0.4, fill=False,
                             edgecolor=ink(), linewidth=1, linestyle=(0, (4, 2))))
    axes.text(x[1], first[0] + 0.29, "the beam", ha="center", va="center", fontsize=size - 0.5, color=ink())


@figure("parents", width=5.2, height=1.55, narrow=(3.7, 1.55))
def parents(data: Data, fig: Figure) -> None:
    """The rows of keys and values before and after the second round of the beam of 2: both follow row 0."""
    axes = blackboard(fig)
    left, right = (0.95, 2.75) if narrow() else (1.5, 3.7)
    for x, title in ((left, "in round 2"), (right, "for round 3")):
        axes.text(x, 1.38, title, ha="center", va="center", fontsize=8.5, color=muted())
    axes.text(left + 0.5, 0.38, "lost", va="center", fontsize=8.5, color=muted())
    for row, (before, after, parent) in enumerate((("a", "a a", 0), ("b", "a b", 0))):
        y = 1.0 - 0.62 * row
        for x, text, color in ((left, before, ("C0", "C2")[row]), (right, after, ("C0", "C2")[parent])):
            box(axes, x, y, 0.84, 0.34, f"$K, V$ of {text.split()[0]}", color, 8.5)
            axes.text(x, y - 0.27, f"row {row}: {text}", ha="center", va="center", fontsize=8, color=ink())
        arrow(axes, (left + 0.46, 1.0 - 0.62 * parent), (right - 0.46, y), "C0", 1.2)


@figure("component", width=5.2, height=1.75, narrow=(3.7, 1.75))
def component(data: Data, fig: Figure) -> None:
    """Four pairs, each a line between its two sentences: three hang together, although two of them share none."""
    axes = blackboard(fig)
    small = narrow()
    left, right = (0.55, 2.05) if small else (0.7, 3.0)
    pairs = ((0, 0, "C0", "1"), (1, 0, "C0", "2"), (1, 1, "C0", "3"), (2, 2, "C2", "4"))
    heights = (1.5, 0.95, 0.28)
    for source, target, color, name in pairs:
        (a, b), (c, d) = (left + 0.45, heights[source]), (right - 0.5, heights[target])
        axes.plot((a, c), (b, d), color=color, linewidth=1.6, zorder=1)
        axes.text((a + c) / 2, (b + d) / 2, name, ha="center", va="center", fontsize=8.5, color=color,
                  bbox={"facecolor": paper(), "edgecolor": "none", "pad": 1})
    for y, source, target in zip(heights, ("等等！", "等一下！", "你好。"), ("Wait!", "Hang on!", "Hi."), strict=True):
        color = "C0" if y > 0.5 else "C2"
        box(axes, left, y, 0.9, 0.34, source, color, 10)
        box(axes, right, y, 1.0, 0.34, target, color, 10)
    for low, high, text, color in ((0.8, 1.65, "one\ncomponent", "C0"), (0.13, 0.43, "another", "C2")):
        axes.plot(np.add(right, (0.58, 0.64, 0.64, 0.58)), (low, low, high, high), color=color, linewidth=1.1)
        axes.text(right + 0.72, (low + high) / 2, text, va="center", fontsize=9, color=color, linespacing=1.25)


@figure("one_table", width=6.4, height=2.2, narrow=(3.7, 2.2))
def one_table(data: Data, fig: Figure) -> None:
    """The page's example: rows of one table as words of the source and the target, and all of them as the last map."""
    axes, small = blackboard(fig), narrow()
    table, right = np.array([[0, 0], [1, 0], [0, 1]]), np.array([0, 1, 0])
    row = table[1] + table[2]
    logits = table @ row
    dz = np.exp(logits) / np.exp(logits).sum() - right
    columns, size = ((0.95, 2.1, 3.2), 8) if small else ((1.85, 3.75, 5.5), 9)
    heights = (1.62, 1.02, 0.42)

    def below(x: float, y: float, text: str, color: str) -> None:
        axes.text(x, y - 0.23, text, ha="center", va="center", fontsize=size - 1, color=color)

    for x, text in zip(columns, ("the table", "the row", "logits"), strict=True):
        axes.text(x, 2.05, text, ha="center", va="center", fontsize=size, color=muted())
    box(axes, columns[1], heights[1], 0.72, 0.27, f"({row[0]}, {row[1]})", size=size)
    below(columns[1], heights[1], f"({(dz @ table)[0]:.3f}, {(dz @ table)[1]:.3f})".replace("-", "−"), "C1")
    for j, y in enumerate(heights):
        text, color = f"$E_{j}$ = ({table[j, 0]}, {table[j, 1]})", ("C6", "C0", "C2")[j]
        box(axes, columns[0], y, 0.8, 0.27, text, color, size - 1)
        box(axes, columns[2], y, 0.66, 0.27, f"$z_{j}$ = {logits[j]}", "C1", size)
        below(columns[2], y, f"{dz[j]:.3f}".replace("-", "−"), "C1")
        arrow(axes, (columns[1] + 0.38, heights[1]), (columns[2] - 0.35, y), "C1")
        if j:
            arrow(axes, (columns[0] + 0.42, y), (columns[1] - 0.38, heights[1]), color, 1.4)
        share = f"$dz_{j}\\,x$" + " $+\\ dx$" * (j > 0)
        if small:
            below(columns[0], y, share, ink())
        else:
            axes.text(columns[0] - 0.5, y, share, ha="right", va="center", fontsize=size, color=ink())
    if not small:
        for x, y, name, color in ((2.78, 1.16, "source", "C0"), (3.02, 0.6, "target", "C2"),
                                  (4.4, 1.5, "last map", "C1")):
            axes.text(x, y, name, ha="center", va="center", fontsize=size - 0.5, color=color)
        axes.text(columns[0] - 0.5, 2.05, "gradient", ha="right", va="center", fontsize=size, color=muted())
