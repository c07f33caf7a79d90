"""Figures of chapter 9."""

import itertools

import numpy as np
from matplotlib.patches import FancyBboxPatch, Rectangle
from style import Axes, Data, Figure, arrow, figure, glossed, ink, muted, narrow, panels, sequential


def blackboard(fig: Figure) -> Axes:
    """Axes over the whole figure whose unit is an inch, with no frame."""
    fig.set_layout_engine("none")
    axes = fig.add_axes((0, 0, 1, 1))
    width, height = fig.get_size_inches()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return axes


def panel(axes: Axes, left: float, bottom: float, width: float, height: float, title: str, size: float) -> None:
    axes.add_patch(FancyBboxPatch((left, bottom), width, height, boxstyle="round,pad=0,rounding_size=0.09",
                                  facecolor="none", edgecolor=muted(), linewidth=1))
    axes.text(left + 0.1, bottom + height - 0.17, title, ha="left", va="center", fontsize=size, fontweight="bold",
              fontfamily="DejaVu Sans")


@figure("idea", width=7.6, height=4.6, narrow=(3.7, 4.6))
def idea(data: Data, fig: Figure) -> None:
    """One step of one word as a loop: logits, probabilities, loss, and the step against p minus 1."""
    words = ["P", "I", "have", "friend"]
    right = 1
    z, moved = (data.array(f"logits_{when}", run="first")[0, 0] for when in ("before", "after"))
    p, later = (data.array(f"p_{when}", run="first").reshape(-1) for when in ("before", "after"))
    gradient = data.array("gradient_before", run="first")[0, 0]
    small = narrow()
    axes = blackboard(fig)
    wide, high = fig.get_size_inches()
    size = 7.4 if small else 9.5
    w, h = (1.68, 1.9) if small else (3.2, 1.93)
    gap = (wide - 2 * w - 0.1) if small else wide - 2 * w - 0.2
    left, low = (0.05 if small else 0.1), 0.05
    x = [left, left + w + gap]
    y = [low, high - h - 0.05]
    middle = (y[0] + h + y[1]) / 2

    def columns(k: int) -> list[float]:
        step = (w - (0.2 if small else 0.5)) / 4
        return [x[k] + (0.1 if small else 0.25) + step * (j + 0.5) for j in range(4)]

    def names(k: int, at: float) -> None:
        for j, word in enumerate(words):
            axes.text(columns(k)[j], at, word, ha="center", va="center", fontsize=size,
                      fontweight="bold" if j == right else "normal", fontfamily="DejaVu Sans",
                      color=ink() if j == right else muted())

    # logits, before the step and after it
    panel(axes, x[0], y[1], w, h, "1  logits", size + 0.5)
    names(0, y[1] + h - 0.52)
    for j in range(4):
        axes.text(columns(0)[j], y[1] + h - 0.86, f"{z[j]:.0f}", ha="center", va="center", fontsize=size + 3)
        color = "C2" if j == right else "C1"
        axes.text(columns(0)[j], y[1] + h - 1.54, f"{moved[j]:.2f}".replace("-", "−"), ha="center", va="center",
                  fontsize=size + 1, color=color)
    axes.text(x[0] + w / 2, y[1] + h - 1.25, "after the step:", ha="center", va="center", fontsize=size, color=muted())

    # probabilities
    full = 1.0
    panel(axes, x[1], y[1], w, h, "2  probabilities p", size + 0.5)
    base = y[1] + 0.4
    bar = 0.24 if small else 0.36
    names(1, base - 0.17)
    for j, height in enumerate(p):
        axes.add_patch(Rectangle((columns(1)[j] - bar / 2, base), bar, full * height, facecolor="C0", alpha=0.6))
        axes.text(columns(1)[j], base + full * height + 0.1, f"{height:.2f}", ha="center", va="center", fontsize=size)

    # the loss
    panel(axes, x[1], y[0], w, h, "3  loss = −ln p", size + 0.5)
    across, up = w - (0.4 if small else 0.6), 0.56
    corner = (x[1] + (0.28 if small else 0.4), y[0] + 0.34)
    place = lambda q, loss: (corner[0] + across * q, corner[1] + up * loss)  # noqa: E731
    axes.plot([corner[0], corner[0], corner[0] + across], [corner[1] + up * 2.3, corner[1], corner[1]],
              color=muted(), linewidth=0.8)
    q = np.linspace(0.11, 1, 200)
    axes.plot(*place(q, -np.log(q)), color=ink(), linewidth=1.8)
    for tick in (0, 1):
        axes.text(corner[0] + across * tick, corner[1] - 0.13, f"{tick}", ha="center", va="center", fontsize=size - 0.5,
                  color=muted())
    axes.text(corner[0] + across / 2, corner[1] - 0.15, "p of I", ha="center", va="center", fontsize=size, color=muted())
    now, after, even = (float(p[right]), "C0"), (float(later[right]), "C2"), (1 / len(words), muted())
    for (chance, color), text, shift in (
        (even, "a guess: 1.39" if small else "0.25, an even guess: 1.39", (0.1, 0.06)),
        (now, f"now: {-np.log(now[0]):.2f}" if small else f"{now[0]:.2f}, now: {-np.log(now[0]):.2f}", (0.06, 0.14)),
        (after, f"after: {-np.log(after[0]):.2f}" if small else f"{after[0]:.2f}, after the step: {-np.log(after[0]):.2f}",
         (-0.1, -0.06)),
    ):
        at = place(chance, -np.log(chance))
        axes.plot(*at, "o", color=color, markersize=6, zorder=4)
        axes.text(at[0] + shift[0], at[1] + shift[1], text, ha="left" if shift[0] > 0 else "right", va="center",
                  fontsize=size, color=ink() if color == muted() else color)

    # the gradient: what is missing and what is too much
    panel(axes, x[0], y[0], w, h, "4  against p minus 1" if small else "4  the step goes against p minus 1", size + 0.5)
    base = y[0] + 0.4
    names(0, base - 0.17)
    for j, height in enumerate(p):
        wanted = 1.0 if j == right else 0.0
        at = columns(0)[j]
        axes.add_patch(Rectangle((at - bar / 2, base), bar, full * height, facecolor="C0", alpha=0.2))
        color = "C2" if j == right else "C1"
        axes.plot([at - bar / 2 - 0.04, at + bar / 2 + 0.04], [base + full * wanted] * 2, color=ink(), linewidth=1.3)
        axes.annotate("", (at, base + full * wanted), (at, base + full * height), arrowprops={
            "arrowstyle": "-|>", "color": color, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0,
            "mutation_scale": 9})
        axes.text(at + (0.05 if j == right and not small else 0), base + full * max(height, wanted) + 0.12,
                  f"{-gradient[j]:+.2f}".replace("-", "−"), ha="center", va="center", fontsize=size, color=color)
    if not small:
        axes.text(x[0] + w - 0.12, base + full + 0.12, "the arrows sum to 0", ha="right", va="center", fontsize=size,
                  color=muted())
    else:
        axes.text(x[0] + w - 0.07, base + 0.62, "arrows\nsum to 0", ha="right", va="center", fontsize=size, color=muted())

    # around
    half = w / 2
    for start, end, text, at, side in (
        ((x[0] + w + 0.03, y[1] + h / 2), (x[1] - 0.03, y[1] + h / 2), "softmax", (x[0] + w + gap / 2, y[1] + h / 2 + 0.13), "center"),
        ((x[1] + half, y[1] - 0.03), (x[1] + half, y[0] + h + 0.03), "its share for I", (x[1] + half + 0.1, middle), "left"),
        ((x[1] - 0.03, y[0] + h / 2), (x[0] + w + 0.03, y[0] + h / 2), "gradient", (x[0] + w + gap / 2, y[0] + h / 2 + 0.13), "center"),
        ((x[0] + half, y[0] + h + 0.03), (x[0] + half, y[1] - 0.03), "step", (x[0] + half + 0.1, middle), "left"),
    ):
        arrow(axes, start, end, "C5", 2.4)
        axes.texts[-1].arrow_patch.set_mutation_scale(16 if not small else 12)
        if not small or side == "left":
            axes.text(*at, text, ha=side, va="center", fontsize=size, color=ink())


