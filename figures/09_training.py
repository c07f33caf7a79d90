"""Figures of chapter 9."""

import numpy as np
from matplotlib.patches import FancyBboxPatch, Rectangle
from style import Axes, Data, Figure, arrow, blackboard, figure, glossed, ink, muted, narrow, panels, paper, say, sequential


def box(
    axes: Axes, left: float, bottom: float, width: float, height: float, edge: str | None = None, fill: str = "none", line: str = "-",
) -> None:
    for face, outline, alpha in ((fill, "none", 0.14), ("none", edge or muted(), 1)):
        axes.add_patch(FancyBboxPatch((left, bottom), width, height, boxstyle="round,pad=0,rounding_size=0.08",
                                      facecolor=face, edgecolor=outline, alpha=alpha, linewidth=1.8 if edge else 1, linestyle=line))


@figure("idea", width=7.6, height=4.6, narrow=(3.7, 4.6))
def idea(data: Data, fig: Figure) -> None:
    """One step of one word as a loop: logits, probabilities, loss, and the step against p minus 1."""
    words, right, small = ["P", "I", "have", "friend"], 1, narrow()
    names = ("logits_before", "logits_after", "p_before", "p_after")
    z, moved, p, later = (data.array(name, run="first").reshape(-1) for name in names)
    axes = blackboard(fig)
    wide, high = fig.get_size_inches()
    size = 7.4 if small else 9.5
    w, h = (1.68, 1.9) if small else (3.2, 1.93)
    left = 0.05 if small else 0.1
    x, y = (left, wide - left - w), (0.05, high - h - 0.1)
    step, bar = ((w - 0.2) / 4, 0.24) if small else ((w - 0.5) / 4, 0.36)
    at = [[left_edge + w / 2 + step * (j - 1.5) for j in range(4)] for left_edge in x]

    def write(a: float, b: float, text: str, color: str | None = None, side: str = "center", more: float = 0) -> None:
        axes.text(a, b, text.replace("-", "−"), ha=side, va="center", fontsize=size + more, color=color or ink())

    def panel(k: int, m: int, title: str, names: float = 0.0) -> None:
        """A box, and the four words, so far above its bottom."""
        below = 0.78 if k < m else 0  # room for what the step makes of the logits
        box(axes, x[k], y[m] + below, w, h - below)
        for text, a, b, side, bold in [(title, x[k] + 0.1, h - 0.17, "left", True)] + [
            (word, at[k][j], names, "center", j == right) for j, word in enumerate(words) if names
        ]:
            axes.text(a, y[m] + b, text, ha=side, va="center", fontsize=size + 0.5 * (side == "left"), fontfamily="DejaVu Sans",
                      fontweight="bold" if bold else "normal", color=ink() if bold else muted())

    panel(0, 1, "1  logits", h - 0.52)
    box(axes, x[0], y[1], w, 0.68, line="--")
    write(x[0] + 0.1, y[1] + 0.5, "after the step", muted(), "left")
    panel(1, 1, "2  probabilities p", 0.23)
    panel(0, 0, "4  against p minus 1" if small else "4  the step goes against p minus 1", 0.23)
    top, low = y[1] + 0.4, y[0] + 0.4
    for j in range(4):
        color, wanted = ("C2", 1.0) if j == right else ("C1", 0.0)
        write(at[0][j], y[1] + h - 0.86, f"{z[j]:.0f}", more=3)
        write(at[0][j], y[1] + 0.2, f"{moved[j]:.2f}", color, more=1)
        axes.add_patch(Rectangle((at[1][j] - bar / 2, top), bar, p[j], facecolor="C0", alpha=0.6))
        write(at[1][j], top + p[j] + 0.1, f"{p[j]:.2f}")
        axes.add_patch(Rectangle((at[0][j] - bar / 2, low), bar, p[j], facecolor="C0", alpha=0.2))
        axes.plot([at[0][j] - bar / 2 - 0.04, at[0][j] + bar / 2 + 0.04], [low + wanted] * 2, color=ink(), linewidth=1.3)
        arrow(axes, (at[0][j], low + p[j]), (at[0][j], low + wanted), color, 2.2)
        axes.texts[-1].arrow_patch.set_mutation_scale(9)
        write(at[0][j], low + max(p[j], wanted) + 0.12, f"{moved[j] - z[j]:+.2f}", color)
    said, rise = ("arrows\nsum to 0", 0.62) if small else ("the arrows sum to 0", 1.12)
    write(x[0] + w - 0.1, low + rise, said, muted(), "right")

    panel(1, 0, "3  loss = −ln p")
    across, up = w - (0.4 if small else 0.6), 0.56
    a, b = x[1] + (0.28 if small else 0.4), y[0] + 0.34
    axes.plot([a, a, a + across], [b + up * 2.3, b, b], color=muted(), linewidth=0.8)
    q = np.linspace(0.11, 1, 200)
    axes.plot(a + across * q, b - up * np.log(q), color=ink(), linewidth=1.8)
    for value, text in ((0, "0"), (0.5, "p of I"), (1, "1")):
        write(a + across * value, b - 0.14, text, muted())
    for chance, color, what, (right_by, up_by) in (
        (1 / 4, muted(), "a guess" if small else "an even guess", (0.1, 0.06)),
        (p[right], "C0", "now", (0.06, 0.14)),
        (later[right], "C2", "after" if small else "after the step", (-0.1, -0.06)),
    ):
        dot = (a + across * chance, b - up * np.log(chance))
        axes.plot(*dot, "o", color=color, markersize=6, zorder=4)
        write(dot[0] + right_by, dot[1] + up_by, ("" if small else f"{chance:.2f}, ") + f"{what}: {-np.log(chance):.2f}",
              ink() if color == muted() else color, "left" if right_by > 0 else "right")

    half, middle, between = w / 2, h / 2 - 0.08, (y[0] + h + y[1]) / 2
    first = y[1] + h - 0.6
    for start, end, text in (
        ((x[0] + w, first), (x[1], first), "" if small else "softmax"),
        ((x[1] + half, y[1]), (x[1] + half, y[0] + h), "p of I"),
        ((x[1], y[0] + middle), (x[0] + w, y[0] + middle), "" if small else "gradient"),
        ((x[0] + half, y[0] + h), (x[0] + half, y[1]), "step"),
    ):
        arrow(axes, start, end, "C5", 2.4)
        axes.texts[-1].arrow_patch.set_mutation_scale(12 if small else 16)
        if start[0] == end[0]:
            write(start[0] + 0.1, between, text, side="left")
        else:
            write(wide / 2, start[1] + 0.13, text)


