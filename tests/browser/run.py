"""Look at the rendered book in Chromium: see pages.py, live.py and training.py, which this file starts.

    python tests/browser/run.py pages      every page of build/book/html
    python tests/browser/run.py live       the pages' live parts compute what the programs do
    python tests/browser/run.py training   how long a page trains until it knows who likes whom
    python tests/browser/run.py why-not    says why this machine cannot, if so

Standard library only. What drives the browser is installed into a virtual environment of its own,
build/venv-browser. Exit status 77, which CTest takes for a skipped test, where there is no Chromium, no page
to look at, or nothing that drives the browser can be had; the line says which. With --must it is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "lib/program"), str(ROOT / "docs")]

import cli
import tools

SKIPPED = 77


def working(*names: str) -> str | None:
    """The first of these programs that works; in Ubuntu, one may be a script that asks for a snap, which may not be there."""
    for found in filter(None, map(shutil.which, names)):
        if subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="look at the rendered book in Chromium")
    parser.add_argument("what", choices=("pages", "live", "training", "why-not"))
    parser.add_argument("--html", type=Path, default=ROOT / "build/book/html", help="the rendered book")
    parser.add_argument("--venv", type=Path, default=ROOT / "build/venv-browser", help="virtual environment")
    parser.add_argument("--must", action="store_true", help="fail where it would be skipped")
    options, others = parser.parse_known_args()
    try:
        browser = working("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
        if not browser:
            raise cli.Failure("there is no Chromium: install the package chromium")
        if not (options.html / "index.html").is_file():
            raise cli.Failure(f"there are no pages in {options.html}: ./book check-pages renders them first")
        if options.what == "why-not":
            return 0
        interpreter = tools.install(HERE / "requirements.txt", options.venv)
    except cli.Failure as error:
        print(f"browser: the pages are not looked at, {error}")
        return 1 if options.must else SKIPPED
    command = [interpreter, HERE / f"{options.what}.py", "--html", options.html, "--chromium", browser, *others]
    if options.what == "live" and (firefox := working("firefox-esr", "firefox")):
        command += ["--firefox", firefox]
    return subprocess.run(command, check=False, env={**os.environ, "PYTHONUTF8": "1"}).returncode


if __name__ == "__main__":
    cli.run(main)
