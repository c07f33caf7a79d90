"""Figures of chapter 8."""

import numpy as np
import sublayers
from style import Data, Figure, figure, glossed, heat, muted, narrow, panels, scale, sequential
from sublayers import Sublayer


@figure("layer", width=7.6, height=2.0, narrow=(3.7, 5.6))
def layer(data: Data, fig: Figure) -> None:
    attention, ff = (f"{data.value(key):,.0f}" for key in ("toy_attention", "toy_ff"))
    cross = "cross-attention" if narrow() else "cross-\nattention"
    sublayers.draw(fig, [
        Sublayer(f"masked\nself-attention\n{attention}", "C0"),
        Sublayer(f"{cross}\n{attention}", "C2", reads="memory: key, value"),
        Sublayer(f"feed-forward\n{ff}", "C1"),
    ])


@figure("influence", width=7.6, height=3.6, narrow=(3.7, 7.4))
def influence(data: Data, fig: Figure) -> None:
    source, words = data.value("source").split(), data.value("input").split()
    own, other = data.array("influence"), data.array("source_influence")
    high = float(max(own.max(), other.max()))
    options = {} if narrow() else {"width_ratios": (1, 1.15)}
    left, right = panels(fig, 2, **options)
    for axes, table, changed in ((left, own, words), (right, other, source)):
        shown = np.where(table == 0, np.nan, table)
        heat(
            axes, shown, rows=glossed(changed, " ") if changed is source else changed, columns=words, low=0, high=high, top=True,
            bar="largest difference" if axes is right or narrow() else None,
        )
        for (j, t), value in np.ndenumerate(table):
            if value == 0:
                axes.text(t, j, "=", ha="center", va="center", color=muted())
        axes.tick_params(axis="x", labelrotation=60)
        axes.set_xlabel("row of the decoder")
    left.set_ylabel("changed word of the input")
    right.set_ylabel("changed word of the source")


@figure("weights", width=7.6, height=7.0, narrow=(3.7, 12.5))
def weights(data: Data, fig: Figure) -> None:
    source, words = data.value("source").split(), data.value("input").split()
    kinds = (("self", words), ("cross", source))
    high = float(max(data.array(kind)[:, 1:].max() for kind, _ in kinds))
    n_heads = len(data.array("self"))
    columns = n_heads // 2
    small = narrow()  # self-attention left, cross-attention right, a head to a row
    grid = fig.subplots(n_heads, 2, sharey=True) if small else fig.subplots(4, columns, sharey=True)
    for k, (kind, keys) in enumerate(kinds):
        of_kind = data.array(kind)  # [heads, Lt, keys]
        for h in range(n_heads):
            axes = grid[h, k] if small else grid[2 * k + h // columns, h % columns]
            drawn = axes.imshow(
                of_kind[h], cmap=sequential(), vmin=0, vmax=high, interpolation="none"
            )
            labels = keys if kind == "self" else glossed(keys, staggered=True)
            axes.set_xticks(range(len(keys)), labels, fontsize=7, rotation=60 if k == 0 else 0)
            axes.set_yticks(range(len(words)), words, fontsize=7)
            axes.tick_params(length=0, pad=1)
            for spine in axes.spines.values():
                spine.set_visible(False)
            axes.set_title(f"{kind}, head {h}", fontsize=8)
    scale(
        fig, drawn, grid, "weight", shrink=0.5, fraction=0.03, pad=0.01, extend="max",
        location="bottom" if small else "right",
    )


@figure("memory", width=6.0, height=2.8, narrow=(3.7, 3.0))
def memory(data: Data, fig: Figure) -> None:
    norms = data.array("dmemory")  # [layers, 2]: of the layer itself, of the sum down to it
    layers = np.arange(1, len(norms) + 1)
    axes = fig.subplots()
    axes.bar(layers, norms[:, 0], width=0.55, label="from this layer")
    axes.plot(
        layers, norms[:, 1], color="C1", marker="o", linestyle="--",
        label="sum from the last layer to this one",
    )
    axes.set_xlabel("layer")
    axes.set_ylabel("norm of the gradient of memory")
    axes.set_xticks(layers)
    axes.set_ylim(0, norms.max() * 1.25)
    axes.legend(loc="upper right")
