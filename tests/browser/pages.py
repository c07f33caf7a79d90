"""Look at every page of the rendered book in Chromium, as its readers will.

    tests/browser/run.py pages [--html build/book/html] [--all] [--only TEXT]

finds Chromium, installs what drives it, and calls this file. Each page is opened from `file://` and looked at once, in
light and 390 px wide; of those that are made from a source only one in eight. One in twenty, chosen by its name, is looked
at in every way instead; with --all and with --only each page is. Every way means 1400 and 390 px wide, in light and dark,
1050 px wide, and with JavaScript off. Asked of each page:

- no error on the console, no request to another host, none that fails;
- no raw TeX, no picture that is missing;
- the page does not scroll sideways; a box within it that scrolls takes the focus and has a label;
- axe-core finds no violation of WCAG 2.1 A and AA, and the headings go down one level at a time (one page in four answers
  for all, since that takes longer than all else; with --all each answers for itself, but for copies of sources, which
  differ only in their code).

The search, from the disk and from a server on the loopback address, must find English words in any of their forms, Chinese ones, and an exercise by its number. Links and anchors are
checked by docs/offline.py whenever the book is rendered. Exit status 1 names each page and complaint.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
from chromium import served
from reader import FIRST, LOOKS, NUMBERS, Reader, Seen

WORDS = ("multiplied", "朋友", *NUMBERS)

reader: Reader | None = None


def start(*arguments: Any) -> None:
    global reader
    cli.quiet_worker()
    reader = Reader(*arguments)


@dataclass(frozen=True)
class Task:
    """A page and how it is looked at."""

    name: str
    made: bool  # from a source
    every_way: bool
    judged: bool


def visit(task: Task | str) -> Seen:
    """Looks at a page, or searches for a word."""
    assert reader is not None
    name = task.name if isinstance(task, Task) else task
    try:
        if isinstance(task, str):
            return reader.search(task)
        if task.every_way and not task.made:
            return reader.whole(name)
        return reader.some(name, LOOKS if task.every_way else FIRST, task.judged)
    except Exception as error:  # one page's failure is that page's complaint
        return Seen([f"{name}: {type(error).__name__}: {error}"])


def chosen(name: str, one_in: int) -> bool:
    """Whether a page of this name is one of the sample: always, or never."""
    return zlib.crc32(name.encode()) % one_in == 0


def tasks(html: Path, every: bool) -> list[Task]:
    """Those that take long come first, so that all workers end together."""
    pages = sorted(html.rglob("*.html"), key=lambda path: -path.stat().st_size)
    out: list[Task] = []
    for name in (path.relative_to(html).as_posix() for path in pages):
        source = name.startswith("source/")
        made = source or name.startswith("api/")
        if every or not made or chosen(name, 8):
            judged = chosen(name, 12 if source else 4) or (every and not source)
            out.append(Task(name, made, every or (not made and chosen(name, 20)), judged))
    return sorted(out, key=lambda task: not task.every_way)


def check(html: Path, chromium: str, every: bool, only: str) -> Seen:
    """The pages whose name holds `only`; complaints are printed as they come."""
    seen = Seen()
    todo: list[Task | str] = [task for task in tasks(html, every or only != "") if only in task.name]
    todo += [] if only else WORDS
    with (
        served(html) as address,
        ProcessPoolExecutor(len(os.sched_getaffinity(0)), initializer=start, initargs=(html, address, chromium)) as pool,
    ):
        for task, one in zip(todo, pool.map(visit, todo), strict=True):
            seen.add(one)
            if isinstance(task, Task):
                seen.counts["pages"] += 1
                seen.counts["in every way"] += task.every_way
            for line in one.complaints:
                print(line, flush=True)
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description="look at the rendered book in Chromium")
    parser.add_argument("--html", type=Path, default=Path("build/book/html"), help="the rendered book")
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--all", action="store_true", help="look at every page in every way, not at one in twenty")
    parser.add_argument("--only", default="", metavar="TEXT", help="pages whose name holds TEXT, in every way")
    options = parser.parse_args()
    started = time.monotonic()
    seen = check(options.html.resolve(), options.chromium, options.all, options.only)
    counts = ", ".join(f"{number} {what}" for what, number in seen.counts.items())
    print(f"browser: {counts}; {len(seen.complaints)} complaints; {time.monotonic() - started:.0f} s")
    return 1 if seen.complaints or not seen.counts["looks"] else 0


if __name__ == "__main__":
    cli.run(main)
