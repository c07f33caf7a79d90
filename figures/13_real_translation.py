"""Figures of chapter 13."""

import numpy as np
from style import Axes, Data, Figure, figure, heat, muted, narrow, panels


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
    for language, colour, line, sizes in (
        ("English", "C0", "o-", (500, 1000, 2000, 4000, 8000)),
        ("Chinese", "C2", "s--", (4000, 8000, 16000)),
    ):
        x, y = ([found[f"{name}_{language}_{size}"] for size in sizes] for name in ("pieces", "length"))
        axes.plot(x, y, line, color=colour, label=f"{language}, pieces")
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
    if narrow():
        left.set_xlabel("")


@figure("beams", width=7.6, height=3.1, narrow=(3.7, 6.0))
def beams(data: Data, fig: Figure) -> None:
    left, right = panels(fig, 2)
    bleu = data.array("bleu_by_beam")  # a row for each width: width, by sums, by means
    left.plot(bleu[:, 0], bleu[:, 2], "o-", color="C0", label="by means")
    left.plot(bleu[:, 0], bleu[:, 1], "s--", color="C1", label="by sums")
    sizes_on(left, [int(width) for width in bleu[:, 0]])
    left.set_ylim(0.9 * bleu[:, 1:].min(), 1.03 * bleu[:, 1:].max())
    left.set_xlabel("width of the beam")
    left.set_ylabel("BLEU, development")
    left.legend(loc="lower right")
    length = data.array("bleu_by_length")
    right.plot(length[:, 0], length[:, 1], "o-", color="C2")
    right.set_ylim(bottom=0)
    right.set_xlabel("mean pieces of the source")
    right.set_ylabel("BLEU, test")
    right.grid()


@figure("attention", width=5.6, height=4.2, narrow=(3.7, 4.6))
def attention(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    drawn = heat(
        axes,
        data.array("attention"),
        rows=data.value("attention_said").split(),
        columns=data.value("attention_source").split(),
        low=0,
        top=True,
    )
    axes.set_ylabel("piece said")
    axes.set_xlabel("piece of the source")
    place = "bottom" if narrow() else "right"
    fig.colorbar(drawn, ax=axes, label="weight", shrink=0.8, location=place).outline.set_visible(False)
