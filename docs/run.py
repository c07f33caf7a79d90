"""Run a program for the book, with output and results in one folder, which is complete once it has stdout.txt.

    python3 docs/run.py OUT CAPTION PROGRAM OPTIONS...

PROGRAM is called in OUT, with `--out OUT`. OUT/command.txt contains CAPTION, which the page shows above the output. A
line every ten seconds says that the program is still running. Standard library only.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

EVERY = 10  # seconds


def main() -> int:
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
        print(f"{caption}: exit status {status}; its output is in {part}", file=sys.stderr)
        return 1
    part.rename(out / "stdout.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