@figure("flow", width=7.6, height=4.4, narrow=(3.7, 4.9))
def flow(data: Data, fig: Figure) -> None:
    """The data of a step: down two lanes, and the gradients back up beside them."""
    source, target = "我 有 一 个 好 朋 友 P".split(), "S I have a good friend . E".split()
    n, m, d, words = len(source), len(target) - 1, data.value("d_model", run="first"), data.value("target_words", run="first")
    small = narrow()
    axes = blackboard(fig)
    high = axes.get_ylim()[1]
    size, wide, tall, beside = (7.4, 1.05, 0.4, 0.14) if small else (9.5, 1.9, 0.4, 0.25)
    lanes = (0.66, 2.55) if small else (1.75, 5.0)
    rows = [high - down * (1.1 if small else 1) for down in (0.3, 1.1, 2.0, 2.9, 3.75)]

    def write(a: float, b: float, text: str, color: str | None = None, side: str = "center", **more: object) -> None:
        axes.text(a, b, text, **({"ha": side, "va": "center", "fontsize": size, "color": color or ink()} | more))

    for lane, row, text, edge in ((0, 1, "embed, positions", None), (0, 2, "encoder", None), (1, 1, "embed, positions", "C2"),
                                  (1, 2, "decoder", None), (1, 3, "last map", "C2"), (1, 4, "loss", None)):
        box(axes, lanes[lane] - wide / 2, rows[row] - tall / 2, wide, tall, edge, "C0")
        write(lanes[lane], rows[row], text)
    for lane, labels, name in ((0, glossed(source), "source"), (1, target[:-1], "target in")):
        if not small:
            for j, word in enumerate(labels):
                along = (0.36, 0.42)[lane] * (j - (len(labels) - 1) / 2)
                write(lanes[lane] + along, rows[0], word, fontsize=size - 1.2, linespacing=1.05)
        arrow(axes, (lanes[lane], rows[0] - (0.12 if small else 0.22)), (lanes[lane], rows[1] + tall / 2), width=1.4)
        middle = (lanes[lane], rows[0], "center") if small else (lanes[lane] + 0.08, (rows[0] + rows[1]) / 2, "left")
        write(middle[0], middle[1], f"{name} [{len(labels)}]", muted(), middle[2])
    for lane, row, shape, gradient in ((0, 1, (n, d), "d source"), (1, 1, (m, d), "d target"), (1, 2, (m, d), "dX"),
                                       (1, 3, (m, words), "(p − one-hot)/M")):
        a, top, bottom = lanes[lane], rows[row] - tall / 2, rows[row + 1] + tall / 2
        arrow(axes, (a - beside, top), (a - beside, bottom), width=1.4)
        arrow(axes, (a + beside, bottom), (a + beside, top), "C1", 1.8)
        write(a - beside - 0.07, (top + bottom) / 2, f"[{shape[0]}, {shape[1]:.0f}]", side="right")
        write(a + beside + 0.07, (top + bottom) / 2, gradient, "C1", "left")
    left, right = lanes[0] + wide / 2, lanes[1] - wide / 2
    arrow(axes, (left, rows[2] + 0.09), (right, rows[2] + 0.09), width=1.4)
    arrow(axes, (right, rows[2] - 0.09), (left, rows[2] - 0.09), "C1", 1.8)
    write((left + right) / 2, rows[2] + 0.16, f"memory{chr(10) if small else ' '}[{n}, {d:.0f}]", va="bottom")
    text = "d memory:\nsum over\ndecoder's\nlayers" if small else "d memory:\na sum over the\ndecoder's layers"
    write((left + right) / 2, rows[2] - 0.17, text, "C1", va="top")
    arrow(axes, (right - 0.4, rows[4]), (right, rows[4]), width=1.4)
    write(right - 0.45, rows[4], "target out" if small else f"must say:  {'  '.join(target[1:])}", side="right")
    side = lanes[1] + wide / 2 + (0.16 if small else 0.4)
    edge = lanes[1] + wide / 2
    axes.plot([edge, side, side, edge], [rows[1], rows[1], rows[3], rows[3]], color="C2", linewidth=1.4, linestyle=(0, (4, 2)))
    write(side + 0.13, rows[2], "may be one table" if small else "may be\none table", "C2", "center" if small else "left",
          rotation=90 if small else 0)
    write(lanes[0] - wide / 2, 0.14, "down: forward", side="left")
    write(edge, 0.14, "up, orange: gradients", "C1", "right")


