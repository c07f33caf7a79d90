"""How a command in Python ends: with a status and, if something is wrong, one line that says what, never a list of calls.

    sys.path.insert(0, str(ROOT / "lib/program"))
    import cli                  # before packages that may be missing

    if __name__ == "__main__":
        cli.run(main)

program.cpp does the same for programs. Under `python3 -X dev` the calls are printed, too. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

STOPPED = 130  # what a shell reports after Ctrl-C


class Failure(Exception):
    """Ends a command; its text says to the reader what is wrong, and what to do."""


def place(error: BaseException) -> str:
    """The line of our own code where it was raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((sys.prefix, "<"))]
    return f"{os.path.relpath(frames[-1].filename)}:{frames[-1].lineno}" if frames else "an unknown place"


def explained(error: BaseException) -> str:
    """An exception in one line, but a Failure as it is."""
    if isinstance(error, Failure):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.strerror:
        files = [str(file) for file in (error.filename, error.filename2) if file is not None]
        return ": ".join([*files, error.strerror])
    if isinstance(error, ModuleNotFoundError):
        return f"Python's package {error.name} is missing; the first lines of {sys.argv[0]} say how it is started"
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or "what it printed is above").strip().splitlines()
        return f"{error.cmd[0]} ended with status {error.returncode}: {said[-1]}"
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{place(error)}: {said[:500]}; python3 -X dev says more"


def complain(error: BaseException, name: str) -> int:
    """Says what is wrong, after all that was printed. Returns the exit status."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # what is left of it goes nowhere, or Python would complain at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # head, for instance, has read enough
        return 1
    if sys.flags.dev_mode:
        traceback.print_exception(error)
    print(f"{name}: {explained(error)}", file=sys.stderr)
    return STOPPED if isinstance(error, KeyboardInterrupt) else 1


def refuse(_: argparse.ArgumentParser, message: str) -> NoReturn:
    raise Failure(f"{message} (see --help)")


def named(file: str) -> str:
    """What a command is called: its file, or its folder."""
    path = Path(file)
    return path.parent.name if path.stem == "__main__" else path.stem


def call(main: Callable[[], int | None]) -> int:
    """The status of `main`, 0 if it returns nothing; what it raises is said."""
    name = named(main.__code__.co_filename)
    argparse.ArgumentParser.error = refuse  # type: ignore[method-assign]
    try:
        if sys.stdout is None:
            raise Failure("the standard output is closed; send it to /dev/null if nobody shall read it")
        try:
            status = int(main() or 0)
        except SystemExit as end:  # --help
            status = int(end.code or 0)
        sys.stdout.flush()
        return status
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        return complain(error, name)


def run(main: Callable[[], int | None]) -> NoReturn:
    """Calls `main`, and exits with its status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C, and leaves nothing running
    if not sys.flags.dev_mode:  # what a pool's own thread raises while it is stopped; work hands its errors on to us
        threading.excepthook = lambda _: None
    sys.exit(call(main))


def quiet_worker() -> None:
    """For processes of a pool: signals end them, and the command that started them says so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


# What fails before `run`, as a package that is missing does; Python's status is then 1.
sys.excepthook = lambda _, error, __: complain(error, named(sys.argv[0]))