@figure("flow", width=7.6, height=4.4, narrow=(3.7, 4.9))
def flow(data: Data, fig: Figure) -> None:
    """The data of a step: forward down the middle of two lanes, the gradients back beside them."""
    values = data.values(run="first")
    source, target_in, target_out = (values[name].split() for name in ("source", "target_in", "target_out"))
    d, words = int(values["d_model"]), int(values["target_words"])
    small = narrow()
    axes = blackboard(fig)
    wide, high = fig.get_size_inches()
    size = 7.4 if small else 9.5
    lanes = (0.66, 2.55) if small else (1.75, 5.0)
    box = 1.05 if small else 1.9
    ys = [high - at * (1 if not small else 1.1) for at in (0.3, 1.1, 2.0, 2.9, 3.75)]
    tall = 0.4
    forward, back = ink(), "C1"
    beside = 0.28 if small else 0.5

    def part(lane: int, row: int, text: str, edge: str | None = None) -> None:
        corner = (lanes[lane] - box / 2, ys[row] - tall / 2)
        axes.add_patch(FancyBboxPatch(corner, box, tall, boxstyle="round,pad=0,rounding_size=0.07", facecolor="C0",
                                      alpha=0.14, edgecolor="none"))
        axes.add_patch(FancyBboxPatch(corner, box, tall, boxstyle="round,pad=0,rounding_size=0.07", facecolor="none",
                                      edgecolor=edge or muted(), linewidth=1.8 if edge else 1))
        axes.text(lanes[lane], ys[row], text, ha="center", va="center", fontsize=size)

    def down(lane: int, row: int, shape: str, gradient: str) -> None:
        """What goes from a row to the next, and what comes back."""
        top, bottom = ys[row] - tall / 2, ys[row + 1] + tall / 2
        arrow(axes, (lanes[lane] - beside / 2, top), (lanes[lane] - beside / 2, bottom), forward, 1.4)
        axes.text(lanes[lane] - beside / 2 - 0.07, (top + bottom) / 2, shape, ha="right", va="center", fontsize=size)
        if gradient:
            arrow(axes, (lanes[lane] + beside / 2, bottom), (lanes[lane] + beside / 2, top), back, 1.8)
            axes.text(lanes[lane] + beside / 2 + 0.07, (top + bottom) / 2, gradient, ha="left", va="center",
                      fontsize=size, color=back)

    part(0, 1, "embed, positions")
    part(0, 2, "encoder")
    part(1, 1, "embed, positions", "C2")
    part(1, 2, "decoder")
    part(1, 3, "last map", "C2")
    part(1, 4, "loss")
    labels = (glossed(source), target_in)
    for lane, (text, name) in enumerate(zip(labels, ("source", "target in"), strict=True)):
        step = (0.205 if small else 0.36) if lane == 0 else (0.25 if small else 0.42)
        if small:
            axes.text(lanes[lane], ys[0], f"{name} [{len(text)}]", ha="center", va="center", fontsize=size)
        else:
            for j, word in enumerate(text):
                axes.text(lanes[lane] + step * (j - (len(text) - 1) / 2), ys[0], word, ha="center", va="center",
                          fontsize=size - 1.2, linespacing=1.05)
        bottom = ys[1] + tall / 2
        arrow(axes, (lanes[lane], ys[0] - (0.12 if small else 0.22)), (lanes[lane], bottom), forward, 1.4)
        if not small:
            axes.text(lanes[lane] + 0.08, (ys[0] + bottom) / 2 - 0.1, f"{name} [{len(text)}]", ha="left", va="center", fontsize=size - 0.5,
                      color=muted())
    n, m = len(source), len(target_in)
    down(0, 1, f"[{n}, {d}]", "d source")
    down(1, 1, f"[{m}, {d}]", "d target")
    down(1, 2, f"[{m}, {d}]", "dX")
    down(1, 3, f"[{m}, {words}]", "p − 1")

    # memory, across
    right_edge, left_edge = lanes[0] + box / 2, lanes[1] - box / 2
    for rise, start, end, color, width in ((0.09, right_edge, left_edge, forward, 1.4), (-0.09, left_edge, right_edge, back, 1.8)):
        arrow(axes, (start, ys[2] + rise), (end, ys[2] + rise), color, width)
    across = (right_edge + left_edge) / 2
    axes.text(across, ys[2] + 0.24, f"memory\n[{n}, {d}]" if small else f"memory [{n}, {d}]", ha="center", va="bottom" if small else "center", fontsize=size)
    axes.text(across, ys[2] - 0.17, "d memory:\na sum over\nits layers" if small else "d memory:\na sum over its layers", ha="center",
              va="top", fontsize=size, color=back)

    # what should have been said
    text = "target out" if small else "must say:  " + "  ".join(target_out)
    start = lanes[1] - box / 2 - (0.3 if small else 0.4)
    axes.text(start - 0.05, ys[4], text, ha="right", va="center", fontsize=size)
    arrow(axes, (start, ys[4]), (lanes[1] - box / 2, ys[4]), forward, 1.4)
    # one table
    side = lanes[1] + box / 2 + (0.16 if small else 0.4)
    for a, b in itertools.pairwise([(lanes[1] + box / 2, ys[1]), (side, ys[1]), (side, ys[3]), (lanes[1] + box / 2, ys[3])]):
        axes.plot(*zip(a, b, strict=True), color="C2", linewidth=1.4, linestyle=(0, (4, 2)))
    axes.text(side + 0.13, ys[2], "may be one table" if small else "may be\none table", rotation=90 if small else 0,
              ha="center" if small else "left", va="center", fontsize=size, color="C2")
    axes.text(lanes[0] - box / 2, 0.14, "down: forward", ha="left", va="center", fontsize=size)
    axes.text(lanes[1] + box / 2, 0.14, "up, orange: gradients", ha="right", va="center", fontsize=size, color=back)


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
