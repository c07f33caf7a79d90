"""python3 -m judge VERB ...: the verbs of ./book that deal with exercises, and a hand-out's ./check."""

from __future__ import annotations

import errno
import importlib
import io
import os
import signal
import sys

from .answer.exercise import NAME, Mistaken
from .answer.limits import Unfit
from .answer.setting import Failed

VERBS = {  # the module, which a hand-out may lack, and the function in it
    "check": ("reader.check", "main"),
    "gate": ("gate", "main"),
    "grade": ("course.grade", "main"),
    "handout": ("course.handout", "main"),
    "hunt": ("reader.check", "main_hunt"),
    "mine": ("reader.mine", "main"),
    "progress": ("reader.check", "main_progress"),
}
TO_DO = {
    errno.ENOSPC: "make room, and give the command again",
    errno.EROFS: "name another place, where you may write",
    errno.EACCES: "name another place, or get permission",
    errno.EEXIST: "name another place, or move away what is there",
    errno.ENOTDIR: "name another place, or move away the file that is there",
}


def main(arguments: list[str]) -> int:
    """Runs the verb that comes first. Whatever goes wrong is said in a line without a traceback, with exit status 1 unless the verb
    has another: 2 for wrong usage and for a judge that cannot be built or cannot run here, 130 after Ctrl-C."""
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb not in VERBS:
        print(f"book: there is no verb {verb!r}; the verbs are {', '.join(VERBS)}", file=sys.stderr)
        return 2
    ready_streams()
    try:
        try:
            module, function = VERBS[verb]
            return getattr(importlib.import_module(f".{module}", __package__), function)(rest)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # head, for instance, has read enough
        status = 1
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        status = 128 + signal.SIGINT
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        said, status = explained(error)
        print(f"{NAME}: {said}", file=sys.stderr)
    give_up_output()
    return status


def explained(error: Exception) -> tuple[str, int]:
    """What to say about an error, and the exit status."""
    if isinstance(error, (Mistaken, Failed)):
        return str(error), 2
    if isinstance(error, (Unfit, MemoryError)):
        return f"cannot judge answers here: {error}", 2
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        advice = f"; {TO_DO[error.errno]}" if error.errno in TO_DO else ""
        return f"{where}{error.strerror or error}{advice}", 1
    kind = " ".join(f"{type(error).__name__}: {error}".split())
    return f"the judge itself failed ({kind}); put PYTHONDEVMODE=1 before the command to see where, and report it", 1


def ready_streams() -> None:
    """Lets standard streams take any character, and gives those that the caller has closed to nobody."""
    sys.stdin = sys.stdin or open(os.devnull)
    sys.stdout = sys.stdout or open(os.devnull, "w")
    sys.stderr = sys.stderr or open(os.devnull, "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Drops what could not be printed, which Python would try once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
