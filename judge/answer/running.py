"""A running program: what goes in and comes out, how much it has computed, and how it ends."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from . import isolation
from .group import Group, awaited, reap
from .limits import MEBIBYTE, Limits, Outcome, Unfit

PAUSE = 0.5  # seconds between checks on a running program


class Running:
    """A running program. Requests go to its standard input, and answers come from its descriptor 3. What it prints is
    kept, up to a limit."""

    def __init__(
        self,
        command: list[str],
        mounts: dict[str, Path],
        limits: Limits,
        *,
        tight: bool,
        writable: dict[str, Path] | None = None,
        hidden: Sequence[Path] = (),
        user: int | None = None,
    ) -> None:
        self.limits = limits
        self.printed = bytearray()
        self.flooded = False
        self.timed_out = False
        self._idle = 0.0
        self._ends = time.monotonic() + limits.seconds * limits.patience
        self.group = Group(limits) if tight or isolation.without_rights else None
        with contextlib.ExitStack() as opened, contextlib.ExitStack() as inside:
            try:
                self._start(command, mounts, tight, writable or {}, hidden, user, opened, inside)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                if self.group:
                    self.group.close()
                raise Unfit(f"cannot start a program: {error}") from error
            self._opened = opened.pop_all()

    def _start(
        self,
        command: list[str],
        mounts: dict[str, Path],
        tight: bool,
        writable: dict[str, Path],
        hidden: Sequence[Path],
        user: int | None,
        opened: contextlib.ExitStack,
        inside: contextlib.ExitStack,
    ) -> None:
        """Starts the program. `opened` closes what this process reads from, `inside` what only the program needs."""
        limits = self.limits

        def pipe() -> tuple[int, int]:
            ends = os.pipe()
            opened.callback(os.close, ends[0])
            inside.callback(os.close, ends[1])
            return ends

        self.answers, answers_inside = pipe()
        self._status = -1
        inherited = [answers_inside]
        if tight:
            self._status, status_inside = pipe()
            os.set_blocking(self._status, False)
            inherited.append(status_inside)
            seccomp = None
            if calls := isolation.system_calls(alone=limits.alone):
                filter_file = inside.enter_context(tempfile.TemporaryFile())  # a separate file, because bubblewrap reads it to its end
                filter_file.write(calls)
                filter_file.seek(0)
                seccomp = filter_file.fileno()
                inherited.append(seccomp)
            if os.geteuid() != 0:
                command = isolation.counted(limits.processes) + command
            command = isolation.bubblewrap(mounts, writable, seccomp, status_inside, hidden) + command
        command = ["/bin/bash", "-c", f'exec "$@" 3>&{answers_inside}', "bash", *command]
        if user is None and isolation.drops(tight):
            user = isolation.fresh_user()

        def limit() -> None:
            limited = self.group is not None and self.group.enter()
            if user is not None:  # after `enter`, which needs root
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            seconds = math.ceil(limits.seconds)
            bounds = {
                resource.RLIMIT_CPU: (seconds, seconds + 1),  # the first ends it; the second also ends one that ignores the first
                resource.RLIMIT_FSIZE: (limits.file_size,) * 2,
                resource.RLIMIT_CORE: (0, 0),
            }
            if tight or isolation.without_rights:
                memory = limits.memory + 512 * MEBIBYTE
                bounds[resource.RLIMIT_DATA] = (memory, memory)
                if not (limits.reserves or limited):
                    bounds[resource.RLIMIT_AS] = (memory, memory)
                if user is not None:  # our own user has other processes, which would count
                    bounds[resource.RLIMIT_NPROC] = (limits.processes + 8,) * 2
                bounds[resource.RLIMIT_NOFILE] = (64, 64)
            for kind, bound in bounds.items():
                most = resource.getrlimit(kind)[1]  # the limit of this process itself
                allowed = bound if most == resource.RLIM_INFINITY else tuple(min(b, most) for b in bound)
                resource.setrlimit(kind, allowed)

        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **isolation.THREADS},
            cwd="/" if tight or isolation.without_rights else None,
            pass_fds=inherited,
            preexec_fn=limit,
            start_new_session=True,
        )
        awaited.add(self.process.pid)
        self._reader = threading.Thread(target=self._read_printed, daemon=True)
        try:
            self._reader.start()
        except RuntimeError:  # the system has no threads left
            self.kill()
            with self.process:  # waits, and closes its pipes
                awaited.discard(self.process.pid)
            raise

    def _read_printed(self) -> None:
        total = 0
        while chunk := self.process.stdout.read1(65536):
            total += len(chunk)
            self.printed += chunk[: max(0, self.limits.printed - len(self.printed))]
            if total > 16 * self.limits.printed:
                self.flooded = True
                self.kill()
                return

    def processes(self) -> list[int]:
        """The program and everything that it has started and that is still running."""
        found = [self.process.pid]
        for pid in found:  # grows meanwhile
            with contextlib.suppress(OSError):
                for children in Path(f"/proc/{pid}/task").glob("*/children"):
                    found += map(int, children.read_text().split())
        return found

    def computed(self) -> float:
        """Seconds of processor time that it has used so far."""
        seconds = 0.0
        for pid in self.processes():
            with contextlib.suppress(OSError):  # it has ended
                seconds += time.clock_gettime(~pid << 3 | 2)  # the clock of another process: clock_getcpuclockid(3)
        return seconds

    def at_work(self) -> bool:
        """Whether one of its threads is on a processor or waiting for one; false if all wait for something else."""
        if not Path("/proc/self/task", str(os.getpid()), "children").exists():
            return True  # unknown
        states = set()
        for pid in self.processes():
            with contextlib.suppress(OSError):  # it has ended, as a single thread may have
                for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
                    with contextlib.suppress(OSError):
                        states.add(thread.read_text().rpartition(")")[2].split()[0])
        return bool(states & {"R", "D"})

    def late(self) -> bool:
        """Whether its time is up; called after each PAUSE of waiting. The kernel limits only the time of one process; here
        the processes that it has started count, too."""
        self._idle = 0.0 if self.at_work() else self._idle + PAUSE
        return self._idle >= self.limits.seconds or self.computed() > self.limits.seconds + 1 or self.over()

    def over(self) -> bool:
        """Whether its time by the clock is up."""
        return time.monotonic() >= self._ends

    def kill(self) -> None:
        """Ends it and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def _has_begun(self) -> bool:
        """Whether bubblewrap got as far as starting it, because only then does it say how it ended."""
        with contextlib.suppress(OSError):
            return b'"exit-code"' in os.read(self._status, 1 << 16)
        return False

    def finish(self) -> Outcome:
        """Waits until the program has ended, and says how it ended."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        while True:
            try:
                status = self.process.wait(timeout=PAUSE)
                break
            except subprocess.TimeoutExpired:
                if not self.timed_out and self.late():
                    self.timed_out = True
                    self.kill()
        awaited.discard(self.process.pid)
        memory = False
        if self.group:
            memory = self.group.out_of_memory()
            self.group.close()
        self._reader.join(timeout=5)  # until its output ends, which a process left behind may hold open
        if not self._reader.is_alive():
            self.process.stdout.close()
        begun = self._status < 0 or self._has_begun()
        self._opened.close()
        reap()
        status = 128 - status if status < 0 else status
        reason = (
            "output" if self.flooded
            else "timeout" if self.timed_out or status == 128 + signal.SIGXCPU
            else "memory" if memory
            else "ok" if status == 0
            else "crash" if begun
            else "start"
        )  # fmt: skip
        return Outcome(reason, status, self.printed.decode(errors="replace"))
