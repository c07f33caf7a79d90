"""Figures of chapter 13."""

import numpy as np
from blackboard import box, merge_tree
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.ticker import MaxNLocator
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, panels, paper, say


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
        panels(fig, 2, sharey=True), ("English", "Chinese"), ("C0", "C2"), "os",
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
        if narrow() or language == "English":
            axes.set_ylabel("units of a test sentence, mean")
        sizes_on(axes, sizes)
        axes.set_ylim(0, 1.3 * found["english_characters_units"] / found["pairs_test"])
        axes.legend(loc="upper right", ncols=2)


@figure("bootstrap", width=7.6, height=3.0, narrow=(3.7, 5.8))
def bootstrap(data: Data, fig: Figure) -> None:
    """The scores of A on resampled test sets, and A's less B's on the same samples."""
    sentences = data.value("interval_sentences", run="score")
    left, right = panels(fig, 2)
    for name, label, bins in (("samples_200", "200", 40), ("samples_all", f"{sentences:,.0f}", 20)):
        samples, others = data.array(name, run="score")
        for axes, values in ((left, samples), (right, samples - others)):
            low, high = np.percentile(values, (2.5, 97.5))
            heights, _, (drawn,) = axes.hist(values, bins=bins, histtype="stepfilled", alpha=0.6,
                                             label=f"{label} sentences; 95 %: {low:.1f} to {high:.1f}")
            y = 1.04 * max(heights)
            axes.plot((low, high), (y, y), "|-", color=drawn.get_facecolor()[:3], markersize=9, markeredgewidth=1.6)
    right.axvline(0, color=ink(), linewidth=1, linestyle=":")
    left.set_ylabel("samples of 1,000")
    for axes, label in ((left, "BLEU of A on a sample"), (right, "A less B, on the same sample")):
        axes.set_xlabel(label)
        axes.set_ylim(0, 1.45 * axes.get_ylim()[1])
        axes.legend(loc="upper center")
    if narrow():
        right.set_ylabel("samples of 1,000")


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
        say(axes, left - 0.1, middle, f"{n}" if small else f"{n} word{'s' * (n > 1)}", ha="right", fontsize=9)
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
    right.annotate("kept", (best, bleu[best - 1]), (0, -17), textcoords="offset points", ha="center", color="C3")
    right.set_ylabel("BLEU, development")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.grid()
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if narrow():
        left.set_xlabel("")


@figure("beams", width=7.6, height=3.0, narrow=(3.7, 5.4))
def beams(data: Data, fig: Figure) -> None:
    """BLEU and the length of the hypotheses over the width of the beam, by sums and by means."""
    found, widths = data.values(), [1, 2, 4, 8]
    for axes, what, label in zip(panels(fig, 2), ("bleu", "length"),
                                 ("BLEU, development", "words said per reference word"), strict=True):
        for name, kind, look, color, side in (("means", "", "o-", "C0", 1), ("sums", "sums_", "s--", "C1", -1)):
            values = [found[f"beam_{width}_{kind}{what}"] for width in widths]
            axes.plot(widths, values, look, color=color)
            axes.annotate(f"by {name}", (widths[-1], values[-1]), (0, 13 * side), textcoords="offset points",
                          ha="right", va="center", color=color)
        sizes_on(axes, widths)
        axes.margins(y=0.2)
        axes.autoscale(axis="y")
        axes.set_xlabel("width of the beam")
        axes.set_ylabel(label)
        if what == "length":
            axes.axhline(1, color=muted(), linestyle=":")
            axes.annotate("as long as the references", (widths[-1], 1), (0, 7), textcoords="offset points", ha="right",
                          va="center", color=muted())


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


@figure("parents", width=5.2, height=1.75, narrow=(3.7, 1.75))
def parents(data: Data, fig: Figure) -> None:
    """The rows of keys and values before and after the second round of the beam of 2: both follow row 0."""
    axes = blackboard(fig)
    left, right = (0.6, 2.25) if narrow() else (0.9, 3.1)
    for x, title in ((left, "in round 2"), (right, "copied"), (right + 0.86, "appended\nin round 3")):
        axes.text(x, 1.55, title, ha="center", va="center", fontsize=8.5, color=muted(), linespacing=1.2)
    axes.text(left + 0.48, 0.43, "lost", va="center", fontsize=8.5, color=muted())
    for row, (before, after, parent) in enumerate((("a", "a a", 0), ("b", "a b", 0))):
        y = 1.1 - 0.67 * row
        for x, text, color in ((left, before, ("C0", "C2")[row]), (right, after, ("C0", "C2")[parent])):
            box(axes, x, y, 0.84, 0.34, f"$K, V$ of {text.split()[0]}", color, 8.5)
            axes.text(x, y - 0.27, f"row {row}: {text}", ha="center", va="center", fontsize=8, color=ink())
        box(axes, right + 0.86, y, 0.84, 0.34, f"$K, V$ of {after.split()[1]}", "C5", 8.5)
        arrow(axes, (left + 0.46, 1.1 - 0.67 * parent), (right - 0.46, y), "C0", 1.2)


