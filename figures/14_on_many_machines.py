"""Figures of chapter 14."""

import numpy as np
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


@figure("overlap", width=5.6, height=3.5, narrow=(3.7, 4.1))
def overlap(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    trips = data.array("overlapped", run="overlap")
    buckets = np.arange(len(trips))
    axes.fill_betweenx(buckets, trips[:, 0], trips[:, 1], color="C0", alpha=0.2, label="left, not yet seen")
    axes.text((trips[0, 2] + trips[:, 1].max()) / 2, 0.8 * len(trips), "nobody\nlooks", ha="center", va="center")
    for when, line, label in ((0, "-", "leaves"), (1, "--", "is seen to have arrived")):
        axes.plot(trips[:, when], buckets, line, color="C0", label=label)
    ends = data.value("overlapped_ms", run="overlap")
    for when, color, line, label in ((trips[0, 0], muted(), ":", "the exchange begins"),
                                     (trips[0, 2], "C1", ":", "backward is over"),
                                     (trips[:, 1].max(), "C2", "-.", "the exchange is over"),
                                     (ends, ink(), "-", "the step is over")):
        axes.axvline(when, color=color, linestyle=line, label=f"{label}, {when:,.0f} ms")
    axes.set_xlim(0, 1.03 * ends)
    axes.set_xlabel("time since the step began / ms")
    axes.set_ylabel("bucket")
    axes.invert_yaxis()
    axes.grid()
    fig.legend(loc="outside upper center", ncols=1 if narrow() else 2)


# On the blackboard -----------------------------------------------------------------------------------


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
            say(axes, x, y - 0.44 if rank else y + 0.44, f"rank {rank}")
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


@figure("stages", width=7.6, height=2.1, narrow=(3.7, 3.9))
def stages(data: Data, fig: Figure) -> None:
    """What rank 2 of 8 keeps: all, or a slice of Adam's means, of gradients, too, and of weights, too."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    for stage, name in enumerate(("all of it", "stage 1", "stage 2", "stage 3")):
        left, high = (1.0 + 1.36 * (stage % 2), top - 1.95 * (stage // 2)) if small else (1.15 + 1.64 * stage, top)
        say(axes, left + 0.64, high - 0.17, name, fontsize=9.5)
        low, total = high - 0.36, 0.0
        for i, (what, color) in enumerate((("weights", "C0"), ("gradient", "C1"), ("$m, v$", "C2"))):
            size = (4, 4, 8)[i]
            low -= 0.075 * size
            if left < 1.2:
                say(axes, left - 0.06, low + 0.0375 * size, f"{what}, {size} $P$", ha="right", color=color)
            sliced = stage >= 3 - i
            total += size / 8 if sliced else size
            for part in range(8):
                kept = part == 2 or not sliced
                box(axes, left + 0.16 * part, low, 0.15, 0.075 * size - 0.03, color if kept else "none", edge=color,
                    linewidth=0.8, alpha=0.6 if kept else 0.35)
        say(axes, left + 0.64, low - 0.17, f"{total:g} $P$ bytes", fontsize=9)


@figure("cut", width=7.6, height=3.1, narrow=(3.7, 6.95))
def cut(data: Data, fig: Figure) -> None:
    """The layer of the page's example on two ranks: forward values above the gradients that come back."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    x, dy = np.array([2, 1]), np.array([3, 1])
    w1, b1 = np.array([[1, 0], [1, -1], [-1, 1], [0, 2]]), np.array([0, 1, 0, -1])
    w2, b2 = np.array([[1, 1, 2, 1], [1, -1, 1, 3]]), np.array([0, 1])
    stops = (0.38, 1.5, 2.37, 3.24, 4.24, 5.11, 5.98, 7.22)  # x, its copies, W1, before and after relu, W2, summands, y

    def at(stop: float, lane: int) -> tuple[float, float]:
        if small:
            return 1.85 + 0.92 * lane, top - 0.3 - 0.905 * stop
        return float(np.interp(stop, range(8), stops)), 1.42 - 0.85 * lane

    def values(stop: int, lane: int, forward: np.ndarray, backward: np.ndarray) -> None:
        for value, up, color in ((forward, 0.135, "C0"), (backward, -0.135, "C1")):
            a, b = at(stop, lane)
            rounded(axes, a, b + up, 0.66, 0.25, f"({value[0]}, {value[1]})", color, 9)

    def matrix(stop: int, lane: int, numbers: np.ndarray, name: str) -> None:
        a, b = at(stop, lane)
        for (i, j), number in np.ndenumerate(numbers):
            axes.add_patch(Rectangle((a + 0.25 * (j - 1), b - 0.25 * i), 0.25, 0.25,
                                     facecolor="C5" if lane < 0 else "C3", alpha=0.2))
            say(axes, a + 0.25 * (j - 0.5), b + 0.25 * (0.5 - i) - 0.01, f"{number}", fontsize=9)
        beside = (a + 0.32 * lane, b) if small else (a, b - 0.39 * lane - 0.02)
        name = name.replace(" of", "\nof") if small else name
        say(axes, *beside, name, ha="center" if not small else "right" if lane < 0 else "left")

    def link(begin: tuple[int, int], end: tuple[int, int], gaps: tuple[float, float]) -> None:
        """Forward there, backward back, side by side."""
        (a, b), (c, d) = at(*begin), at(*end)
        length = np.hypot(c - a, d - b)
        u, v = (c - a) / length, (d - b) / length
        for color, side, swap in (("C0", 0.045, False), ("C1", -0.045, True)):
            ends = [(a + u * gaps[0] - v * side, b + v * gaps[0] + u * side),
                    (c - u * gaps[1] - v * side, d - v * gaps[1] + u * side)]
            arrow(axes, *(ends[::-1] if swap else ends), color, 1.2)

    across, along = (0.29, 0.28) if small else (0.36, 0.28)  # from the middle of values and of a matrix
    for lane, part in ((-1, slice(0, 2)), (1, slice(2, 4))):
        rank = (lane + 1) // 2
        a = w1[part] @ x + b1[part]
        hidden, dhidden = np.maximum(a, 0), dy @ w2[:, part]
        da = dhidden * (a > 0)
        values(1, lane, x, da @ w1[part])
        matrix(2, lane, w1[part], f"{('upper', 'lower')[rank]} half of $W_1$")
        values(3, lane, a, da)
        values(4, lane, hidden, dhidden)
        matrix(5, lane, w2[:, part], f"{('left', 'right')[rank]} half of $W_2$")
        values(6, lane, w2[:, part] @ hidden + (b2 if rank == 0 else 0), dy)
        for stop, gaps in enumerate(((across, along), (along, across), (across, across), (across, along),
                                     (along, across)), 1):
            link((stop, lane), (stop + 1, lane), gaps)
        link((0, 0), (1, lane), (0.42, 0.42))
        link((6, lane), (7, 0), (0.42, 0.42))
        a_x, a_y = at(3.5, lane)
        axes.text(a_x + (0.12 if small else 0), a_y + (0 if small else 0.15), "relu", ha="left" if small else "center",
                  va="center", fontsize=8)
        a_x, a_y = at(0.3 if small else 3.5, lane)
        axes.text(a_x + (0.15 * lane if small else 0), a_y + (0 if small else 0.4), f"rank {rank}", ha="center",
                  va="center", fontsize=9.5, color="C5" if rank == 0 else "C3")
    y = w2 @ np.maximum(w1 @ x + b1, 0) + b2
    dx = (dy @ w2 * (w1 @ x + b1 > 0)) @ w1
    values(0, 0, x, dx)
    values(7, 0, y, dy)
    for stop, name, forward, backward in ((0, "$f$", "copied", "added"), (7, "$g$", "added", "copied")):
        a, b = at(stop, 0)
        move, side = (0, "center") if small else (0.46, "left") if stop == 0 else (-0.46, "right")
        away = (0.55 if stop else -0.53) if small else 0
        for text, up, color in ((name, 0.14, ink()), (forward, 0, "C0"), (backward, -0.14, "C1")):
            axes.text(a + move, b + up + away, text, ha=side, va="center", fontsize=8.5, color=color)


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


@figure("pipeline", width=7.6, height=1.6, narrow=(3.7, 1.6))
def pipeline(data: Data, fig: Figure) -> None:
    """A batch in eight parts goes through four ranks, each of which has a fourth of the layers."""
    axes = blackboard(fig)
    ranks, parts, left = 4, 8, 0.68
    wide = (fig.get_size_inches()[0] - left - 0.1) / (parts + ranks - 1)
    for rank in range(ranks):
        y = 1.27 - 0.29 * rank
        say(axes, left - 0.08, y + 0.12, f"rank {rank}", ha="right", fontsize=9)
        for time in range(parts + ranks - 1):
            part, at = time - rank, (left + wide * time + 0.01, y, wide - 0.02, 0.25)
            if 0 <= part < parts:
                box(axes, *at, "C0", alpha=0.2 + 0.06 * part)
                say(axes, left + wide * (time + 0.5), y + 0.12, str(part + 1))
            else:
                box(axes, *at, edge=muted(), linestyle=":")
    arrow(axes, (left, 0.28), (left + wide * (parts + ranks - 1), 0.28), muted())
    for time in (0, parts, parts + ranks - 1):
        side = "right" if time > parts else "center"
        say(axes, left + wide * time, 0.14, str(time), fontsize=8, color=muted(), ha=side)
    say(axes, left - 0.08, 0.28, "time", ha="right", color=muted())


@figure("tree", width=7.6, height=3.7, narrow=(3.7, 7.2))
def tree(data: Data, fig: Figure) -> None:
    """The same tree over eight shards on one to four ranks: an addition has the color of the rank that makes it."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    cell, colors = 0.42, ("C5", "C3", "C0", "C2")  # of the ranks
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
    colors = ("C5", "C3")
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
