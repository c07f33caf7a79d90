"""Run a program for the book, with output and results in one folder, which is complete once it has stdout.txt.

    python3 docs/run.py OUT CAPTION PROGRAM OPTIONS...

PROGRAM is called in OUT, with `--out OUT`. OUT/command.txt contains CAPTION, which the page shows above the output. A
line every ten seconds says that the program is still running. Standard library only.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli

EVERY = 10  # seconds


def main() -> None:
    if len(sys.argv) < 4:
        raise cli.Failure("expected a folder, a caption, and a program with its options")
    out, caption, command = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "command.txt").write_text(f"{caption}\n", encoding="utf-8")
    start, part = time.monotonic(), out / "stdout.part"
    with part.open("wb") as printed:
        program = subprocess.Popen([*command, "--out", str(out)], stdout=printed, cwd=out)
        while True:
            try:
                status = program.wait(EVERY)
                break
            except subprocess.TimeoutExpired:
                print(f"{caption}: running for {time.monotonic() - start:.0f} s", flush=True)
    if status != 0:
        raise cli.Failure(f"{caption}: exit status {status}; its output is in {part}")
    part.rename(out / "stdout.txt")


if __name__ == "__main__":
    cli.run(main)
