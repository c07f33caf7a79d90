"""Draws plots of what bench.py measured, in the book's style, light and dark.

    build/venv/bin/python bench/plots.py build/bench/results.json build/bench/plots

There is one function per figure; figures without data are not drawn.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli

OURS = "ours"
LABELS = {
    OURS: "this book",
    "eager": "PyTorch, as in a tutorial",
    "tuned": "PyTorch, tuned",
    "compile": "PyTorch, compiled",
    "ctranslate2": "CTranslate2",
}
COLORS = {OURS: "C0", "eager": "C1", "tuned": "C2", "compile": "C3", "ctranslate2": "C5"}
MARKERS = {OURS: "o", "eager": "s", "tuned": "^", "compile": "D", "ctranslate2": "v"}


def spread(axes, y: float, quartiles: dict, name: str, label: str) -> None:
    axes.plot(
        [quartiles["low"], quartiles["high"]],
        [y, y],
        color=COLORS[name],
        linewidth=3,
        alpha=0.5,
        solid_capstyle="butt",
    )
    axes.plot(quartiles["median"], y, MARKERS[name], color=COLORS[name], label=label)


def legend(fig, axes) -> None:
    """Draws the legend below the plot, with each label once, ours first."""
    found = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    order = [label for label in LABELS.values() if label in found] or list(found)
    fig.legend([found[label] for label in order], order, loc="outside lower center", ncols=3)


def doubling(axes) -> None:
    """Makes the axis a scale of ratios, marked at powers of two."""
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    ticks = [2.0**n for n in range(-6, 12) if low <= 2.0**n <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()


def line_up(axes, labels: list[str]) -> None:
    """Gives each label a line of the plot, from top to bottom."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y")


def on(threads: int) -> str:
    return f"{threads} thread" + ("s" if threads > 1 else "")


def title(entry: dict) -> str:
    mark = " (disturbed)" if entry["noise"]["disturbed"] else ""
    return f"{entry['work'].replace('_', ' ')}, {on(entry['threads'])}{mark}"


def ratios(results: dict) -> tuple[float, Callable] | None:
    """How many times ours runs while a peer runs once."""
    entries = [e for e in results["works"] if not e["family"] and e.get("ratios")]
    if not entries:
        return None

    def draw(fig, style) -> None:
        axes = fig.subplots()
        axes.axvline(1, color=style.ink(), linewidth=0.8)
        for y, entry in enumerate(entries):
            for name, ratio in entry["ratios"].items():
                spread(axes, y, ratio["time"], name, LABELS[name])
        doubling(axes)
        axes.set_xlabel("time of the peer / time of this book")
        line_up(axes, [title(e) for e in entries])
        legend(fig, axes)

    return 1.3 + 0.28 * len(entries), draw


def memory(results: dict) -> tuple[float, Callable] | None:
    """Peak memory of each system."""
    entries = [e for e in results["works"] if not e["family"] and e["kind"] != "product"]
    if not entries:
        return None

    def draw(fig, style) -> None:
        axes = fig.subplots()
        for y, entry in enumerate(entries):
            for name, system in entry["systems"].items():
                axes.plot(
                    system["peak_kb"] / 1024,
                    y,
                    MARKERS[name],
                    color=COLORS[name],
                    label=LABELS[name],
                )
        axes.set_xlim(0, None)
        axes.set_xlabel("peak memory of the process, MiB")
        line_up(axes, [title(e) for e in entries])
        legend(fig, axes)

    return 1.3 + 0.28 * len(entries), draw


def floors(results: dict) -> tuple[float, Callable] | None:
    """Each system's time, divided by the least that this machine allows."""
    entries = [e for e in results["works"] if not e["family"] and "floor" in e]
    if not entries:
        return None

    def draw(fig, style) -> None:
        axes = fig.subplots()
        axes.axvline(1, color=style.ink(), linewidth=0.8)
        for y, entry in enumerate(entries):
            least = entry["floor"]["floor_ms"]
            for name, system in entry["systems"].items():
                over = {key: value / least for key, value in system["ms"].items()}
                spread(axes, y, over, name, LABELS[name])
        doubling(axes)
        axes.set_xlabel("time / floor (memory traffic or products, whichever is longer)")
        line_up(axes, [title(e) for e in entries])
        legend(fig, axes)

    return 1.3 + 0.28 * len(entries), draw


