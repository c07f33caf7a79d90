"""Figures of chapter 3."""

import numpy as np
from matplotlib.patches import Rectangle
from style import Axes, Data, Figure, figure, heat, ink, muted, narrow, panels, paper


@figure("softmax", width=6.8, height=2.5, narrow=(3.7, 5.2))
def softmax(data: Data, fig: Figure) -> None:
    """The weights of four keys, without a mask and with two."""
    weights, hidden = data.array("four_weights"), data.array("four_hidden")  # [3, 4]
    titles = ("no mask", "pads hidden", "future hidden")
    places = range(weights.shape[1])
    for axes, row, mask, title in zip(
        panels(fig, 3, sharey=True), weights, hidden, titles, strict=True
    ):
        axes.bar(places, row, color="C0", width=0.7)
        for place, weight in enumerate(row):
            height = weights[0, place] if mask[place] else weight  # a hidden key's weight without a mask
            if mask[place]:
                axes.bar(place, height, color="none", edgecolor=muted(), hatch="////", width=0.7,
                         linewidth=0.8)
            axes.text(place, height + 0.02, "hidden" if mask[place] else f"{weight:.2f}",
                      ha="center", va="bottom", fontsize=8.5, color=ink())
        axes.set_xticks(places, ["S", "I", "have", "P"])
        axes.tick_params(axis="x", length=0)
        axes.set_ylim(0, 0.85)
        axes.set_title(title)
        axes.set_yticks([0, 0.5])
        axes.grid(axis="y")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("weight")


@figure("grids", width=7.6, height=3.6, narrow=(3.7, 8.2))
def grids(data: Data, fig: Figure) -> None:
    """Every mask of the batch; a row is a sentence, or a column on a phone."""
    masks = [
        ("encoder", "source", "source", "source to source"),
        ("target_pads", "target", "target", "target: padding"),
        ("future", "target", "target", "target: future"),
        ("decoder", "target", "target", "target: either"),
        ("cross", "target", "source", "target to source"),
    ]
    axes = fig.subplots(len(masks), 2).T if narrow() else fig.subplots(2, len(masks))
    for b in range(2):
        for place, (name, queries, keys, title) in enumerate(masks):
            ax = axes[b][place]
            rows = data.value(f"{queries}_{b}").split()
            columns = data.value(f"{keys}_{b}").split()
            heat(ax, data.array(name)[b], rows=rows, columns=columns, low=0, high=1)
            ax.tick_params(labelsize=7)
            if keys == "target":
                ax.tick_params(axis="x", labelrotation=90)
            if narrow():
                ax.set_title(f"{title}, {b}")
                continue
            if place == 0:
                ax.set_ylabel(f"sentence {b}")
            if b == 0:
                ax.set_xlabel(title)
                ax.xaxis.set_label_position("top")


def mark(axes: Axes, taken: np.ndarray, right: np.ndarray) -> None:
    """Colors the wrong cells: a word that is hidden, or a pad that is not."""
    for i, j in np.argwhere(taken != right):
        axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor="C1", edgecolor=paper(),
                                 linewidth=0.6, alpha=1 if taken[i, j] else 0.45))
        axes.text(j, i, "×" if taken[i, j] else "○", ha="center", va="center", fontsize=9,
                  color=paper() if taken[i, j] else ink())


@figure("heads", width=5.6, height=4.8, narrow=(3.7, 3.9))
def heads(data: Data, fig: Figure) -> None:
    """The mask that broadcasting takes for each sentence and head, wrong cells marked."""
    mask = data.array("encoder")  # [B, L, L]
    axes = fig.subplots(2, 2)
    for sentence in range(2):
        words = data.value(f"source_{sentence}").split()
        for head in range(2):
            ax = axes[sentence][head]
            # broadcasting takes the mask of the sentence with the head's number
            heat(ax, mask[head], rows=words, columns=words, low=0, high=1)
            ax.tick_params(labelsize=7)
            mark(ax, mask[head], mask[sentence])
            wrong = int((mask[head] != mask[sentence]).sum())
            verdict = f"{wrong} wrong" if wrong else "right"
            ax.set_title(f"sentence {sentence}, head {head}:{chr(10) if narrow() else ' '}{verdict}")
