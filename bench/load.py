"""Tells whether other programs, or whatever makes rounds uneven, disturbed a measurement."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BUSY = 0.1  # share of the processors that others may use
SPREAD = 0.3  # distance between the quartiles, divided by the median
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


def read_ticks() -> tuple[int, int, int]:
    """Processor time since the machine started: at work, at work for us and for the processes that
    we started, and in total."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    us, own = str(os.getpid()), 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            after = path.read_text().rpartition(")")[2].split()  # the name may hold anything
            if us in (path.parent.name, after[1]):
                own += sum(int(x) for x in after[11:15])
    return sum(fields) - fields[3] - fields[4], own, sum(fields)


class Load:
    """Watches what other programs use from its creation on."""

    def __init__(self) -> None:
        self._start, self._ticks = time.monotonic(), read_ticks()

    def others(self) -> float | None:
        """Their share of all processors, or None if it is unknown."""
        busy, own, total = (b - a for a, b in zip(self._ticks, read_ticks(), strict=True))
        if time.monotonic() - self._start < LEAST_SECONDS or total <= 0:
            return None
        return min(1.0, max(0.0, (busy - own) / total))


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
