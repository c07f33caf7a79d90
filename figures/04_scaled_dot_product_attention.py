"""Figures of chapter 4."""

from style import Data, Figure, figure, heat, muted


@figure("weights", width=7.6, height=3.9)
def weights(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    axes = fig.subplots(1, 2)
    for ax, name in zip(axes, ("weights", "causal_weights"), strict=True):
        heat(
            ax, data.array(name)[0, 0], rows=words, columns=words, numbers="{:.2f}", low=0, high=1,
            top=True,
        )
        ax.set_xlabel("key")
    axes[0].set_ylabel("query")


@figure("spread", width=7.6, height=3.2)
def spread(data: Data, fig: Figure) -> None:
    d_k, axes = data.array("d_k"), fig.subplots(1, 2)
    for ax, name in zip(axes, ("spread", "largest"), strict=True):
        plain, scaled = data.array(name)
        line = "none" if name == "spread" else "solid"
        ax.plot(d_k, plain, marker="o", linestyle=line, label="$q \\cdot k$")
        ax.plot(d_k, scaled, marker="s", linestyle="--", label="$q \\cdot k\\, /\\, \\sqrt{d_k}$")
        ax.set_xscale("log", base=2)
        ax.set_xlabel("$d_k$")
        ax.grid()
    axes[0].plot(d_k, d_k**0.5, color=muted(), linestyle=":", label="$\\sqrt{d_k}$")
    axes[0].set_yscale("log", base=2)
    axes[0].set_ylabel("standard deviation of a score")
    axes[1].set_ylabel("mean largest weight of 256")
    axes[1].set_ylim(0, 1)
    axes[0].legend()


@figure("jacobian", width=5.0, height=4.0)
def jacobian(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    axes = fig.subplots()
    heat(
        axes, data.array("jacobian").round(2) + 0.0, rows=words, columns=words, numbers="{:.2f}", signed=True,
        bar="$\\partial y_i / \\partial x_j$",
    )
    axes.set_xlabel("score $j$")
    axes.set_ylabel("weight $i$")
