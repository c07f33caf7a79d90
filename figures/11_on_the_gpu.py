"""Figures of chapter 11."""

import numpy as np
from style import Data, Figure, figure, ink, muted, narrow, paper


@figure("roofline", width=7.2, height=3.4, narrow=(3.7, 4.0))
def roofline(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    names = data.value("intensity_names").split("|")
    intensity = data.array("intensity")
    rows = np.arange(len(names))
    balance = data.value("balance")
    bounded_by_memory = intensity < balance
    for memory, color, hatch, label in (
        (True, "C0", "", "bound by memory"), (False, "C1", "///", "bound by arithmetic"),
    ):
        chosen = bounded_by_memory == memory
        axes.barh(rows[chosen], intensity[chosen], 0.7, color=color, hatch=hatch, label=label)
    axes.axvline(balance, color=ink(), linewidth=1, linestyle="--")
    for row, value in zip(rows, intensity, strict=True):
        axes.annotate(
            f"{value:.3g}", (value, row), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize=8, color=muted(),
        )
    axes.set_xscale("log")
    axes.set_xlim(0.05, 1000)
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("operations per byte")
    axes.grid(axis="x")
    if narrow():  # beside the bars, there is no room for it
        fig.legend(loc="outside lower center", ncols=2)
    else:
        axes.legend(loc="upper right")


@figure("roofs", width=7.2, height=5.0, narrow=(3.7, 6.0))
def roofs(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    slopes, levels = data.array("roofs_of_memory") / 1e12, data.array("roofs_of_arithmetic") / 1e12
    left, right = 0.1, 3000.0
    colors, dashes = ("C0", "C2", "C1"), ("-", "--", "-.")
    for slope, name, color, dash in zip(slopes, ("device memory", "L2 cache", "shared memory"), colors, dashes, strict=True):
        ends = np.array([left, levels[-1] / slope])
        axes.plot(ends, ends * slope, color=color, linestyle=dash, label=f"{name}, {slope:.3g} TB/s")
    for level, name in zip(levels, ("FP32", "TF32", "bf16"), strict=True):
        axes.plot([level / slopes[-1], right], [level, level], color=ink(), linewidth=1.2)
        axes.annotate(
            f"{name}, {level:.4g}", (right, level), xytext=(0, -3), textcoords="offset points", ha="right", va="top",
            fontsize=8, color=ink(),
        )

    kernels = data.array("kernel_intensity")  # operations per byte of each memory
    names = data.value("kernel_names").split("|")
    parts = data.value("intensity_names").split("|")
    for part in ("residual, dropout, norm", "attention, fused", "linear map, 512 to 512"):
        intensity = data.array("intensity")[parts.index(part)]
        kernels = np.vstack([kernels, [intensity, np.inf, np.inf]])  # their caches were not counted
        names.append(part)
    points = []
    for intensity, name, marker in zip(kernels, names, "osD^vPX", strict=True):
        memory = int(np.argmin(intensity * slopes))
        bound = intensity[memory] * slopes[memory]
        color = colors[memory] if bound < levels[0] else ink()
        points += axes.plot(
            intensity[memory], min(bound, levels[0]), marker, color=color, markeredgecolor=ink(), markersize=6.5,
            linestyle="none", label=name, zorder=3,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(0.5, 2000)
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("TFLOP/s at most")
    axes.grid(color=muted(), alpha=0.2)
    lines = [line for line in axes.get_lines() if line.get_label().endswith("TB/s")]
    axes.legend(handles=lines, loc="lower right")
    fig.legend(handles=points, loc="outside lower center", ncols=2 if narrow() else 4)


@figure("ladder", width=7.2, height=4.4, narrow=(3.7, 4.8))
def ladder(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    slopes, levels = data.array("roofs_of_memory"), data.array("roofs_of_arithmetic")
    names = data.value("ladder_names").split("|")
    level = np.full(len(names), levels[0])
    level[-1] = levels[1]  # of tensor cores
    roofs = np.column_stack([data.array("ladder_intensity") * slopes, level])
    lowest, share = roofs.argmin(axis=1), 100 * roofs.min(axis=1) / levels[0]
    rows = np.arange(len(names))
    for roof, color, hatch, label in (
        (1, "C2", "", "bounded by L2"), (2, "C1", "///", "by shared memory"), (3, "C0", "...", "by arithmetic"),
    ):
        chosen = lowest == roof
        axes.barh(rows[chosen], share[chosen], 0.7, color=color, hatch=hatch, label=label)
    published = data.array("ladder_published")
    axes.plot(
        published, rows[: len(published)], "D", color=ink(), markeredgecolor=paper(), markersize=7, linestyle="none",
        label="measured on an RTX A6000",
    )
    axes.axvline(100, color=ink(), linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlim(0.5, 500)
    axes.set_xticks([1, 10, 100], ["1 %", "10 %", "100 %"])
    axes.set_yticks(rows, [f"{name}\n{value:.3g} %" for name, value in zip(names, share, strict=True)])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("bars: of FP32; diamonds: of cuBLAS")
    axes.grid(axis="x")
    fig.legend(loc="outside lower center", ncols=2)
