"""Figures of chapter 14."""

import numpy as np
from blackboard import RANKS
from blackboard import box as rounded
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.path import Path
from style import Data, Figure, arrow, blackboard, box, figure, ink, muted, narrow, say


@figure("sent", width=5.6, height=3.0, narrow=(3.7, 3.0))
def sent(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    counted = data.array("sent", run="bytes")
    ranks = np.linspace(2, counted[-1, 0], 100)
    axes.plot(ranks, 2 * (ranks - 1) / ranks, color="C0", label="2 (n − 1) / n")
    axes.plot(ranks, ranks - 1, color="C1", label="n − 1")
    axes.plot(counted[:, 0], counted[:, 1], "x", color="C0", label="ring")
    axes.plot(counted[:, 0], counted[:, 2], "+", color="C1", label="through one rank")
    axes.set_xlabel("ranks n")
    axes.set_ylabel("rows sent by the busiest rank")
    axes.set_ylim(bottom=0)
    axes.grid()
    axes.legend()


@figure("links", width=5.6, height=3.0, narrow=(3.7, 3.0))
def links(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    sizes, times = data.array("message_bytes", run="links"), data.array("message_seconds", run="links")
    latency = 1e-6 * data.value("latency", run="links")
    bandwidth = 1e9 * data.value("bandwidth", run="links")
    line = np.geomspace(sizes[0], sizes[-1], 200)
    axes.loglog(line, 1e6 * (latency + line / bandwidth), color="C0", label="latency + bytes / bandwidth")
    axes.loglog(sizes, 1e6 * times, "x", color="C1", label="measured")
    axes.set_xlabel("bytes of a message")
    axes.set_ylabel("time / µs")
    axes.grid()
    axes.legend()


@figure("ring_times", width=5.6, height=3.0, narrow=(3.7, 3.0))
def ring_times(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    times = data.array("ring_ms", run="links")
    for k, (network, most) in enumerate((("NVLink 4, 450 GB/s", 8), ("400 Gb/s", 1024), ("100 Gb/s", 1024))):
        there = times[:, 0] <= most
        axes.loglog(times[there, 0], times[there, 1 + k], marker="os^"[k], color=f"C{k}", label=network)
    axes.set_xscale("log", base=2)
    axes.set_xticks(times[:, 0], [f"{n:,.0f}" for n in times[:, 0]])
    axes.set_xlabel("ranks n")
    axes.set_ylabel("time / ms")
    axes.grid()
    axes.legend()


@figure("overlap", width=7.0, height=3.5, narrow=(3.7, 3.9))
def overlap(data: Data, fig: Figure) -> None:
    """What rank 0 does, above; below it, where each bucket is meanwhile."""
    does, axes = fig.subplots(2, 1, sharex=True, height_ratios=(1, 8))
    trips = data.array("overlapped", run="overlap")
    buckets = np.arange(len(trips))
    begins, over, came, ends = trips[0, 0], trips[0, 2], trips[:, 1].max(), data.value("overlapped_ms", run="overlap")
    for left, right, name, color in ((0, over, "forward, backward", "C0"), (over, came, "waits", "C6"),
                                     (came, ends, "weights" if narrow() else "weights: updated, sent", "C2")):
        does.add_patch(Rectangle((left, 0), right - left, 1, facecolor=color, alpha=0.3, linewidth=0))
        high = 1.5 if narrow() and name == "waits" else 0.46
        does.text((left + right) / 2, high, name, ha="center", va="center", fontsize=8.5)
    does.axis("off")
    axes.fill_betweenx(buckets, trips[:, 0], trips[:, 1], color="C0", alpha=0.2)
    for when, line in ((0, "-"), (1, "--")):
        axes.plot(trips[:, when], buckets, line, color="C0")
    row, low = int(0.3 * len(trips)), int(0.6 * len(trips))
    axes.annotate("leaves ", (trips[low, 0], low), ha="right", va="top", color="C0")
    axes.annotate(" is seen\n to be there", (trips[row, 1], row), ha="left", va="bottom", color="C0")
    axes.text(came + 30 if narrow() else (over + came) / 2, 0.88 * len(trips), "nobody\nlooks", va="center",
              ha="left" if narrow() else "center", fontsize=8)
    for when in (begins, over, came, ends):
        axes.axvline(when, color=muted(), linestyle=":")
    axes.set_xlim(0, 1.02 * ends)
    axes.set_xticks((0, begins, over, came, ends), [f"{t:,.0f}" for t in (0, begins, over)] + [
        f"{came:,.0f}" if not narrow() else f"\n{came:,.0f}", f"{ends:,.0f}"])
    axes.set_xlabel("time since the step began / ms")
    axes.set_ylabel("bucket")
    axes.set_ylim(len(trips), -2)


# On the blackboard -----------------------------------------------------------------------------------

@figure("collectives", width=7.6, height=1.66, narrow=(3.7, 3.85))
def collectives(data: Data, fig: Figure) -> None:
    """Three ranks before and after each: a part has the color of the rank that reduce-scatter gives it to."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    cell, high, space = 0.3, 0.24, 0.3
    rows = [(1, 2, 3), (10, 20, 30), (100, 200, 300)]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    panels = {
        "broadcast": ([[(1, 0)], [], []], [[(1, 0)]] * 3),
        "all-gather": ([[(sums[r], r)] for r in range(3)], [list(zip(sums, range(3), strict=True))] * 3),
        "reduce-scatter": ([list(zip(row, range(3), strict=True)) for row in rows], [[(sums[r], r)] for r in range(3)]),
        "all-reduce": ([list(zip(row, range(3), strict=True)) for row in rows],
                       [list(zip(sums, range(3), strict=True))] * 3),
    }
    x, line = 0.0, 0
    for name, states in panels.items():
        wide = cell * (sum(max(map(len, state)) for state in states)) + space
        if x == 0 or (small and x + wide > 3.7):
            line += x > 0
            x = 0.62
            for rank in range(3):
                say(axes, x - 0.1, top - 0.53 - 0.32 * rank - 1.27 * line, f"rank {rank}", ha="right", color=RANKS[rank])
        say(axes, x + wide / 2, top - 0.17 - 1.27 * line, name, fontsize=9.5)
        for state in states:
            for rank, parts in enumerate(state):
                for i, (number, part) in enumerate(parts):
                    y = top - 0.53 - 0.32 * rank - 1.27 * line
                    box(axes, x + cell * i + 0.01, y - high / 2, cell - 0.02, high, RANKS[part], alpha=0.3)
                    say(axes, x + cell * (i + 0.5), y - 0.01, f"{number}", fontsize=8)
            x += cell * max(map(len, state))
            if state is states[0]:
                y = top - 0.85 - 1.27 * line
                arrow(axes, (x + 0.05, y), (x + space - 0.05, y), muted())
                x += space
        x += 0.28
    if not small:
        say(axes, 0.62, 0.14, "all-reduce = reduce-scatter, then all-gather", ha="left", fontsize=8, color=muted())



@figure("shared", width=7.6, height=1.95, narrow=(3.7, 1.95))
def shared(data: Data, fig: Figure) -> None:
    """A step of ten seconds, of which one is not divided, on one, two and ten ranks."""
    axes = blackboard(fig)
    width, top = fig.get_size_inches()
    whole, alone, high = 10, 1, 0.36
    left = 0.72
    second = (width - left - 0.5) / whole
    for row, ranks in enumerate((1, 2, 10)):
        y, each = top - 0.12 - 0.5 * row, (whole - alone) / ranks
        say(axes, left - 0.08, y - high / 2, f"{ranks} rank{'s' * (ranks > 1)}", ha="right", fontsize=9)
        box(axes, left, y - high, second * alone - 0.015, high, "C6", alpha=0.5)
        for rank in range(ranks):
            box(axes, left + second * alone, y - high * (rank + 1) / ranks, second * each, high / ranks - 0.012, "C0",
                alpha=0.4)
        say(axes, left + second * (alone + each) + 0.07, y - high / 2, f"{alone + each:g} s", ha="left", fontsize=9.5)
    axes.plot((left + second * alone,) * 2, (0.36, top - 0.05), color=ink(), linewidth=1, linestyle=(0, (4, 2)))
    say(axes, left, 0.22, f"{alone} s is not divided: the limit of any number of ranks", ha="left", fontsize=8)
    axes.plot((left, left + second * alone), (0.36, 0.36), color="C6", linewidth=2)


@figure("ring", width=7.6, height=5.15, narrow=(3.7, 10.2))
def ring(data: Data, fig: Figure) -> None:
    """The rows of three ranks before the first round, after the first, the second and the fourth."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    rounds = [[rank.split()[-4:] for rank in line.split("|")] for line in data.printed("A ring all-reduce")[:5]]
    titles = ("each sends a part", "each adds what came\nand sends the sum on",
              "each has one finished\npart and sends it on", "each has all parts")
    names = ("start", "after round 1", "after round 2: reduce-scatter", "after round 4: all-gather")
    sums = [f"{sum(float(row[i]) for row in rounds[0]):.0f}" for i in range(4)]
    for panel, (when, title) in enumerate(zip((0, 1, 2, 4), titles, strict=True)):
        middle = 1.85 if small else (1.8, 5.8)[panel % 2]
        low = top - 2.54 * (panel + 1) if small else (2.7, 0.06)[panel // 2]
        axes.text(middle, low + 2.32, names[panel], ha="center", va="center", fontsize=9.5, color=ink())
        axes.text(middle, low + 1.13, title, ha="center", va="center", fontsize=8, color=muted(), linespacing=1.2)
        places = [(middle, low + 1.66), (middle + 0.95, low + 0.5), (middle - 0.95, low + 0.5)]
        for rank, (x, y) in enumerate(places):
            row = rounds[when][rank]
            parts = [row[0], row[1], f"{row[2]} {row[3]}"]
            whole = [parts[0] == sums[0], parts[1] == sums[1], row[2] == sums[2]]
            leaving = (rank - when) % 3 if when < 4 else -1
            for i, part in enumerate(parts):
                rounded(axes, x, y + 0.22 * (1 - i), 0.62, 0.21, part,
                        "C2" if whole[i] else "C1" if i == leaving else None, 8)
            say(axes, x, y - 0.44 if rank else y + 0.44, f"rank {rank}", color=RANKS[rank])
            if leaving < 0:
                continue
            # From the cell that is sent to the same cell of the next rank: around the right, straight, around the left.
            away = 0.22 * (1 - leaving)
            out, into = (1, -1, -1)[rank], (1, 1, -1)[rank]
            begin = (x + 0.33 * out, y + away)
            end = (places[(rank + 1) % 3][0] + 0.33 * into, places[(rank + 1) % 3][1] + away)
            bends = [(begin[0] + (0.8, -0.1, -0.7)[rank], begin[1]), (end[0] + (0.7, 0.1, -0.8)[rank], end[1])]
            color = "C2" if when > 1 else "C1"
            axes.add_patch(FancyArrowPatch(path=Path([begin, *bends, end], [Path.MOVETO, *[Path.CURVE4] * 3]),
                                           arrowstyle="-|>", mutation_scale=9, color=color, linewidth=1.4))
            at, side = (((begin[0] + 0.08, begin[1]), "left"), ((middle, begin[1]), "center"),
                        ((end[0] - 0.12, end[1]), "right"))[rank]
            axes.text(at[0], at[1] + 0.11, parts[leaving], ha=side, va="center", fontsize=8.5, color=color)


@figure("lanes", width=7.6, height=3.35, narrow=(3.7, 3.75))
def lanes(data: Data, fig: Figure) -> None:
    """Six seconds of backward and four of messages, in one, two and four buckets, and four of a slower link."""
    axes = blackboard(fig)
    small = narrow()
    width, top = fig.get_size_inches()
    backward, high = 6, 0.24
    left = 0.72 if small else 1.9
    second = (width - left - 0.58) / 10.6
    for row, (buckets, messages) in enumerate(((1, 4), (2, 4), (4, 4), (4, 9))):
        y = top - 0.34 - (0.88 if small else 0.78) * row
        name = f"{buckets} bucket{'s' * (buckets > 1)}"
        if messages > backward:
            name += f",{' ' if small else chr(10)}{messages} s of messages"
        axes.text(0.05, y - (-0.22 if small else high / 2), name, va="center", fontsize=9, linespacing=1.25)
        free = 0.0
        for bucket in range(buckets):
            ready = backward * (bucket + 1) / buckets
            begin = max(free, ready)
            free = begin + messages / buckets
            for begins, lasts, down, color in ((ready - backward / buckets, backward / buckets, 0, "C0"),
                                               (begin, messages / buckets, high + 0.03, "C6")):
                x = left + second * begins
                axes.add_patch(Rectangle((x, y - high / 2 - down), second * lasts - 0.015, high, facecolor=color,
                                         alpha=0.35, linewidth=0))
                say(axes, x + second * lasts / 2, y - down - 0.01, f"{bucket + 1}")
        for name, down, color in (("backward", 0, "C0"), ("messages", high + 0.03, "C6")):
            axes.text(left - 0.06, y - down, name, ha="right", va="center", fontsize=8.5, color=color)
        axes.plot((left + second * free,) * 2, (y - high * 1.7, y + high / 2), color=ink(), linewidth=1.2)
        axes.text(left + second * free + 0.06, y - high / 2, f"{free:g} s", va="center", fontsize=9.5)


@figure("tree", width=7.6, height=3.7, narrow=(3.7, 7.2))
def tree(data: Data, fig: Figure) -> None:
    """The same tree over eight shards on one to four ranks: an addition has the color of the rank that makes it."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    cell, colors = 0.42, RANKS
    for panel, ranks in enumerate((1, 2, 3, 4)):
        left = (3.7 - 8 * cell) / 2 if small else (0.12, 4.12)[panel % 2]
        low = top - 1.78 * (panel + 1) if small else top - 1.83 * (panel // 2 + 1)
        axes.text(left, low + 1.6, f"{ranks} rank{'s' * (ranks > 1)}", va="center", fontsize=9.5, color=ink())
        owners = [next(r for r in range(ranks) if i < 8 * (r + 1) // ranks) for i in range(8)]
        tops = [(left + cell * (i + 0.5), low + 0.44, {owner}) for i, owner in enumerate(owners)]
        for i, (x, y, by) in enumerate(tops):
            rounded(axes, x, y, 0.32, 0.26, f"$g_{i}$", colors[min(by)], 9)
        for rank in range(ranks):
            its = [x for x, _, by in tops if by == {rank}]
            say(axes, sum(its) / len(its), low + 0.2, f"rank {rank}", color=colors[rank])
        while len(tops) > 1:
            joined = [((a[0] + b[0]) / 2, a[1] + 0.37, a[2] | b[2]) for a, b in zip(tops[::2], tops[1::2], strict=True)]
            for i, (x, y, by) in enumerate(joined):
                color = colors[min(by)] if len(by) == 1 else None
                for a, b, of in tops[2 * i : 2 * i + 2]:
                    sent = len(by) > 1 and len(of) == 1
                    axes.plot((a, x), (b + 0.13, y - 0.11), color=colors[min(of)] if len(of) == 1 else muted(),
                              linewidth=1.1, linestyle=(0, (3, 1.5)) if sent else "-", zorder=1)
                rounded(axes, x, y, 0.24, 0.22, "+", color, 9)
            tops = joined


@figure("step", width=7.6, height=2.2, narrow=(3.7, 5.7))
def step(data: Data, fig: Figure) -> None:
    """A step on two ranks: a gradient on each, then a slice of the sum, new weights of this slice, and all weights."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    colors = RANKS[:2]
    stops = (0.72, 2.22, 3.88, 4.82, 5.66, 7.2)  # shards, gradients, a slice of the sum, of Adam's means, of w; all w

    def at(stop: int, rank: int, part: int | None = None) -> tuple[float, float]:
        """The middle of a rank's row, or of one of its two slices."""
        off = 0 if part is None else part - 0.5
        if small:
            return 1.3 + 1.62 * rank + 0.72 * off, top - 0.62 - (0, 0.95, 2.1, 2.85, 3.6, 4.75)[stop]
        return stops[stop], 1.38 - 1.0 * rank - 0.27 * off

    def link(begin: tuple[float, float], end: tuple[float, float], gaps: tuple[float, float], color: str) -> None:
        (a, b), (c, d), (first, last) = begin, end, gaps
        arrow(axes, (a, b - first) if small else (a + first, b), (c, d + last) if small else (c - last, d), color, 1.2)

    texts = {1: "", 2: "$\\sum g_s$", 3: "$m, v$", 4: "$w$", 5: "$w$"}
    wide = {1: 0.68, 2: 0.58, 3: 0.5, 4: 0.36, 5: 0.36}
    half = {stop: 0.14 if small else size / 2 + 0.02 for stop, size in wide.items()}
    for rank in range(2):
        x, y = at(0, rank)
        rounded(axes, x, y, 1.24, 0.44, f"shards {2 * rank} and {2 * rank + 1},\nall weights", None, 8)
        axes.text(x, y + 0.36, f"rank {rank}", ha="center", va="center", fontsize=9.5)
        for part, color in enumerate(colors):
            for stop in (1, 2, 3, 4, 5) if part == rank else (1, 5):
                text = texts[stop] or f"slice {part}"
                rounded(axes, *at(stop, rank, part), wide[stop], 0.24, text, color, 8.5)
            link(at(1, rank, part), at(2, part, part), (half[1], half[2]), color)
            link(at(4, part, part), at(5, rank, part), (half[4], half[5]), color)
        link((x, y), at(1, rank), (0.24 if small else 0.64, 0.16 if small else 0.38), muted())
        for stop in (2, 3):
            link(at(stop, rank, rank), at(stop + 1, rank, rank), (half[stop], half[stop + 1]), colors[rank])
    for begin, end, text in ((0, 1, "backward"), (1, 2, "reduce-scatter"), (3, 3, "Adam"), (4, 5, "all-gather")):
        (a, b), (c, d) = at(begin, 0), at(end, 0)
        say(axes, *((0.12, (b + d) / 2) if small else ((a + c) / 2, top - 0.14)), text, rotation=90 if small else 0)
