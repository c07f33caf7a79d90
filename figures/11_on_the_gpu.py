"""Figures of chapter 11."""

import math

import numpy as np
from style import Data, Figure, FigureError, arrow, blackboard, box, figure, ink, muted, narrow, paper, say


@figure("roofline", width=7.2, height=4.4, narrow=(3.7, 5.2))
def roofline(data: Data, fig: Figure) -> None:
    """The roof, and below it, on the same axis, the parts of a step."""
    above, axes = fig.subplots(2, 1, sharex=True, height_ratios=(1, 2.2))
    balance, level = data.value("balance"), data.array("roofs_of_arithmetic")[0] / 1e12
    left, right = 0.05, 1000.0
    above.plot([left, balance], [left / balance * level, level], color="C0", linewidth=2)
    above.plot([balance, right], [level, level], color="C1", linewidth=2)
    said = "{:.0f}" if narrow() else "arithmetic: {:.0f} TFLOP/s"
    above.annotate(said.format(level), (right, level), xytext=(0, 4), textcoords="offset points", ha="right")
    said = "{:.1f} TB/s" if narrow() else "memory: {:.1f} TB/s"
    above.annotate(said.format(level / balance), (0.5, level / balance / 2), xytext=(8, -8), textcoords="offset points")
    above.set(yscale="log", ylim=(0.15, 300), ylabel="TFLOP/s" if narrow() else "TFLOP/s at most")
    above.grid(axis="x")
    above.tick_params(axis="x", length=0)

    intensity = data.array("intensity")
    order = np.argsort(intensity, kind="stable")
    names = [data.value("intensity_names").split("|")[i] for i in order]
    intensity, rows = intensity[order], np.arange(len(names))
    middle = np.abs(np.log(intensity / balance)) < math.log(1.5)
    for chosen, color, hatch, label in (
        ((intensity < balance) & ~middle, "C0", "", "bound by memory"), (middle, "C2", "...", "near the balance"),
        ((intensity > balance) & ~middle, "C1", "///", "bound by arithmetic"),
    ):
        axes.barh(rows[chosen], intensity[chosen], 0.7, color=color, hatch=hatch, label=label)
    for each in (above, axes):
        each.axvline(balance, color=ink(), linewidth=1, linestyle="--")
    axes.annotate(
        f"in balance: {balance:.0f}", (balance, -0.1), xytext=(4, 0), textcoords="offset points", va="center",
        fontsize=8,
    )
    for row, value in zip(rows, intensity, strict=True):
        axes.annotate(
            f"{value:.3g}", (value, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8,
            color=muted(),
        )
    axes.set_xscale("log")
    axes.set_xlim(left, right)
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("operations per byte")
    axes.grid(axis="x")
    fig.legend(loc="outside lower center", ncols=2 if narrow() else 3)


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
    measured = data.array("ladder_measured")
    axes.plot(
        measured, rows[: len(measured)], "D", color=ink(), markeredgecolor=paper(), markersize=7, linestyle="none",
        label="measured on an RTX A6000",
    )
    axes.axvline(100, color=ink(), linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlim(0.5, 500)
    axes.set_xticks([1, 10, 100], ["1 %", "10 %", "100 %"])
    said = [f"{n + 1}: {name}\n{value:.3g} %" for n, (name, value) in enumerate(zip(names, share, strict=True))]
    for row, value in enumerate(measured):
        said[row] += f", measured {value:.2g} %"
    axes.set_yticks(rows, said)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("of the multiply-adds in FP32")
    axes.grid(axis="x")
    fig.legend(loc="outside lower center", ncols=2, columnspacing=1, handlelength=1.5)


# Drawings: threads and memory ---------------------------------------------------------------------


@figure("threads", width=7.6, height=2.4, narrow=(3.7, 2.4))
def threads(data: Data, fig: Figure) -> None:
    """The grid of the first kernel, and its last warp."""
    axes, small = blackboard(fig), narrow()
    n, block, warp, marked = 1000, 256, 32, 775
    blocks, warps = -(-n // block), block // warp
    each, low, high = (fig.get_size_inches()[0] - 0.1) / blocks, 1.1, 0.45
    said = "" if small else "; a bar is a warp"
    say(axes, 0.1, 2.29, f"the grid: {blocks} blocks of {block} threads{said}", ha="left")
    for b in range(blocks):
        left, wide = 0.05 + each * b, each - 0.1
        box(axes, left + 0.05, low, wide, high, edge=ink())
        pitch = (wide - 0.06) / warps
        for w in range(warps):
            x, filled = left + 0.08 + pitch * w, min(max(n - block * b - warp * w, 0), warp) / warp
            box(axes, x + 0.012, low + 0.05, pitch - 0.024, high - 0.1, "C0", alpha=0.2)
            box(axes, x + 0.012, low + 0.05, (pitch - 0.024) * filled, high - 0.1, "C0")
        if marked // block == b:
            x = left + 0.08 + 0.012 + (pitch - 0.024) * (marked % block + 0.5) / warp
            box(axes, x - 0.012, low + 0.05, 0.024, high - 0.1, "C1")
            axes.plot([x, x + 0.06], [low + high, low + high + 0.08], color="C1", linewidth=0.8)
            said = str(marked) if small else f"thread {marked % block}: {b} · {block} + {marked % block} = {marked}"
            say(axes, x + 0.09, low + high + 0.11, said, ha="left", color="C1", fontsize=8)
        if b == 0:
            say(axes, left + each / 2, low - 0.12, f"warps 0 … {warps - 1}", fontsize=8, color=muted())
        say(axes, left + each / 2, low + high + 0.46, f"block {b}")
        said = f"{block * b} … {block * (b + 1) - 1}"
        say(axes, left + each / 2, low + high + 0.3, said, color=muted(), fontsize=8)
    right = fig.get_size_inches()[0] - 0.1
    cell, top = (right - 0.1) / warp, 0.6
    axes.plot([right - (each - 0.16) / warps, 0.1], [low, top], color=muted(), linewidth=0.8)
    axes.plot([right - 0.03, right], [low, top], color=muted(), linewidth=0.8)
    used = n % warp
    for lane in range(warp):
        box(axes, 0.1 + cell * lane, top - 0.25, cell, 0.25, "C0", alpha=1 if lane < used else 0.2, edge=paper())
    say(axes, 0.1, top - 0.4, f"{used} lanes: {n - used} … {n - 1}", ha="left")
    which = "" if small else f" lanes, {n} … {block * blocks - 1},"
    said = f"{warp - used}{which} without an element"
    say(axes, right, top - 0.4, said, ha="right", color=muted())
    said = f"warp {warps - 1} of block {blocks - 1}, " + ("larger" if small else f"larger: lanes 0 … {warp - 1}")
    say(axes, right - 0.15, top + 0.12, said, ha="right", fontsize=8)


@figure("waves", width=7.6, height=2.35, narrow=(3.7, 2.35))
def waves(data: Data, fig: Figure) -> None:
    """Blocks that all take equally long, on cores that hold two each."""
    axes = blackboard(fig)
    blocks, cores, places = 18, 4, 2
    count, high, left = -(-blocks // (cores * places)), 0.2, 0.6
    wide, top = (fig.get_size_inches()[0] - left - 0.1) / count, 2.05
    empty = count * cores * places - blocks
    for b in range(count * cores * places):
        wave, place, core = b // (cores * places), b // cores % places, b % cores
        x, y = left + wide * wave, top - (core * places + place + 1) * high - 0.06 * core
        inside = x + 0.02, y + 0.02, wide - 0.04, high - 0.04
        if b >= blocks:
            box(axes, *inside, edge=muted(), linestyle=":")
            say(axes, x + wide / 2, y + high / 2 - 0.01, "empty", fontsize=7, color=muted())
            continue
        box(axes, *inside, "C1" if wave == count - 1 else "C0", alpha=0.45)
        say(axes, x + wide / 2, y + high / 2 - 0.01, str(b), fontsize=8)
    for core in range(cores):
        say(axes, left - 0.08, top - (core * places + 1) * high - 0.06 * core, f"core {core}", ha="right")
    for wave in range(count):
        tail = f"tail: {empty} empty" if narrow() else f"tail: {empty} of {b + 1} places are empty"
        say(axes, left + wide * (wave + 0.5), top + 0.14, f"wave {wave + 1}" if wave < count - 1 else tail)
    for wave in range(count + 1):
        axes.plot([left + wide * wave] * 2, [0.15, 0.25], color=muted(), linewidth=0.8)
        at = {"ha": "right"} if wave == count else {}
        say(axes, left + wide * wave, 0.07, str(wave), fontsize=8, color=muted(), **at)
    arrow(axes, (left, 0.2), (fig.get_size_inches()[0] - 0.1, 0.2), muted())
    say(axes, left - 0.08, 0.2, "time", ha="right", color=muted())


@figure("queue", width=7.6, height=1.75, narrow=(3.7, 1.75))
def queue(data: Data, fig: Figure) -> None:
    """The host launches a kernel with an error in it and goes on; a call that waits reports the error."""
    axes, small = blackboard(fig), narrow()
    left, right = 0.65, fig.get_size_inches()[0] - 0.15
    unit = (right - left) / 10

    def bar(begin: float, end: float, y: float, color: str, text: str) -> None:
        box(axes, left + unit * begin, y, unit * (end - begin), 0.26, color, alpha=0.45, edge=paper())
        say(axes, left + unit * (begin + end) / 2, y + 0.12, text, fontsize=7 if small else 8)

    host, device = 1.15, 0.55
    bar(0, 1.5, host, "C0", "launch")
    bar(1.5, 5.5, host, "C6", "goes on")
    bar(5.5, 9, host, "C0", "copy: waits" if small else "cudaMemcpy: waits")
    bar(2, 8, device, "C1", "the kernel" if small else "the kernel runs")
    arrow(axes, (left + unit * 1.5, host), (left + unit * 2, device + 0.26), muted())
    fault, told = (left + unit * 7.7, device + 0.13), (left + unit * 9, host)
    axes.plot(*fault, "x", color=ink(), markersize=8, markeredgewidth=2)
    arrow(axes, (left + unit * 8, device + 0.26), told, ink())
    say(axes, left, host + 0.4, "returns at once", ha="left", fontsize=8)
    say(axes, right, host + 0.4, "reports the error", ha="right", fontsize=8)
    say(axes, fault[0], device - 0.14, "wrong address", fontsize=8)
    for y, text in ((host, "host"), (device, "device")):
        say(axes, left - 0.1, y + 0.12, text, ha="right")
    arrow(axes, (left, 0.2), (right, 0.2), muted())
    say(axes, left - 0.1, 0.2, "time", ha="right", color=muted())


@figure("sectors", width=7.6, height=2.05, narrow=(3.7, 5.35))
def sectors(data: Data, fig: Figure) -> None:
    """The first request of a warp that copies some elements per thread, and the second."""
    axes = blackboard(fig)
    lanes, of_sector, lines = 32, 8, 8
    cell = 3.5 / lanes if narrow() else 2.3 / lanes
    high, top = 0.12, fig.get_size_inches()[1] - 0.5
    for n, together in enumerate((1, 2, 8)):
        left, first = (0.1, top - 1.66 * n) if narrow() else (0.13 + 2.52 * n, top)
        read = [together * lane for lane in range(lanes)]
        moved = sorted({element // of_sector for element in read})
        if len(moved) != data.value(f"copy_{together}_sectors"):
            raise FigureError(f"{len(moved)} sectors, but the emulator counts others")

        def number(element: int, color: str, left: float = left, first: float = first) -> None:
            x, y = left + cell * (element % lanes), first - high * (element // lanes + 1)
            box(axes, x, y, cell, high, color, edge=paper(), linewidth=0.3)

        for s in range(lanes * lines // of_sector):
            x, y = left + cell * (of_sector * s % lanes), first - high * (of_sector * s // lanes + 1)
            if s in moved:
                box(axes, x, y, cell * of_sector, high, "C0", alpha=0.25)
            box(axes, x, y, cell * of_sector, high, edge=muted(), linewidth=0.4)
        for element in read:
            number(element, "C0")
            if together > 1:
                number(element + 1, "C1")
        said = "one per thread" if together == 1 else f"{together} together"
        say(axes, left, first + 0.34, f"{said}: {len(moved)} sectors", ha="left", fontsize=9)
        used, whole = 4 * lanes, 4 * of_sector * len(moved)
        say(axes, left, first - high * lines - 0.13, f"used at once: {used} of {whole:,} bytes", ha="left",
            fontsize=8, color="C0")
        for lane in range(0, lanes // together, max(1, of_sector // together)):
            x = left + cell * (together * lane + 0.5)
            say(axes, x, first + 0.1, f"lane {lane}" if lane == 0 else str(lane), fontsize=7, color=muted(),
                ha="left" if lane == 0 else "center")
    x = 0.1
    for color, alpha, text in (("C0", 1, "first request"), ("C0", 0.25, "moved, too"), ("C1", 1, "second")):
        box(axes, x, 0.1, cell, high, color, alpha=alpha)
        say(axes, x + cell + 0.05, 0.15, text, ha="left", fontsize=8)
        x += 1.02
    if not narrow():
        say(axes, x + 0.2, 0.15, "a row: 128 bytes, 4 sectors", ha="left", fontsize=8, color=muted())


@figure("memories", width=7.6, height=2.75, narrow=(3.7, 2.75))
def memories(data: Data, fig: Figure) -> None:
    """The memories of a device, how large and how fast they are, and who uses them for what."""
    axes, small = blackboard(fig), narrow()
    device, l2, shared = data.array("roofs_of_memory") / 1e12
    right = fig.get_size_inches()[0] - (0.72 if small else 2.5)
    size, wide = 7.5 if small else 8.5, (right - 0.4) / 2
    for left, name in ((0.1, "core 0"), (0.4 + wide, "core 131")):
        box(axes, left, 1.28, wide, 1.36, edge=ink())
        say(axes, left + 0.08, 2.5, name, ha="left", fontsize=size)
        for y, color, text in ((1.98, "C1", "registers, 256 KiB"), (1.38, "C3", "shared, 227 KiB")):
            box(axes, left + 0.07, y, wide - 0.14, 0.34, color, alpha=0.3)
            say(axes, left + wide / 2, y + 0.165, text, fontsize=size)
    say(axes, 0.25 + wide, 1.9, "…", fontsize=12)
    for y, color, text in ((0.66, "C2", "L2 cache, 60 MB"), (0.06, "C0", "device memory, 141 GB")):
        box(axes, 0.1, y, right - 0.1, 0.34, color, alpha=0.3)
        say(axes, (0.1 + right) / 2, y + 0.165, text, fontsize=size)
    for y, x, speed in ((1.72, 0.3, shared), (1.0, right / 2 - 0.8, l2), (0.4, right / 2 - 0.8, device)):
        arrow(axes, (x, y), (x, y + (0.26 if y > 1.5 else 0.38 if y > 0.9 else 0.26)), head="<|-|>")
        share = f"{1000 * speed / 132:.0f} GB/s a core"
        said = share if small and y > 1.5 else f"{speed:.3g} TB/s, {share}"
        say(axes, x + 0.1, y + 0.13, said, ha="left", fontsize=size)
    for y, who, what in ((2.15, "one thread", "what it computes with"), (1.55, "one block", "what its threads pass on"),
                         (0.83, "all", "what was read a moment ago"), (0.23, "all", "tensors")):
        said = f"{who}" if small else f"{who}: {what}"
        say(axes, right + 0.1, y, said, ha="left", fontsize=size, color=muted() if small else ink())
