"""Figures of chapter 12."""

import numpy as np
from style import Data, Figure, figure, ink, muted, narrow, panels, paper


@figure("roofline", width=7.2, height=4.0, narrow=(3.7, 4.6))
def roofline(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    points = dict(zip(data.value("point_names").split("|"), data.array("points"), strict=True))
    peak, stream = data.value("product_flops"), data.value("stream")
    intensity = np.geomspace(0.3, 600, 200)
    axes.loglog(intensity, np.minimum(peak, intensity * stream), color=ink(), label="roof")
    below, above = (0, -11), (0, 5)
    for label, begin, end, marker, color, fill, place in (
        ("linear map, so many rows", "linear map, ", " row", "o", "C0", True, above),
        ("attention, so many words", "attention, ", " words", "s", "C1", True, above),
        ("the same, causal", "attention, ", " words, causal", "s", "C1", False, below),
    ):
        shown = []
        for name, point in points.items():
            size = name.removeprefix(begin).removesuffix(end).removesuffix(end + "s")
            if name.startswith(begin) and size.isdigit():
                shown.append((size, point))
        axes.plot(
            [x for _, (x, _) in shown], [y for _, (_, y) in shown], marker, color=color,
            markerfacecolor=color if fill else "none", label=label,
        )
        for size, point in shown:
            close = marker == "o" and point[1] > 0.8 * min(peak, point[0] * stream)
            if point[1] > 0.8 * peak:
                beside = (7 if narrow() and size == "1024" else 0, 9)  # there, 256 is close
            else:  # away from the slanted line
                beside = (-8, -3) if point[1] > point[0] * stream else (8, -6)
            axes.annotate(
                size, point, xytext=beside if close else place, textcoords="offset points",
                ha="center", fontsize=7.5, color=muted(),
            )
    for (name, marker), color in zip(
        (
            ("attention of one query", "D"), ("matrix product, 512 x 512", "^"),
            ("gradients of 16 rows, SGD", "v"), ("the toy's step", "P"),
        ),
        ("C1", "C2", "C2", "C3"), strict=True,
    ):
        axes.plot(*points[name], marker, color=color, label=name)
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("GFLOP/s")
    axes.set_xlim(0.3, 600)
    axes.set_ylim(top=2 * peak)
    axes.grid()
    fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=1 if narrow() else 3)


@figure("gains", width=7.2, height=7.4, narrow=(3.7, 8.2))
def gains(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    labels: list[str] = []
    for group, marker, color, label in (
        ("gains", "o", "C0", "fast way on all threads"), ("traps", "s", "C1", "trap avoided"),
    ):
        keys = data.value(group).split("|")
        keys.sort(key=lambda key: -data.value(f"{key}_gain"))
        for i, key in enumerate(keys):
            y = len(labels)
            low, high = data.value(f"{key}_low"), data.value(f"{key}_high")
            axes.plot([low, high], [y, y], color=color, linewidth=4, alpha=0.4)
            if group == "gains":
                axes.plot(
                    data.value(f"{key}_tuned"), y, "o", color=color, markerfacecolor="none",
                    label=None if i else "fast way on one thread",
                )
            axes.plot(
                data.value(f"{key}_gain"), y, marker, color=color, label=None if i else label
            )
            labels.append(data.value(f"{key}_name"))
    axes.axvline(1, color=muted(), linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    ticks = [t for t in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if axes.get_xlim()[0] <= t]
    ticks = [t for t in ticks if t <= axes.get_xlim()[1]]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="both")
    axes.set_xlabel("plain time / other time")
    columns = 1 if narrow() else 3
    fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


@figure("steps", width=7.4, height=4.0, narrow=(3.7, 6.4))
def steps(data: Data, fig: Figure) -> None:
    for axes, key in zip(panels(fig, 2), ("toy", "small"), strict=True):
        names = data.value(f"{key}_names").split("|")
        bars = data.array(f"{key}_bars")
        shown = [i for i, name in enumerate(names) if bars[i] >= 0.004 * bars.sum()]
        if key == "toy":
            written = dict(zip(data.value("toy_written_names").split("|"), data.array("toy_written_bars"), strict=True))
            axes.barh([i - 0.2 for i in range(len(shown))], [written.get(names[i], 0) for i in shown], 0.3, color="C3", label="gradients written")
            axes.barh([i + 0.15 for i in range(len(shown))], bars[shown], 0.4, color="C0", label="gradients wait")
            axes.legend(loc="lower right")
        else:
            axes.barh(range(len(shown)), bars[shown], 0.6, color="C0")
        axes.set_yticks(range(len(shown)), [names[i] for i in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_xlabel(f"{key}: ms of a step")


@figure("timeline", width=7.4, height=3.2, narrow=(3.7, 4.2))
def timeline(data: Data, fig: Figure) -> None:
    blocks = data.json("trace.json", run="trace")["traceEvents"]
    blocks.sort(key=lambda b: (b["ts"], -b["dur"]))
    start = blocks[0]["ts"]
    total: dict[str, float] = {}
    rows: list[tuple[int, dict]] = []
    open_blocks: list[dict] = []
    for block in blocks:
        while open_blocks and block["ts"] >= open_blocks[-1]["ts"] + open_blocks[-1]["dur"]:
            open_blocks.pop()
        rows.append((len(open_blocks), block))
        open_blocks.append(block)
        total[block["name"]] = total.get(block["name"], 0) + block["dur"]
    known = sorted(total, key=lambda name: -total[name])[:6]
    axes = fig.subplots()
    for i, name in enumerate([*known, "all others"]):
        for depth in sorted({d for d, _ in rows}):
            spans = [
                ((b["ts"] - start) / 1e3, b["dur"] / 1e3)
                for d, b in rows
                if d == depth and (b["name"] == name or (i == 6 and b["name"] not in known))
            ]
            if spans:
                axes.broken_barh(
                    spans, (-depth - 0.45, 0.9), facecolor=f"C{i}", edgecolor=paper(),
                    linewidth=0.2,
                )
        axes.plot([], [], "s", color=f"C{i}", label=name)
    depths = range(max(d for d, _ in rows) + 1)
    axes.set_yticks([-d for d in depths], [str(d) for d in depths])
    axes.set_ylabel("depth of nesting")
    axes.set_xlabel("ms from the beginning of the step")
    axes.set_xlim(0, max(b["ts"] + b["dur"] for b in blocks) / 1e3 - start / 1e3)
    fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2 if narrow() else 4)
