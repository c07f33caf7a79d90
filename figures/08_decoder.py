"""Figures of chapter 8."""

import numpy as np
from style import Data, Figure, arrow, box, figure, heat, ink, muted, sequential


@figure("layer", width=7.6, height=2.0)
def layer(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    axes.set_axis_off()
    attention, ff = (f"{data.value(key):,.0f}" for key in ("toy_attention", "toy_ff"))
    parts = [
        (f"masked\nself-attention\n{attention}", "C0"),
        (f"cross-\nattention\n{attention}", "C2"),
        (f"feed-forward\n{ff}", "C1"),
    ]
    axes.text(0, 0, "$x$", ha="center", va="center")
    for i, (text, colour) in enumerate(parts):
        left = 5.0 * i + 0.2  # where this sublayer's line begins
        plus = left + 3.3
        box(axes, left + 1.7, text, 2.0, colour, fontsize=7.5)
        box(axes, left + 4.3, "norm", 0.9, "C6", fontsize=7.5)
        axes.text(plus, 0, "+", ha="center", va="center", fontsize=12)
        arrow(axes, (left, 0), (left + 0.68, 0))
        arrow(axes, (left + 2.72, 0), (plus - 0.2, 0))
        arrow(axes, (plus + 0.2, 0), (left + 3.83, 0))
        arrow(axes, (left + 0.2, 0), (left + 0.2, 0.72), (plus, 0.72), (plus, 0.17))
        axes.plot((left + 4.77, left + 5.0), (0, 0), color=ink(), linewidth=1.0, zorder=1)
        axes.text(left + 1.75, 0.8, "residual", ha="center", fontsize=8, color=muted())
    arrow(axes, (15.2, 0), (15.6, 0))
    axes.text(15.8, 0, "$y$", ha="center", va="center")
    arrow(axes, (6.9, -1.0), (6.9, -0.42))
    axes.text(7.05, -0.85, "memory, the encoder's output: key and value", fontsize=8, va="center")
    axes.text(5.45, -0.25, "query", fontsize=7, color=muted(), ha="center", va="center")
    axes.set_xlim(-0.2, 16.0)
    axes.set_ylim(-1.1, 1.15)


@figure("influence", width=7.6, height=3.6)
def influence(data: Data, fig: Figure) -> None:
    source, words = data.value("source").split(), data.value("input").split()
    own, other = data.array("influence"), data.array("source_influence")
    high = float(max(own.max(), other.max()))
    left, right = fig.subplots(1, 2, width_ratios=(1, 1.15))
    for axes, table, changed in ((left, own, words), (right, other, source)):
        shown = np.where(table == 0, np.nan, table)
        heat(
            axes, shown, rows=changed, columns=words, low=0, high=high, top=True,
            bar="largest difference" if axes is right else None,
        )
        for (j, t), value in np.ndenumerate(table):
            if value == 0:
                axes.text(t, j, "=", ha="center", va="center", color=muted())
        axes.tick_params(axis="x", labelrotation=60)
        axes.set_xlabel("row of the decoder")
    left.set_ylabel("changed word of the input")
    right.set_ylabel("changed word of the source")


@figure("weights", width=7.6, height=7.0)
def weights(data: Data, fig: Figure) -> None:
    source, words = data.value("source").split(), data.value("input").split()
    kinds = (("self", words), ("cross", source))
    high = float(max(data.array(kind)[:, 1:].max() for kind, _ in kinds))
    n_heads = len(data.array("self"))
    columns = n_heads // 2
    grid = fig.subplots(4, columns, sharey=True)
    for k, (kind, keys) in enumerate(kinds):
        of_kind = data.array(kind)  # [heads, Lt, keys]
        for h in range(n_heads):
            axes = grid[2 * k + h // columns, h % columns]
            drawn = axes.imshow(
                of_kind[h], cmap=sequential(), vmin=0, vmax=high, interpolation="none"
            )
            axes.set_xticks(range(len(keys)), keys, fontsize=7, rotation=60 if k == 0 else 0)
            axes.set_yticks(range(len(words)), words, fontsize=7)
            axes.tick_params(length=0, pad=1)
            for spine in axes.spines.values():
                spine.set_visible(False)
            axes.set_title(f"{kind}, head {h + 1}", fontsize=8)
    bar = fig.colorbar(
        drawn, ax=grid, label="weight", shrink=0.5, fraction=0.03, pad=0.01, extend="max"
    )
    bar.outline.set_visible(False)


@figure("memory", width=6.0, height=2.8)
def memory(data: Data, fig: Figure) -> None:
    norms = data.array("dmemory")  # [layers, 2]: of the layer itself, of the sum down to it
    layers = np.arange(1, len(norms) + 1)
    axes = fig.subplots()
    axes.bar(layers, norms[:, 0], width=0.55, label="from this layer")
    axes.plot(
        layers, norms[:, 1], color="C1", marker="o", linestyle="--",
        label="sum of the layers from the last down to this one",
    )
    axes.set_xlabel("layer")
    axes.set_ylabel("norm of the gradient of memory")
    axes.set_xticks(layers)
    axes.set_ylim(0, norms.max() * 1.25)
    axes.legend(loc="upper right")
