"""The Python tools of the book, in a virtual environment of their own: build/venv.

    python3 docs/tools.py                     what docs/requirements.txt names
    python3 docs/tools.py formats slides      and what docs/requirements-formats.txt and -slides.txt name

What is already installed is not installed again. Standard library only.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli

VENV = ROOT / "build" / "venv"
# Settings of pip that say where to install, or what else; all others, such as where packages come from, are followed.
ELSEWHERE = frozenset(["user", "target", "prefix", "root", "python", "dry-run", "constraint", "requirement", "editable"])


def pip_environment(python: Path) -> dict[str, str]:
    """The user's environment, with the settings of pip that it should follow: those of files become variables, too."""
    # All files are asked, by this Python, and something is said even if it should be quiet.
    listing, asked = [python, "-m", "pip", "config", "list", "-vvv"], {"PIP_USER": "0", "PIP_PYTHON": str(python)}
    listed = subprocess.run(listing, capture_output=True, text=True, check=True, env=os.environ | asked).stdout
    settings = re.findall(r"^(global|install|:env:)\.([\w-]+)=(.+)$", listed, re.MULTILINE)
    settings.sort(key=lambda setting: ("global", "install", ":env:").index(setting[0]))  # the last one counts
    followed = {name: ast.literal_eval(value) for _, name, value in settings if name not in ELSEWHERE}
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {
        **own,
        **{f"PIP_{name.upper().replace('-', '_')}": value for name, value in followed.items()},
        "PIP_CONFIG_FILE": os.devnull,
    }


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
            if subprocess.run(command, check=False, env=pip_environment(python)).returncode != 0:
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
