"""The Python tools of the book, in a virtual environment of their own: build/venv.

    python3 docs/tools.py                     what docs/requirements.txt names
    python3 docs/tools.py formats slides      and what docs/requirements-formats.txt and -slides.txt name

What is already installed is not installed again. Standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli

VENV = ROOT / "build" / "venv"


def install(wanted: Path, venv: Path = VENV) -> Path:
    """Install what a file of requirements names, and return the interpreter. Several callers wait for the first one."""
    python, stamp = venv / "bin" / "python", venv / (wanted.stem.partition("-")[2] or "installed")
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    venv.parent.mkdir(parents=True, exist_ok=True)
    with venv.with_name(f"{venv.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.is_file() and stamp.read_text() == digest):
            if sys.version_info < (3, 11):
                raise cli.Failure(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
            print(f"book: installing {os.path.relpath(wanted, ROOT)} into {venv}", flush=True)
            if stamp.name == "installed":
                subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", wanted]
            # Where packages come from is for the user's settings of pip to say, but not that they are installed elsewhere.
            if subprocess.run(command, check=False, env=os.environ | {"PIP_USER": "0"}).returncode != 0:
                raise cli.Failure(f"pip could not install {os.path.relpath(wanted, ROOT)}; its messages are above")
            stamp.write_text(digest)
        stamp.touch()  # newer than what CMake compares it with
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description="install the Python tools of the book")
    parser.add_argument("more", nargs="*", help="formats, for the EPUB and the PDF; slides")
    options = parser.parse_args()
    wanted = [ROOT / "docs" / f"{name}.txt" for name in ("requirements", *(f"requirements-{more}" for more in options.more))]
    for file in wanted:
        if not file.is_file():
            raise cli.Failure(f"there is no {file}")
    for file in wanted:
        install(file)


if __name__ == "__main__":
    cli.run(main)
