"""Figures of chapter 13."""

import numpy as np
from matplotlib.ticker import MaxNLocator
from style import Axes, Data, Figure, figure, muted, narrow, panels


def sizes_on(axes: Axes, sizes: list[int]) -> None:
    """A logarithmic axis with a mark at each size."""
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid()


@figure("vocabulary", width=5.6, height=3.3, narrow=(3.7, 3.3))
def vocabulary(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    found = data.values(run="text")
    for language, color, line, sizes in (
        ("English", "C0", "o-", (500, 1000, 2000, 4000, 8000)),
        ("Chinese", "C2", "s--", (4000, 8000, 16000)),
    ):
        x, y = ([found[f"{name}_{language}_{size}"] for size in sizes] for name in ("pieces", "length"))
        axes.plot(x, y, line, color=color, label=f"{language}, pieces")
    for units, label, line in (
        ("english_words", "English, words and marks", ":"),
        ("chinese_characters", "Chinese, characters", "-."),
    ):
        mean = found[f"{units}_units"] / found["pairs_test"]
        axes.axhline(mean, color=muted(), linestyle=line, label=label)
    axes.set_xlabel("pieces in the vocabulary")
    axes.set_ylabel("units of a test sentence")
    sizes_on(axes, [500, 1000, 2000, 4000, 8000, 16000] if not narrow() else [500, 2000, 8000])
    axes.legend()


@figure("bootstrap", width=6.4, height=2.8, narrow=(3.7, 3.0))
def bootstrap(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    sentences = data.value("interval_sentences", run="score")
    for name, label, bins in (("samples_200", "200 sentences", 40), ("samples_all", f"{sentences:,.0f} sentences", 20)):
        axes.hist(data.array(name, run="score"), bins=bins, histtype="stepfilled", alpha=0.6, label=label)
    axes.set_xlabel("BLEU of a sample")
    axes.set_ylabel("samples of 1,000")
    axes.legend()


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
