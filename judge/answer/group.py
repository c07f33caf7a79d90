"""Everything that a program starts, limited and ended as a whole: control groups, and orphans."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import signal
import time
from pathlib import Path

from .limits import Limits

CGROUPS = Path("/sys/fs/cgroup")
awaited: set[int] = set()  # this process's own children, whose end it waits for


class Group:
    """A control group. It limits the memory and the number of processes of everything that a program starts, and kills
    what is left. It does nothing on a machine where we may not make one."""

    _numbers = itertools.count()

    def __init__(self, limits: Limits) -> None:
        name = f"attention_by_hand_{os.getpid()}_{next(self._numbers)}"
        version_2 = (CGROUPS / "cgroup.controllers").exists()
        parents = [CGROUPS] if version_2 else [CGROUPS / "memory", CGROUPS / "pids"]
        wanted = {
            "memory.max": limits.memory,
            "memory.swap.max": 0,
            "memory.limit_in_bytes": limits.memory,
            "memory.memsw.limit_in_bytes": limits.memory,
            "pids.max": limits.processes + 8,  # bubblewrap's own
        }
        self.folders: list[Path] = []
        self.memory: set[Path] = set()  # the folders that limit memory
        for parent in parents:
            folder = parent / name
            with contextlib.suppress(OSError):
                folder.mkdir()
                self.folders.append(folder)
            for file, value in wanted.items():
                if (folder / file).exists():
                    with contextlib.suppress(OSError):
                        (folder / file).write_text(str(value))
                        if file in ("memory.max", "memory.limit_in_bytes"):
                            self.memory.add(folder)

    def enter(self) -> bool:
        """Puts this process into the group, and says whether that limits its memory. Call it between fork and exec, while
        the process is still ours."""
        limited = False
        for folder in self.folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text("0")
                limited |= folder in self.memory
        return limited

    def out_of_memory(self) -> bool:
        """Whether the memory limit killed something."""
        for folder in self.folders:
            for file in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    for line in (folder / file).read_text().splitlines():
                        if line.startswith("oom_kill ") and int(line.split()[1]) > 0:
                            return True
        return False

    def close(self) -> None:
        """Kills what is left, and removes the group."""
        for folder in self.folders:
            for _ in range(100):
                with contextlib.suppress(OSError):
                    for pid in (folder / "cgroup.procs").read_text().split():
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(int(pid), signal.SIGKILL)
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    reap()
                    time.sleep(0.02)


def reap() -> None:
    """Reaps the orphans of programs that ended, because they would count as processes."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in awaited:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(found.si_pid, 0)


def adopt_orphans() -> None:
    """Makes orphans from the sandbox children of this process, so that it can `reap` them."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
