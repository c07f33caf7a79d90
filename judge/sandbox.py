"""Runs other people's programs under bubblewrap, with limits, and lets them see only what they need."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MEBIBYTE = 1 << 20
CGROUPS = Path("/sys/fs/cgroup")
# System calls that no computing program needs, and those that have opened ways out of namespaces before.
FORBIDDEN = (
    "ptrace process_vm_readv process_vm_writev bpf perf_event_open keyctl add_key request_key userfaultfd "
    "io_uring_setup io_uring_enter io_uring_register mount umount2 pivot_root chroot unshare setns kexec_load "
    "init_module finit_module delete_module socket socketpair memfd_create personality syslog "
    "open_by_handle_at fsopen fsmount move_mount mount_setattr"
).split()
THREADS = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}  # a waiting thread must not use up the program's time
HELPERS = "clone clone3 fork vfork".split()  # system calls that start a thread or a process


PAUSE = 0.5  # seconds between checks on a running program


class Unfit(RuntimeError):
    """This machine cannot do what judging needs, whatever the answer is, so nobody loses points."""


@dataclass(frozen=True)
class Limits:
    """The resources that a program may use."""

    seconds: float  # of processor time; a program is also ended if it computes nothing for as long
    patience: float = 6.0  # times `seconds` by the clock, because on a busy machine it may wait for a processor
    memory: int = 1024 * MEBIBYTE
    processes: int = 32
    file_size: int = 8 * MEBIBYTE
    reserves: bool = False  # whether it reserves more addresses than memory, as the emulated device does
    alone: bool = False  # no threads or children, which could help it or slow others down
    printed: int = 64 * 1024  # bytes kept; sixteen times as much ends the program


@dataclass(frozen=True)
class Outcome:
    """How a program ended: `ok`, `timeout`, `memory`, `output`, `crash`, or `start` if it did not even begin."""

    reason: str
    status: int
    printed: str


@cache
def system_calls(*, alone: bool) -> bytes:
    """The filter of system calls, as bubblewrap reads it; empty without libseccomp.

    :param alone: whether it may start no thread or process
    """
    try:
        library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError:
        return b""
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p,
    ]  # fmt: skip
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    context = library.seccomp_init(0x7FFF0000)  # allow
    for name in (*FORBIDDEN, *(HELPERS if alone else ())):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            library.seccomp_rule_add_array(context, 0x00050001, number, 0, None)  # EPERM
    with tempfile.TemporaryFile() as file:
        library.seccomp_export_bpf(context, file.fileno())
        library.seccomp_release(context)
        file.seek(0)
        return file.read()


@cache
def why_unavailable() -> str:
    """Why there is no sandbox here; empty if there is one."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed (apt-get install bubblewrap)"
    temporary = Path(tempfile.gettempdir())
    if drops(tight=True) and not all(p.stat().st_mode & 0o001 for p in (temporary, *temporary.parents)):
        return f"{temporary}, where answers are compiled, is closed to other users; put TMPDIR=/tmp before the command to compile elsewhere"
    try:
        outcome = run(["/bin/true"], {}, Limits(10), tight=True)
    except (OSError, Unfit) as error:
        return str(error)
    if outcome.reason != "ok":
        return f"bubblewrap cannot make its namespaces here: {outcome.printed.strip()}{what_forbids()}"
    return ""


def what_forbids() -> str:
    """The setting that keeps unprivileged users from making namespaces, if there is one and it is on."""
    for name, forbids in (("kernel.apparmor_restrict_unprivileged_userns", "1"), ("kernel.unprivileged_userns_clone", "0")):
        with contextlib.suppress(OSError):
            if Path("/proc/sys", name.replace(".", "/")).read_text().strip() == forbids:
                return f"\n{name} forbids it; to allow it until the next reboot: sudo sysctl -w {name}={1 - int(forbids)}"
    return ""


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


FIRST_USER = 200_000  # users from here on own nothing
_known: set[int] = set()
without_rights = False  # grading without bubblewrap: as root, programs run as a user who owns nothing


def drops(tight: bool) -> bool:
    """Whether programs run as another user."""
    return os.geteuid() == 0 and (tight or without_rights)


