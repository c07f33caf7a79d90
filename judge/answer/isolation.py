"""What a program in the sandbox sees and may do: a world of its own, made by bubblewrap, and a user who owns nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

# System calls that no computing program needs, and those that have opened ways out of namespaces before.
FORBIDDEN = (
    "ptrace process_vm_readv process_vm_writev bpf perf_event_open keyctl add_key request_key userfaultfd "
    "io_uring_setup io_uring_enter io_uring_register mount umount2 pivot_root chroot unshare setns kexec_load "
    "init_module finit_module delete_module socket socketpair memfd_create personality syslog "
    "open_by_handle_at fsopen fsmount move_mount mount_setattr"
).split()
THREADS = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}  # a waiting thread must not use up the program's time
HELPERS = "clone clone3 fork vfork".split()  # system calls that start a thread or a process
FIRST_USER = 200_000  # users from here on own nothing
without_rights = False  # grading without bubblewrap: as root, programs run as a user who owns nothing


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


def drops(tight: bool) -> bool:
    """Whether programs run as another user."""
    return os.geteuid() == 0 and (tight or without_rights)


def fresh_user() -> int:
    """A user that owns nothing: another one for each program, so that none has access to another's processes."""
    return random.SystemRandom().randrange(FIRST_USER, 10 * FIRST_USER)


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


@contextlib.contextmanager
def writable_folder(tight: bool) -> Iterator[tuple[Path, int | None]]:
    """A fresh folder that a program in the sandbox may write to, and the user that it belongs to."""
    with tempfile.TemporaryDirectory(prefix="judge_") as name:
        folder, user = Path(name), None
        if drops(tight):
            user = fresh_user()
            os.chown(folder, user, user)
        yield folder, user
