"""Figures of chapter 7."""

from style import Data, Figure, arrow, box, figure, muted, sequential


@figure("layer", width=7.4, height=1.7)
def layer(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    axes.set_axis_off()
    attention, ff = (f"{data.value(key):,.0f}" for key in ("toy_attention", "toy_ff"))
    axes.text(0, 0, "$x$", ha="center", va="center")
    axes.text(11.1, 0, "$y$", ha="center", va="center")
    boxes = [
        (2.0, f"self-attention\n{attention}", 2.0, "C0"),
        (4.55, "norm", 0.9, "C6"),
        (7.0, f"feed-forward\n{ff}", 2.0, "C1"),
        (9.55, "norm", 0.9, "C6"),
    ]
    for x, text, width, colour in boxes:
        box(axes, x, text, width, colour)
    for plus in (3.6, 8.6):
        axes.text(plus, 0, "+", ha="center", va="center", fontsize=12)
    for start, end in ((0.2, 0.98), (3.02, 3.42), (3.78, 4.08), (5.02, 5.98), (8.02, 8.42), (8.78, 9.08),
                       (10.02, 10.9)):
        arrow(axes, (start, 0), (end, 0))
    for start, end in ((0.5, 3.6), (5.4, 8.6)):
        arrow(axes, (start, 0), (start, 0.75), (end, 0.75), (end, 0.17))
        axes.text((start + end) / 2, 0.83, "residual", ha="center", fontsize=8, color=muted())
    axes.set_xlim(-0.3, 11.4)
    axes.set_ylim(-0.6, 1.25)


@figure("weights", width=7.6, height=5.3)
def weights(data: Data, fig: Figure) -> None:
    all_weights = data.array("weights")  # [layers, heads, L, L]
    words = data.value("words").split()
    n_layers, n_heads = all_weights.shape[:2]
    grid = fig.subplots(n_layers, n_heads, sharex=True, sharey=True)
    for i in range(n_layers):
        for h in range(n_heads):
            axes = grid[i, h]
            drawn = axes.imshow(
                all_weights[i, h], cmap=sequential(), vmin=0, vmax=all_weights.max(), interpolation="none"
            )
            axes.set_xticks(range(len(words)), words, fontsize=5.5)
            axes.set_yticks(range(len(words)), words, fontsize=5.5)
            axes.tick_params(length=0, pad=1)
            for spine in axes.spines.values():
                spine.set_visible(False)
            if i == 0:
                axes.set_title(f"head {h + 1}", fontsize=8)
        grid[i, 0].set_ylabel(f"layer {i + 1}", fontsize=8)
    bar = fig.colorbar(drawn, ax=grid, label="weight", shrink=0.5, fraction=0.03, pad=0.01)
    bar.outline.set_visible(False)


@figure("rows", width=7.4, height=2.9)
def rows(data: Data, fig: Figure) -> None:
    names = ("mean norm of a row", "cosine to the input", "cosine between two words")
    grid = fig.subplots(1, 3)
    for column, (axes, name) in enumerate(zip(grid, names, strict=True)):
        for run, label, marker, line in (("main", "post", "o", "-"), ("pre", "pre", "s", "--")):
            table = data.array("layers", run=run)  # [layers + 1, 3]
            axes.plot(range(len(table)), table[:, column], marker=marker, linestyle=line, label=label)
        axes.set_xlabel("after layer (0: input)")
        axes.set_ylabel(name)
        axes.set_ylim(0, None if column == 0 else 1.02)
        axes.grid()
    grid[0].legend(loc="lower left")


@figure("gradient", width=6.0, height=2.8)
def gradient(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    for run, label, marker, line in (("main", "post", "o", "-"), ("pre", "pre", "s", "--")):
        norms = data.array("dx_norms", run=run)  # from the output down to the input
        axes.plot(
            range(len(norms) - 1, -1, -1), norms, marker=marker, linestyle=line, label=label
        )
    axes.set_xlabel("above layer (0: the input, rightmost: the output)")
    axes.set_ylabel("norm of the gradient")
    axes.set_ylim(0, 1.1 * norms.max())
    axes.grid()
    axes.legend(loc="lower right")