def fresh_user() -> int:
    """A user that owns nothing: another one for each program, so that none has access to another's processes."""
    return random.SystemRandom().randrange(FIRST_USER, 10 * FIRST_USER)


def reap() -> None:
    """Reaps the orphans of programs that ended, because they would count as processes."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in _known:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(found.si_pid, 0)


def adopt_orphans() -> None:
    """Makes orphans from the sandbox children of this process, so that it can `reap` them."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def counted(processes: int) -> list[str]:
    """A command that runs another in the sandbox with at most `processes` processes. Before Linux 5.14 this does nothing,
    because there the same user's processes outside would count, too."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if not version or (int(version[1]), int(version[2])) < (5, 14):
        return []
    return ["/bin/bash", "-c", f'ulimit -u {processes + 8} && exec "$@"', "bash"]


def bubblewrap(
    mounts: dict[str, Path], writable: dict[str, Path], seccomp: int | None, status: int, hidden: Sequence[Path] = ()
) -> list[str]:
    """A command that runs another in a world of its own: /usr without what is `hidden`, `mounts`, and an empty /tmp.

    :param status: the descriptor where bubblewrap says how the other command ended, if it began
    """
    command = f"bwrap --json-status-fd {status} --unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv".split()
    if seccomp is not None:
        command += ["--seccomp", str(seccomp)]
    command += "--setenv PATH /usr/bin --setenv LANG C.UTF-8 --hostname judge".split()
    for name, value in THREADS.items():
        command += ["--setenv", name, value]
    command += "--cap-drop ALL --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/bin /bin".split()
    if Path("/lib64").exists():
        command += ["--symlink", "usr/lib64", "/lib64"]
    for path in hidden:
        command += ["--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path)]
    command += "--proc /proc --dev /dev --remount-ro /dev --size 16777216 --tmpfs /dev/shm".split()
    command += "--size 134217728 --tmpfs /tmp".split()
    for inside, outside in mounts.items():
        command += ["--ro-bind", str(outside), inside]
    for inside, outside in writable.items():
        command += ["--bind", str(outside), inside]
    return [*command, "--chdir", "/tmp", "--remount-ro", "/", "--"]


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
        self.group = Group(limits) if tight or without_rights else None
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
            if calls := system_calls(alone=limits.alone):
                filter_file = inside.enter_context(tempfile.TemporaryFile())  # a separate file, because bubblewrap reads it to its end
                filter_file.write(calls)
                filter_file.seek(0)
                seccomp = filter_file.fileno()
                inherited.append(seccomp)
            if os.geteuid() != 0:
                command = counted(limits.processes) + command
            command = bubblewrap(mounts, writable, seccomp, status_inside, hidden) + command
        command = ["/bin/bash", "-c", f'exec "$@" 3>&{answers_inside}', "bash", *command]
        if user is None and drops(tight):
            user = fresh_user()

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
            if tight or without_rights:
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
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **THREADS},
            cwd="/" if tight or without_rights else None,
            pass_fds=inherited,
            preexec_fn=limit,
            start_new_session=True,
        )
        _known.add(self.process.pid)
        self._reader = threading.Thread(target=self._read_printed, daemon=True)
        try:
            self._reader.start()
        except RuntimeError:  # the system has no threads left
            self.kill()
            with self.process:  # waits, and closes its pipes
                _known.discard(self.process.pid)
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
        _known.discard(self.process.pid)
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


def run(
    command: list[str],
    mounts: dict[str, Path],
    limits: Limits,
    *,
    tight: bool,
    writable: dict[str, Path] | None = None,
    hidden: Sequence[Path] = (),
    user: int | None = None,
) -> Outcome:
    """Runs a program until it ends."""
    running = Running(command, mounts, limits, tight=tight, writable=writable, hidden=hidden, user=user)
    return running.finish()


@contextlib.contextmanager
def writable_folder(tight: bool) -> Iterator[tuple[Path, int | None]]:
    """A fresh folder that a program in the sandbox may write to, and the user that it belongs to."""
    with tempfile.TemporaryDirectory(prefix="judge_") as name:
        folder, user = Path(name), None
        if drops(tight):
            user = fresh_user()
            os.chown(folder, user, user)
        yield folder, user
