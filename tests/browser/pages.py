"""Look at every page of the rendered book in Chromium, as its readers will.

    tests/browser/run.py pages [--html build/book/html] [--out build/browser] [--all] [--only TEXT]

finds Chromium, installs what drives it, and calls this file. Each page is opened from `file://` and looked at once, in
light and 390 px wide; of those that are made from a source only one in four. One in twenty, chosen by its name, is looked
at in every way instead; with --all and with --only each page is. Every way means 1400 and 390 px wide, in light and dark,
1050 px wide from a server on the loopback address, and with JavaScript off; for pages that are made from a source, wide in light and narrow in dark. Asked of each page:

- no error on the console, no request to another host, none that fails;
- no raw TeX, no character without a glyph, no picture that is missing;
- the page does not scroll sideways; a box within it that scrolls takes the focus and has a label;
- axe-core finds no violation of WCAG 2.1 A and AA, and the headings go down one level at a time (some pages answer for
  all, one in four of those written by hand, since that takes longer than all else; with --all each answers for itself, but
  for copies of sources, which differ only in their code).

The search must find English words in any of their forms, Chinese ones, and an exercise by its number. Links and anchors are
checked by docs/offline.py whenever the book is rendered. OUT gets a screenshot of each page written
by hand in each look. Exit status 1 names each page and complaint.
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
from reader import APART, FIRST, NUMBERS, Reader, Seen

ENGLISH = ("attention", "multiplied", "gradients")
CHINESE = ("朋友", "好", "女")

reader: Reader | None = None


def start(*arguments: Any) -> None:
    global reader
    cli.quiet_worker()
    reader = Reader(*arguments)


@dataclass(frozen=True)
class Task:
    """A page and how it is looked at, or what is searched for."""

    name: str
    looks: tuple[tuple[int, str], ...] = ()  # none: a search
    judged: bool = False
    whole: bool = False


def visit(task: Task) -> Seen:
    assert reader is not None
    try:
        if task.whole:
            return reader.whole(task.name)
        if task.looks:
            return reader.some(task.name, task.looks, task.judged)
        return reader.search(task.name, task.judged)
    except Exception as error:  # one page's failure is that page's complaint
        return Seen([f"{task.name}: {type(error).__name__}: {error}"])


def chosen(name: str, one_in: int) -> bool:
    """Whether a page of this name is one of the sample: always, or never."""
    return zlib.crc32(name.encode()) % one_in == 0


def tasks(html: Path, every: bool) -> list[Task]:
    """Long pages first, so that both workers end together."""
    pages = sorted(html.rglob("*.html"), key=lambda path: -path.stat().st_size)
    names = [path.relative_to(html).as_posix() for path in pages]
    words = (*ENGLISH, *CHINESE, *NUMBERS) if "search.html" in names else ()
    out = [Task(word, judged=every or word in CHINESE[1:2]) for word in words]
    for name in names:
        more = every or chosen(name, 20)
        if name.startswith(("source/", "api/")) and not (more or chosen(name, 4) or name.endswith("/index.html")):
            continue
        if name.startswith("source/"):  # they differ in nothing but the code that they show
            judged = name == "source/index.html" or chosen(name, 12)
        elif name.startswith("api/"):
            judged = more
        else:
            judged = more or name == "index.html" or chosen(name, 4)
        by_hand = not name.startswith(("source/", "api/")) and name not in {"genindex.html", "search.html"}
        out.append(Task(name, tuple(APART if more else FIRST), judged, by_hand and more))
    return sorted(out, key=lambda task: not task.whole)


def check(html: Path, out: Path | None, chromium: str, every: bool, only: str) -> Seen:
    """The pages whose name holds `only`; complaints are printed as they come."""
    seen = Seen()
    todo = [task for task in tasks(html, every or only != "") if only in task.name]
    with (
        served(html) as address,
        ProcessPoolExecutor(len(os.sched_getaffinity(0)), initializer=start, initargs=(html, out, address, chromium)) as pool,
    ):
        for task, one in zip(todo, pool.map(visit, todo), strict=True):
            seen.add(one)
            seen.counts["pages"] += bool(task.looks)
            seen.counts["in every way"] += task.whole
            for line in one.complaints:
                print(line, flush=True)
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description="look at the rendered book in Chromium")
    parser.add_argument("--html", type=Path, default=Path("build/book/html"), help="the rendered book")
    parser.add_argument("--out", type=Path, help="folder for screenshots; without it none is taken")
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--all", action="store_true", help="look at every page in every way, not at one in twenty")
    parser.add_argument("--only", default="", metavar="TEXT", help="pages whose name holds TEXT, in every way")
    options = parser.parse_args()
    started = time.monotonic()
    out = options.out and options.out.resolve()
    seen = check(options.html.resolve(), out, options.chromium, options.all, options.only)
    counts = ", ".join(f"{number} {what}" for what, number in seen.counts.items())
    print(f"browser: {counts}; {len(seen.complaints)} complaints; {time.monotonic() - started:.0f} s")
    return 1 if seen.complaints or not seen.counts["looks"] else 0


if __name__ == "__main__":
    cli.run(main)