def operations(results: dict) -> tuple[float, Callable] | None:
    """The times of single operations, divided by their floors."""
    names = list(dict.fromkeys(o["name"] for o in results["operations"] if o["floor_ms"]))
    names = [n for n in names if n not in ("read", "copy", "update")]
    if len(names) < 5:  # only those that the limits come from
        return None

    def draw(fig, style) -> None:
        axes = fig.subplots()
        axes.axvline(1, color=style.ink(), linewidth=0.8)
        counts = sorted({o["threads"] for o in results["operations"]})
        for color, marker, threads in zip(("C0", "C1", "C2", "C3"), "os^D", counts, strict=False):
            own = {o["name"]: o for o in results["operations"] if o["threads"] == threads}
            places = [y for y, name in enumerate(names) if name in own]
            over = [own[names[y]]["ms"] / own[names[y]]["floor_ms"] for y in places]
            axes.plot(over, places, marker, color=color, label=on(threads), markersize=3.5)
        doubling(axes)
        axes.set_xlabel("time / floor (memory traffic or products, whichever is longer)")
        line_up(axes, [name.replace("_", " ").replace("/", ", ") for name in names])
        axes.tick_params(axis="y", labelsize=6.5)
        legend(fig, axes)

    return 0.8 + 0.145 * len(names), draw


def growth(results: dict) -> tuple[float, Callable] | None:
    """Time and memory of the small model's step as length, batch and threads grow."""
    entries = [e for e in results["works"] if e["family"] == "growth"]
    if not entries:
        return None
    counts = sorted({e["threads"] for e in entries})
    kinds = [k for k in ("length", "batch") if any(e["work"].startswith(k) for e in entries)]

    def draw(fig, style) -> None:
        grid = fig.subplots(2, len(kinds), squeeze=False, sharex="col")
        for column, kind in enumerate(kinds):
            for threads, dash in zip(counts, ("-", "--", ":", "-."), strict=False):
                own = [e for e in entries if e["work"].startswith(kind) and e["threads"] == threads]
                for name, text in LABELS.items():
                    points = [e for e in own if name in e["systems"]]
                    places = [e[kind] for e in points]
                    label = f"{text}, {on(threads)}"
                    look = {"color": COLORS[name], "marker": MARKERS[name], "linestyle": dash}
                    systems = [e["systems"][name] for e in points]
                    if points:
                        times = [s["ms"]["median"] for s in systems]
                        grid[0, column].plot(places, times, label=label, **look)
                        peaks = [s["peak_kb"] / 1024 for s in systems]
                        grid[1, column].plot(places, peaks, label=label, **look)
            places = sorted({e[kind] for e in entries if e["work"].startswith(kind)})
            for axes in grid[:, column]:
                axes.set_xscale("log", base=2)
                axes.set_xticks(places, [str(n) for n in places])
                axes.minorticks_off()
                axes.grid()
            grid[0, column].set_yscale("log")
            grid[1, column].set_ylim(0, None)
            grid[1, column].set_xlabel(
                {"length": "words a sentence (8 sentences)", "batch": "sentences (24 words)"}[kind]
            )
        grid[0, 0].set_ylabel("a step, ms")
        grid[1, 0].set_ylabel("peak memory, MiB")
        handles = grid[0, 0].get_legend_handles_labels()
        fig.legend(*handles, loc="outside lower center", ncols=3)

    return 5.4, draw


FIGURES = {
    "ratios": ratios,
    "floors": floors,
    "memory": memory,
    "operations": operations,
    "growth": growth,
}


def pictures(results: dict) -> Iterator[tuple[str, bytes]]:
    """File names and SVG of all figures for which there are data."""
    import style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    for name, make in FIGURES.items():
        figure = make(results)
        if figure is None:
            continue
        height, draw = figure
        for look in style.LOOKS:
            with style.look(look):
                fig = Figure(figsize=(7.4, height), layout="constrained")
                canvas = FigureCanvasSVG(fig)
                draw(fig, style)
                picture = io.BytesIO()
                canvas.print_figure(picture, format="svg", metadata={"Date": None, "Creator": None})
            yield f"{name}.{look}.svg", picture.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MPLCONFIGDIR", str(options.out.resolve() / ".matplotlib"))
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))
    from draw import write_if_changed

    results = json.loads(options.results.read_text(encoding="utf-8"))
    written = set()
    for name, picture in pictures(results):
        write_if_changed(options.out / name, picture)
        written.add(options.out / name)
    for old in set(options.out.glob("*.svg")) - written:
        old.unlink()
    print(f"{len(written) // 2} plots, light and dark, in {options.out.name}/")


if __name__ == "__main__":
    cli.run(main)
