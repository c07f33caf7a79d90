"""Lets systems that do the same work take turns at it.

A system is a process that speaks in lines. It prints `ready` and its version; then, for each line
of input, it does one iteration and prints its milliseconds; at the end of input, its peak memory in
kB.
"""

import math
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import load
from load import Noise

OURS = "ours"
REPEATS = 3  # of a disturbed measurement


@dataclass(frozen=True)
class System:
    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    pause: float = 0.05  # seconds after which its idle threads sleep
    turn_ms: float = 0  # shorter iterations are repeated until they have taken this long


class Died(Exception):
    """A system ended too early; the text says why."""


class Running:
    """A started system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by kill
        self._process = subprocess.Popen(
            system.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **system.environment},
            text=True,
            bufsize=1,  # a line
            start_new_session=True,  # Ctrl-C is ours to handle
        )

    def line(self) -> str:
        if line := self._process.stdout.readline():
            return line.strip()
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        raise Died(lines[-1].strip() if lines else f"ended with status {status}")

    def turn(self) -> float:
        """Milliseconds of an iteration; or of several, the median without the first, which only
        warms up, because it finds the processors asleep and its data gone from the caches."""
        times: list[float] = []
        while not times or sum(times) < self.system.turn_ms:
            with suppress(BrokenPipeError):  # if it has ended, it has no line for us either
                print("go", file=self._process.stdin)
            times.append(float(self.line()))
        time.sleep(self.system.pause)
        return statistics.median(times[1:] or times)

    def finish(self) -> int:
        """Ends the input. Returns the peak memory in kB."""
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        return int(self.line())

    def kill(self) -> None:
        """Kills the process and everything that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):
                stream.close()


@dataclass
class Measured:
    """The results of one system: milliseconds of each round, peak memory, version."""

    version: str
    times: list[float] = field(default_factory=list)
    peak_kb: int = 0


def quartiles(values: Sequence[float]) -> dict[str, float]:
    """The median, and as the spread the lower and the upper quartile."""
    low, median, high = (
        statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values[:1]
    )
    return {"median": median, "low": low, "high": high}


def ratios(times: Sequence[float], ours: Sequence[float]) -> list[float]:
    return [t / o for t, o in zip(times, ours, strict=True)]


def in_turns(
    systems: dict[str, Callable[[], float]], rounds: int
) -> dict[str, list[float]]:
    """What systems return that are started anew for each of their turns."""
    found: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(rounds):
        for name, run in systems.items():
            found[name].append(run())
        last = ", ".join(f"{name} {values[-1]:.4g}" for name, values in found.items())
        print(f"round {number + 1} of {rounds}: {last}", flush=True)
    return found


def ratio(times: Sequence[float], ours: Sequence[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(ratios(times, ours))


def spread(measured: dict[str, Measured]) -> float:
    """The widest spread among the peers' ratios to ours; without peers, the spread of the times.
    A spread is the distance between the quartiles, divided by the median."""
    ours = measured.get(OURS)
    rows = [m.times for m in measured.values()]
    if ours and len(measured) > 1:
        rows = [ratios(m.times, ours.times) for name, m in measured.items() if name != OURS]
    of_rows = [quartiles(row) for row in rows]
    return max(((q["high"] - q["low"]) / q["median"] for q in of_rows), default=0.0)


def measure(
    systems: Sequence[System],
    rounds: int,
    end: float = math.inf,
    show: Callable[[str], None] = lambda text: None,
) -> tuple[dict[str, Measured], dict[str, str], Noise]:
    """Starts all systems and lets them take turns, in reverse order in every second round. Returns
    their results, the reasons why others failed, and what may have disturbed the measurement. If it
    was disturbed, it is repeated up to three times. A system that dies is left out, and the others
    go on. At `end`, a time of the monotonic clock, the round under way is the last."""
    running: dict[str, Running] = {}
    measured: dict[str, Measured] = {}
    absent: dict[str, str] = {}

    def each(names: Iterable[str], act: Callable[[str, Running], None]) -> None:
        for name in names:
            try:
                act(name, running[name])
            except Died as why:
                running.pop(name).kill()
                measured.pop(name, None)
                absent[name] = str(why)

    def start(name: str, process: Running) -> None:
        measured[name] = Measured(process.line().removeprefix("ready").strip())

    def turn(name: str, process: Running) -> None:
        measured[name].times.append(process.turn())

    def finish(name: str, process: Running) -> None:
        measured[name].peak_kb = process.finish()

    try:
        for system in systems:
            show(f"starting {system.name}")
            running[system.name] = Running(system)
            each([system.name], start)
        for again in ["", *["disturbed; again, "] * REPEATS]:
            began, others = time.monotonic(), load.Load()
            for m in measured.values():
                m.times = []
            for number in range(rounds):
                if number > 0 and time.monotonic() > end:
                    break
                show(f"{again}round {number + 1} of {rounds}")
                each(list(running)[:: -1 if number % 2 else 1], turn)
            noise = Noise(others.others(), spread(measured))
            if not noise.disturbed or 2 * time.monotonic() - began > end:  # no time for another
                break
        each(list(running), finish)
    finally:
        for process in running.values():
            process.kill()
    return measured, absent, noise


def summary(measured: dict[str, Measured]) -> dict[str, object]:
    """The times of all systems, and the peers' ratios to ours, computed round by round."""
    systems = {
        name: {"ms": quartiles(m.times), "times_ms": m.times, "peak_kb": m.peak_kb, "version": m.version}
        for name, m in measured.items()
    }
    ours = measured.get(OURS)
    of_ours = {
        name: {"time": quartiles(ratios(m.times, ours.times)), "memory": m.peak_kb / ours.peak_kb}
        for name, m in measured.items()
        if ours and name != OURS
    }
    return {"systems": systems, "ratios": of_ours}
