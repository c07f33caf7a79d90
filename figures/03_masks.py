"""Figures of chapter 3."""

from style import Data, Figure, figure, heat


@figure("grids", width=7.6, height=3.6)
def grids(data: Data, fig: Figure) -> None:
    panels = [
        ("encoder", "source", "source", "source to source"),
        ("target_pads", "target", "target", "target: padding"),
        ("future", "target", "target", "target: future"),
        ("decoder", "target", "target", "target: either"),
        ("cross", "target", "source", "target to source"),
    ]
    axes = fig.subplots(2, len(panels))
    for b in range(2):
        for column, (name, queries, keys, title) in enumerate(panels):
            ax = axes[b][column]
            rows = data.value(f"{queries}_{b}").split()
            columns = data.value(f"{keys}_{b}").split()
            heat(ax, data.array(name)[b], rows=rows, columns=columns, low=0, high=1)
            if keys == "target":
                ax.tick_params(axis="x", labelrotation=90)
            if column == 0:
                ax.set_ylabel(f"sentence {b + 1}")
            if b == 0:
                ax.set_xlabel(title)
                ax.xaxis.set_label_position("top")


@figure("heads", width=5.2, height=4.4)
def heads(data: Data, fig: Figure) -> None:
    mask = data.array("encoder")  # [B, L, L]
    axes = fig.subplots(2, 2)
    for sentence in range(2):
        words = data.value(f"source_{sentence}").split()
        for head in range(2):
            ax = axes[sentence][head]
            # what broadcasting takes: the mask of the sentence with the head's number
            heat(ax, mask[head], rows=words, columns=words, low=0, high=1)
            wrong = int((mask[head] != mask[sentence]).sum())
            ax.set_xlabel(f"head {head + 1}: {wrong} wrong" if wrong else f"head {head + 1}: right")
        axes[sentence][0].set_ylabel(f"sentence {sentence + 1}")
