"""Figures of chapter 5."""

from __future__ import annotations

import numpy as np
from style import Data, Figure, figure, heat, ink


@figure("weights", width=7.4, height=4.2)
def weights(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    heads = data.array("weights")  # [H, L, L]
    axes = fig.subplots(2, 4, sharex=True, sharey=True)
    high = float(heads.max())
    drawn = None
    for head, place in enumerate(axes.flat):
        drawn = heat(place, heads[head], rows=words, columns=words, low=0, high=high)
        place.set_title(f"head {head + 1}")
    for place in axes[1]:
        place.set_xlabel("key")
    for place in axes[:, 0]:
        place.set_ylabel("query")
    bar = fig.colorbar(drawn, ax=axes, label="weight", fraction=0.03, pad=0.02)
    bar.outline.set_visible(False)


@figure("join", width=7.4, height=2.6)
def join(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    both = (("joined", "join_heads"), ("reshaped", "bare reshape"))
    for place, (name, title) in zip(fig.subplots(1, 2, sharey=True), both, strict=True):
        origin = data.array(name)  # [L, H * d_k]: the position that each number comes from
        columns = [""] * origin.shape[1]
        heat(place, origin + 1, rows=words, columns=columns, numbers="{:.0f}", low=0, high=10)
        place.set_title(title)
        place.set_xlabel("column of the result")
        for edge in np.arange(4, origin.shape[1], 4) - 0.5:
            place.axvline(edge, color=ink(), linewidth=0.8)
