"""Figures of chapter 14."""

import numpy as np
from style import Data, Figure, figure


@figure("sent", width=5.6, height=3.0, narrow=(3.7, 3.0))
def sent(data: Data, fig: Figure) -> None:
    axes = fig.subplots()
    counted = data.array("sent", run="bytes")
    ranks = np.linspace(2, counted[-1, 0], 100)
    axes.plot(ranks, 2 * (ranks - 1) / ranks, color="C0", label="2 (n − 1) / n")
    axes.plot(ranks, ranks - 1, color="C1", label="n − 1")
    axes.plot(counted[:, 0], counted[:, 1], "x", color="C0", label="ring")
    axes.plot(counted[:, 0], counted[:, 2], "+", color="C1", label="by way of one rank")
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
    axes.set_xlabel("ranks n")
    axes.set_ylabel("time / ms")
    axes.grid()
    axes.legend()


@figure("overlap", width=5.6, height=4.4, narrow=(3.7, 4.4))
def overlap(data: Data, fig: Figure) -> None:
    upper, lower = fig.subplots(2, sharex=True)
    for axes, kind, title in ((upper, "overlapped", "while backward goes on"), (lower, "apart", "after backward")):
        trips = data.array(kind, run="overlap")
        buckets = np.arange(len(trips))
        axes.barh(buckets, trips[:, 1] - trips[:, 0], left=trips[:, 0], height=0.8, color="C0")
        axes.axvline(trips[0, 2], color="C1", label="backward is over")
        axes.set_ylabel("bucket")
        axes.set_title(title)
        axes.invert_yaxis()
    lower.set_xlim(left=0)
    lower.set_xlabel("time since the step began / ms")
    lower.legend(loc="center left")
