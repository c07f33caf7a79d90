"""Lets systems that do the same work take turns at it.

A system is a process that speaks in lines. It prints `ready` and its version; then, for each line
of input, it does one iteration and prints its milliseconds; at the end of input, its peak memory in
kB.
"""

from __future__ import annotations

import os
import select
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import load
from load import REPEATS, Noise
from works import OURS

START_SECONDS, TURN_SECONDS = 600, 300


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
    """A started system. It says `ready VERSION`, milliseconds for each `go`, and its peak in kB."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._rest = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by kill
        try:
            self._process = subprocess.Popen(
                system.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **system.environment},
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        except OSError as error:
            self._errors.close()
            raise Died(f"{error.strerror}: {system.command[0]}") from None

    def ready(self, seconds: float) -> str:
        line = self._line(seconds)
        if line.split(" ")[0] != "ready":
            raise Died(f"said {line!r} instead of ready")
        return line[len("ready") :].strip()

    def turn(self, seconds: float) -> float:
        """Milliseconds of an iteration; or of several, the median without the first, which only
        warms up, because it finds the processors asleep and its data gone from the caches."""
        times = [self._iteration(seconds)]
        while sum(times) < self.system.turn_ms:
            times.append(self._iteration(seconds))
        time.sleep(self.system.pause)
        return statistics.median(times[1:] or times)

    def _iteration(self, seconds: float) -> float:
        try:
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Died(self._reason()) from None
        return self._number(seconds)

    def finish(self, seconds: float) -> int:
        """Ends the input. Returns the peak memory in kB."""
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            raise Died(self._reason()) from None
        return int(self._number(seconds))

    def kill(self) -> None:
        """Kills the process and everything that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):
                stream.close()

    def _number(self, seconds: float) -> float:
        line = self._line(seconds)
        try:
            return float(line)
        except ValueError:
            raise Died(f"said {line!r} instead of a number") from None

    def _line(self, seconds: float) -> str:
        end = time.monotonic() + seconds
        stream = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            if not select.select([stream], [], [], max(0.0, end - time.monotonic()))[0]:
                raise Died(f"took more than {seconds:.0f} s")
            chunk = os.read(stream, 4096)
            if not chunk:
                raise Died(self._reason())
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode(errors="replace").strip()

    def _reason(self) -> str:
        """The last line of its error messages, or how it ended."""
        try:
            status = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "closed its output but did not end"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else f"ended with status {status}"


@dataclass
class Measured:
    """The results of one system: milliseconds of each round, peak memory, version."""

    times: list[float]
    peak_kb: int
    version: str


class Clock:
    """Says how much time is left: without a limit, always enough."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float:
        return float("inf") if self._end is None else self._end - time.monotonic()

    def at_most(self, seconds: float) -> float:
        """`seconds`, or the time that is left and a little grace, whichever is less."""
        return min(seconds, max(self.left(), 0) + 5)


def quartiles(values: Sequence[float]) -> dict[str, float]:
    """The median, and as the spread the lower and the upper quartile."""
    low, median, high = (
        statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values[:1]
    )
    return {"median": median, "low": low, "high": high}


def ratios(times: Sequence[float], ours: Sequence[float]) -> list[float]:
    return [t / o for t, o in zip(times, ours, strict=True)]


def spread(measured: dict[str, Measured]) -> float:
    """The widest spread among the peers' ratios to ours; without peers, the spread of the times."""
    ours = measured.get(OURS)
    rows = [m.times for m in measured.values()]
    if ours and len(measured) > 1:
        rows = [ratios(m.times, ours.times) for name, m in measured.items() if name != OURS]
    return max((load.spread(quartiles(row)) for row in rows if row), default=0.0)


def measure(
    systems: Sequence[System],
    rounds: int,
    clock: Clock | None = None,
    show: Callable[[str], None] = lambda text: None,
) -> tuple[dict[str, Measured], dict[str, str], Noise]:
    """Starts all systems and lets them take turns, in reverse order in every second round. Returns
    their results, the reasons why others failed, and what may have disturbed the measurement. If it
    was disturbed, it is repeated up to three times. A system that dies is left out, and the others
    go on. When time is up, the round under way is the last."""
    clock = clock or Clock()
    running: dict[str, Running] = {}
    measured: dict[str, Measured] = {}
    absent: dict[str, str] = {}

    def guarded(name: str, act: Callable[[Running], None]) -> None:
        try:
            act(running[name])
        except Died as why:
            running.pop(name).kill()
            measured.pop(name, None)
            absent[name] = str(why)

    def start(process: Running) -> None:
        version = process.ready(clock.at_most(START_SECONDS))
        measured[process.system.name] = Measured([], 0, version)

    def turn(process: Running) -> None:
        time_taken = process.turn(clock.at_most(TURN_SECONDS))
        measured[process.system.name].times.append(time_taken)

    def finish(process: Running) -> None:
        measured[process.system.name].peak_kb = process.finish(clock.at_most(START_SECONDS))

    def take_turns(what: str) -> Noise:
        others = load.Load()
        for number in range(rounds):
            if number > 0 and clock.left() <= 0:
                break
            show(f"{what} {number + 1} of {rounds}")
            for name in order if number % 2 == 0 else reversed(order):
                if name in running:
                    guarded(name, turn)
        return Noise(others.others(), spread(measured))

    try:
        for system in systems:
            show(f"starting {system.name}")
            try:
                running[system.name] = Running(system)
            except Died as why:
                absent[system.name] = str(why)
                continue
            guarded(system.name, start)
        order = list(running)
        noise = take_turns("round")
        for _ in range(REPEATS):
            if not noise.disturbed or not measured or clock.left() <= 0:
                break
            before = {name: m.times for name, m in measured.items()}
            for m in measured.values():
                m.times = []
            again = take_turns("disturbed; again, round")
            if clock.left() <= 0:  # cut short: keep the measurement that is complete
                for name, m in measured.items():
                    m.times = before[name]
                break
            noise = again
        for name in order:
            if name in running:
                guarded(name, finish)
    finally:
        for process in running.values():
            process.kill()
    return measured, absent, noise


def summary(measured: dict[str, Measured]) -> dict[str, object]:
    """The times of all systems, and the peers' ratios to ours, computed round by round."""
    result: dict[str, object] = {
        "systems": {
            name: {
                "ms": quartiles(m.times),
                "times_ms": m.times,
                "peak_kb": m.peak_kb,
                "version": m.version,
            }
            for name, m in measured.items()
        }
    }
    ours = measured.get(OURS)
    if ours:
        result["ratios"] = {
            name: {
                "time": quartiles(ratios(m.times, ours.times)),
                "memory": m.peak_kb / ours.peak_kb,
            }
            for name, m in measured.items()
            if name != OURS
        }
    return result