@figure("valley", width=7.6, height=4.3, narrow=(3.7, 5.2))
def valley(data: Data, fig: Figure) -> None:
    """A valley from above, steep across and flat along, and two ways down."""
    axes = fig.subplots(2, 1)
    a, b = np.meshgrid(np.linspace(-1.6, 11.4, 260), np.linspace(-1.75, 1.75, 120))
    loss = (a**2 + 20 * b**2) / 2
    said = ("SGD: one rate for both weights", "Adam: each weight by its gradient's usual size")
    for ax, name, color, text in zip(axes, ("sgd", "adam"), ("C1", "C2"), said, strict=True):
        ax.contourf(a, b, loss, levels=[0, 1, 4, 10, 20, 35, 60, 120], cmap=sequential(), alpha=0.55, vmax=150)
        ax.contour(a, b, loss, levels=[1, 4, 10, 20, 35, 60], colors=muted(), linewidths=0.5)
        path = data.array(f"valley_{name}")[:, :12]
        for start, end in zip(path.T[:-1], path.T[1:], strict=True):
            arrow(ax, tuple(start), tuple(end), color, 1.5)
        ax.plot(*path[:, 0], "o", color=ink(), zorder=4)
        ax.plot(0, 0, "*", color=ink(), markersize=11, zorder=4)
        ax.text(10.25, 1.05, "start", ha="left", va="bottom", fontsize=9)
        ax.text(0, 0.3, "bottom", ha="center", va="bottom", fontsize=9)
        say(ax, 11.2, -1.48, text, ha="right", fontsize=8 if narrow() else 10, color=color,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": paper(), "edgecolor": "none", "alpha": 0.8})
        ax.set(xlim=(-1.6, 11.4), ylim=(-1.75, 1.75), yticks=(-1, 0, 1), ylabel="steep  $b$")
    axes[1].set_xlabel("flat  $a$")


def spread(ax: Axes, x: np.ndarray, many: np.ndarray, label: str, color: str, line: str) -> None:
    """The median of five seeds, and a band from the least to the most. @param many  [x, seed]"""
    ax.fill_between(x, many.min(1), many.max(1), color=color, alpha=0.2, linewidth=0)
    ax.plot(x, np.median(many, 1), line, color=color, marker="o", label=label)
    ax.plot(np.repeat(x, many.shape[1]), many.ravel(), ".", color=color, markersize=3, alpha=0.8)


@figure("sweep", width=7.0, height=3.8, narrow=(3.7, 4.2))
def sweep(data: Data, fig: Figure) -> None:
    ax = fig.subplots()
    for kind, label, color, line in (
        ("adam", "Adam", "C2", "--"),
        ("warm", "Adam, warm-up", "C3", "-."),
        ("sgd", "SGD, momentum 0.99", "C0", "-"),
    ):
        rates = data.array(f"{kind}_rates", run="sweep")
        spread(ax, rates, data.array(f"{kind}_losses", run="sweep"), label, color, line)
    ax.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="loss after 60 steps")
    ax.grid()
    ax.legend()


@figure("warmup", width=7.6, height=3.2, narrow=(3.7, 5.6))
def warmup(data: Data, fig: Figure) -> None:
    axes = panels(fig, 2)
    for kind, label, color, line in (("adam", "constant", "C2", "--"), ("warm", "warm-up", "C3", "-")):
        rates, curves, schedule = (
            data.array(f"{kind}_{what}", run="sweep") for what in ("rates", "curves", "schedule")
        )
        chosen = np.argmin(np.abs(rates - 3e-4))
        curves, step = curves[chosen], np.arange(1, curves.shape[2] + 1)  # [seed, step]
        axes[0].plot(step, 1e4 * schedule[chosen], line, color=color, label=label)
        axes[1].fill_between(step, curves.min(0), curves.max(0), color=color, alpha=0.2, linewidth=0)
        axes[1].semilogy(step, np.median(curves, 0), line, color=color, label=label)
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
