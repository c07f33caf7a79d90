"""Tells whether other programs, or whatever makes rounds uneven, disturbed a measurement."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BUSY = 0.1  # share of the processors that others may use
SPREAD = 0.3  # distance between the quartiles, divided by the median
REPEATS = 3  # of a disturbed measurement
LEAST_SECONDS = 0.4  # ticks last a hundredth of a second, so the load over less is unknown


@dataclass(frozen=True)
class Noise:
    """What can disturb a measurement. The load is None if unknown, and then it does not count."""

    others: float | None
    spread: float

    @property
    def disturbed(self) -> bool:
        return (self.others or 0) > BUSY or self.spread > SPREAD

    def __str__(self) -> str:
        others = "an unknown share" if self.others is None else f"{100 * self.others:.0f} %"
        return f"others use {others} of the processors, spread {100 * self.spread:.0f} %"


def spread(quartiles: dict[str, float]) -> float:
    return (quartiles["high"] - quartiles["low"]) / quartiles["median"]


@dataclass(frozen=True)
class Ticks:
    """Processor time since the machine started: at work, at work for us, and in total."""

    busy: float
    own: float
    all: float


def own_ticks(processes: Sequence[str], self_id: int) -> float:
    """The ticks of a process and of all that it started, directly or not, even if they have ended.

    `processes`: lines of /proc/PID/stat."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for line in processes:
        before, _, after = line.rpartition(")")  # the name may hold anything
        fields = after.split()
        process = int(before.split(" ", 1)[0])
        parents[process] = int(fields[1])
        ticks[process] = sum(int(x) for x in fields[11:15])
    total = 0
    for process in ticks:
        ancestor = process
        while ancestor != self_id and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor == self_id:
            total += ticks[process]
    return total


def read_ticks() -> Ticks | None:
    """The ticks so far, or None if the system does not report them."""
    processes = []
    try:
        fields = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has just ended
                processes.append(path.read_text())
        own = own_ticks(processes, os.getpid())
    except (OSError, ValueError, IndexError):
        return None
    idle = fields[3] + fields[4]
    return Ticks(sum(fields) - idle, own, sum(fields))


def share_of_others(before: Ticks | None, after: Ticks | None) -> float | None:
    """The share of all processors that other programs used between two moments."""
    if before is None or after is None or after.all <= before.all:
        return None
    others = (after.busy - before.busy) - (after.own - before.own)
    return min(1.0, max(0.0, others / (after.all - before.all)))


class Load:
    """Watches what other programs use from its creation on."""

    def __init__(self) -> None:
        self._start, self._ticks = time.monotonic(), read_ticks()

    def others(self) -> float | None:
        if time.monotonic() - self._start < LEAST_SECONDS:
            return None
        return share_of_others(self._ticks, read_ticks())


@contextmanager
def busy_processes(count: int) -> Iterator[list[int]]:
    """Runs this many processes, each of which keeps a processor busy. They never outlive this one."""
    script = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(count)]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
