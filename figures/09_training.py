"""Figures of chapter 9."""

import numpy as np
from style import Data, Figure, figure, muted, narrow, panels, sequential


@figure("losses", width=7.6, height=3.6, narrow=(3.7, 6.4))
def losses(data: Data, fig: Figure) -> None:
    axes = panels(fig, 2)
    toy = (
        ("main", "SGD, 1e-3, momentum 0.99", "C0", "-"),
        ("adam_small", "Adam, 1e-4", "C2", "--"),
        ("adam_middle", "Adam, 3e-4", "C5", "-."),
        ("adam_large", "Adam, 1e-3", "C1", ":"),
    )
    for run, label, color, line in toy:
        loss = data.array("losses", run=run)
        axes[0].semilogy(np.arange(1, len(loss) + 1), loss, line, color=color, label=label)
    axes[0].set_xlabel("step, the toy")
    axes[0].set_ylabel("loss")
    axes[0].set_ylim(top=1000)  # room for the legend
    for run, label, color, line in (
        ("grammar_sgd", "SGD, 1e-3, momentum 0.99", "C0", "-"),
        ("grammar", "Adam, 1e-3, warm-up", "C2", "--"),
    ):
        loss = data.array("losses", run=run)
        axes[1].plot(np.arange(1, len(loss) + 1), loss, line, color=color, label=label)
    floor = data.value("smallest_loss", run="grammar")
    axes[1].axhline(floor, color=muted(), linestyle=":", label="entropy of the targets")
    axes[1].set_xlabel("step, the grammar corpus")
    axes[1].set_ylim(bottom=0)
    if narrow():
        axes[1].set_ylabel("loss")
    for ax in axes:
        ax.grid()
        ax.legend()


@figure("warmup", width=7.6, height=3.2, narrow=(3.7, 5.6))
def warmup(data: Data, fig: Figure) -> None:
    axes = panels(fig, 2)
    for run, label, color, line in (
        ("adam_middle", "constant", "C5", "-."),
        ("adam_warm", "warm-up", "C3", "-"),
    ):
        rate, loss = data.array("rates", run=run), data.array("losses", run=run)
        step = np.arange(1, len(rate) + 1)
        axes[0].plot(step, rate * 1e4, line, color=color, label=label)
        axes[1].semilogy(step, loss, line, color=color, label=label)
    axes[0].set_ylabel("learning rate, in 1e-4")
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylabel("loss")
    for ax in axes:
        ax.set_xlabel("step")
        ax.grid()
        ax.legend()


@figure("norms", width=7.2, height=4.2, narrow=(3.7, 4.0))
def norms(data: Data, fig: Figure) -> None:
    layers = data.value("norm_layers").split()
    epochs = data.array("norm_epochs")
    table = np.log10(data.array("norms")).T  # [layers, rows]
    axes = fig.subplots()
    width = epochs[1] - epochs[0]
    image = axes.imshow(
        table, aspect="auto", cmap=sequential(), interpolation="nearest",
        extent=(epochs[0] - width / 2, epochs[-1] + width / 2, len(layers) - 0.5, -0.5),
    )
    if narrow():
        layers = [name.replace(".layers.", " ") for name in layers]
    axes.set_yticks(range(len(layers)), layers)
    axes.set_xlabel("epoch")
    fig.colorbar(image, ax=axes, label="$\\log_{10}$ of the gradient's norm")
