"""The Python tools of the book, in a virtual environment of their own: build/venv.

    python3 docs/tools.py

installs what docs/requirements.txt names, unless it is already installed. Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "venv"
PYTHON = VENV / "bin" / "python"


class ToolsError(Exception):
    """The tools cannot be installed; the message says why."""


def install() -> None:
    """Install the tools. Several callers wait for the first one."""
    wanted = ROOT / "docs" / "requirements.txt"
    stamp, digest = VENV / "installed", hashlib.sha256(wanted.read_bytes()).hexdigest()
    VENV.parent.mkdir(parents=True, exist_ok=True)
    with (VENV.parent / "venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.is_file() and stamp.read_text() == digest):
            if sys.version_info < (3, 11):
                raise ToolsError(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
            print(f"book: installing the Python tools into {VENV}", flush=True)
            for command in (
                [sys.executable, "-m", "venv", VENV],
                [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", wanted],
            ):
                if subprocess.run(command, check=False).returncode != 0:
                    raise ToolsError(f"this command failed: {' '.join(map(str, command))}")
            stamp.write_text(digest)
        stamp.touch()  # newer than what CMake compares it with


def main() -> int:
    try:
        install()
    except ToolsError as error:
        print(f"book: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