@figure("component", width=6.4, height=1.75, narrow=(3.7, 2.75))
def component(data: Data, fig: Figure) -> None:
    """Four pairs, and an edge where two share a sentence: three hang together, although two of them share none."""
    axes, small = blackboard(fig), narrow()
    wide, step, y = (0.74, 1.29, 2.0) if small else (0.95, 1.65, 1.0)
    pairs = (("等等！", "Wait!"), ("等一下！", "Wait!"), ("等一下！", "Hang on!"), ("你好。", "Hi."))
    last = (0.58, 0.55) if small else (5.55, y)
    places = [*((0.58 + step * i, y) for i in range(3)), last]
    for n, ((chinese, english), (x, at)) in enumerate(zip(pairs, places, strict=True), 1):
        box(axes, x, at, wide, 0.58, f"{chinese}\n{english}", "C2" if n == 4 else "C0", 9.5)
        axes.text(x, at + 0.42, f"pair {n}", ha="center", va="center", fontsize=8.5, color=muted())
    for i, (text, gloss) in enumerate((("Wait!", ""), ("等一下！", "wait\na moment"))):
        x = 0.58 + step * (i + 0.5)
        axes.plot((x - (step - wide) / 2, x + (step - wide) / 2), (y, y), color="C0", linewidth=1.8)
        axes.text(x, y + 0.13, text, ha="center", va="center", fontsize=7.5 if small else 9, color=ink())
        axes.text(x, y - 0.08, gloss, ha="center", va="top", fontsize=6.5 if small else 8, color=muted(),
                  linespacing=1.1)
    frame = {"boxstyle": "round,pad=0,rounding_size=0.08", "fill": False, "linewidth": 1, "linestyle": (0, (4, 2))}
    for (x, at), across, goes, color in ((places[0], 2 * step, "to training", "C0"), (last, 0, "to test", "C2")):
        axes.add_patch(FancyBboxPatch((x - wide / 2 - 0.06, at - 0.37), across + wide + 0.12, 0.9, edgecolor=color,
                                      **frame))
        if small and not across:
            begin, end, label, side = (x + 0.5, at), (x + 0.85, at), (x + 0.92, at), "left"
        else:
            begin, end = ((x + across / 2, at - low) for low in (0.37, 0.64))
            label, side = (x + across / 2, at - 0.76), "center"
        arrow(axes, begin, end, color, 1.3)
        axes.text(*label, goes, ha=side, va="center", fontsize=9, color=color)


@figure("one_table", width=7.0, height=2.75, narrow=(3.7, 2.75))
def one_table(data: Data, fig: Figure) -> None:
    """The page's example: one table at both ends, as the words of source and target and as the last map."""
    axes, small = blackboard(fig), narrow()
    table, right = np.array([[0, 0], [1, 0], [0, 1]]), np.array([0, 1, 0])
    row = table[1] + table[2]
    logits = table @ row
    dz = np.exp(logits) / np.exp(logits).sum() - right
    dx = dz @ table
    sums = np.outer(dz, row) + np.array([[0], [1], [1]]) * dx
    columns = (0.47, 1.5, 2.45, 3.36) if small else (0.85, 2.85, 4.75, 6.4)
    size, wide, heights = 7.5 if small else 9, 0.76 if small else 0.95, (1.75, 1.2, 0.65)

    def below(x: float, y: float, *values: float) -> None:
        text = ", ".join(f"{value:.3f}" for value in values).replace("-", "−")
        axes.text(x, y - 0.23, f"({text})" if len(values) > 1 else text, ha="center", va="center", fontsize=size - 0.5,
                  color="C1", bbox={"facecolor": paper(), "edgecolor": "none", "pad": 0.5})

    for x, text in zip(columns, ("embeddings", "the row $x$", "last map", "logits"), strict=True):
        axes.text(x, 2.08, text, ha="center", va="center", fontsize=size, color=muted())
    axes.plot((columns[0], columns[0], columns[2], columns[2]), (2.22, 2.42, 2.42, 2.22), color=ink(), linewidth=1)
    axes.text((columns[0] + columns[2]) / 2, 2.57, "the same table", ha="center", va="center", fontsize=size + 0.5,
              color=ink())
    box(axes, columns[1], heights[1], 0.52 if small else 0.72, 0.27, f"({row[0]}, {row[1]})", size=size)
    below(columns[1], heights[1], *dx)
    half = 0.28 if small else 0.38
    for j, y in enumerate(heights):
        color = ("C6", "C0", "C2")[j]
        for x in (columns[0], columns[2]):
            box(axes, x, y, wide, 0.27, f"$E_{j}$ = ({table[j, 0]}, {table[j, 1]})", color, size)
        box(axes, columns[3], y, 0.52 if small else 0.66, 0.27, f"$z_{j}$ = {logits[j]}", size=size)
        below(columns[0], y, *sums[j])
        below(columns[3], y, dz[j])
        arrow(axes, (columns[1] + half, heights[1]), (columns[2] - wide / 2 - 0.02, y))
        arrow(axes, (columns[2] + wide / 2 + 0.02, y), (columns[3] - half + (0.01 if small else 0.03), y))
        if j:
            arrow(axes, (columns[0] + wide / 2 + 0.02, y), (columns[1] - half, heights[1]))
            if not small:
                axes.text(1.85, y + (0.1 if j == 1 else 0.08), ("source", "target")[j - 1], ha="center", va="center",
                          fontsize=size - 0.5, color=color)
    middle = fig.get_size_inches()[0] / 2
    arrow(axes, (middle - 1.2, 0.15), (middle - 0.9, 0.15))
    for x, text, color in ((middle - 0.83, "forward", ink()), (middle + 0.15, "gradient", "C1")):
        axes.text(x, 0.15, text, va="center", fontsize=size, color=color)
