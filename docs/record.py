"""The programs' output: recorded in ROOT/recorded, written here to BUILD/runs, and shown from BUILD/results.

    python docs/record.py --root . --build build/book        rewrite ROOT/recorded from BUILD/runs; with --only
                                                             CHAPTER/RUN, one run; with --compare, print both

Each run of a program has a folder CHAPTER/RUN with results.json, stdout.txt, command.txt and arrays. The pages show
this machine's results if there are any, otherwise the recorded ones. recorded/about.json says when, on what machine, and
from which sources the record was made. Standard library only.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "lib/program"), str(ROOT / "bench")]

import cli
import files
from machine import processor

DONE = "stdout.txt"  # a run writes it last
LARGEST = 2_000_000  # bytes of the record of all runs
PROOF = {"double": "./book proof", "single": "./book proof --single"}


@dataclass(frozen=True)
class Run:
    """One run of a program, as the chapter's CMakeLists.txt declares it."""

    chapter: str  # the folder's name
    name: str
    command: str

    @property
    def key(self) -> str:
        return f"{self.chapter}/{self.name}"


def declared(root: Path) -> dict[str, Run]:
    """All runs that the book shows, by `chapter/name`."""
    found = [Run("proof", name, command) for name, command in PROOF.items() if (root / "tests/proof").is_dir()]
    for path in sorted(root.glob("chapters/[0-9][0-9]_*/CMakeLists.txt")):
        call = re.search(r"^\s*abh_chapter\(([^()]*)\)", path.read_text(encoding="utf-8"), re.MULTILINE)
        words = re.findall(r'"[^"]*"|[^\s"]+', call.group(1)) if call else []
        options, keyword = {"main": ""}, ""
        for word in words:
            if word.isupper():
                keyword = word
            elif keyword == "MAIN":
                options["main"] = word.strip('"')
            elif keyword == "RUNS":
                name, _, rest = word.strip('"').partition(":")
                options[name] = rest.strip()
        folder = path.parent.name
        found += [Run(folder, name, f"./book run {folder[:2]} {rest}".strip()) for name, rest in options.items()]
    return {run.key: run for run in found}


def stands_on(root: Path, chapter: str) -> str:
    """A digest of what determines the numbers of a chapter's runs: main.cpp and commands, without comments and includes."""
    folder = root / ("tests/proof" if chapter == "proof" else f"chapters/{chapter}")
    digest = hashlib.sha256()
    for path in [folder / "main.cpp", *sorted(folder.glob("*_command.cpp"))]:
        if path.is_file():
            code = [line for line in path.read_text(encoding="utf-8").splitlines() if not re.match(r"\s*(#include|//)", line)]
            digest.update("\n".join([path.name, *code]).encode())
    return digest.hexdigest()


# When and where -----------------------------------------------------------------------------------


def compiler(build: Path) -> str:
    """The compiler that CMake found, such as `GCC 12.2.0`."""
    for path in sorted(build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")):
        found = dict(re.findall(r'set\(CMAKE_CXX_COMPILER_(ID|VERSION) "([^"]*)"\)', path.read_text(encoding="utf-8")))
        if len(found) == 2:
            return f"{found['ID'].replace('GNU', 'GCC')} {found['VERSION']}"
    return "an unknown compiler"


def complete(folder: Path) -> dict[str, Path]:
    """The folders of the runs that have ended, by `chapter/name`."""
    return {f"{path.parent.parent.name}/{path.parent.name}": path.parent for path in sorted(folder.glob(f"*/*/{DONE}"))}


def names(run: Path) -> set[str]:
    """What a run has written: its numbers and its arrays."""
    file = run / "results.json"
    return {path.name for path in run.glob("*.npy")} | set(json.loads(file.read_text()) if file.is_file() else {})


def day(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()


def about_here(build: Path) -> dict[str, Any]:
    """This machine, and the day of each run."""
    return {
        "processor": processor(),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.system(),
        "compiler": compiler(build),
        "runs": {key: {"date": day(folder / DONE)} for key, folder in complete(build / "runs").items()},
    }


def about(folder: Path) -> dict[str, Any]:
    path = folder / "about.json"
    if not path.is_file():
        return {"runs": {}}
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, content: Any) -> None:
    files.write(path, json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


# What the pages show ------------------------------------------------------------------------------


def mirror(source: Path, target: Path) -> None:
    """Make `target` hold the files of `source`."""
    names = {path.name for path in source.iterdir() if path.is_file() and path.suffix != ".part"}
    for name in names:
        files.write(target / name, (source / name).read_bytes())
    files.prune(target, [target / name for name in names])


def gather(root: Path, build: Path) -> None:
    """Fill BUILD/results with each run's output from this machine or, if there is none, from the record; origin.json says
    which. A run that lacks what the record has is that of an older program, from before an update. Beside the runs it puts the lists that are printed for each build, from BUILD/lists."""
    record, runs, results = root / "recorded", build / "runs", build / "results"
    kept = complete(record)
    here = {key: run for key, run in complete(runs).items() if key not in kept or names(kept[key]) <= names(run)}
    chosen = {**kept, **here}
    machine, recorded = about_here(build), about(record)
    if here:
        write_json(runs / "about.json", machine)
    shown = {**complete(build / "lists"), **chosen}
    for key, folder in shown.items():
        mirror(folder, results / key)
    for chapter in results.glob("*/"):
        for run in chapter.glob("*/"):
            if f"{chapter.name}/{run.name}" not in shown:
                shutil.rmtree(run)
        with suppress(OSError):
            chapter.rmdir()
    origin = {}
    for key in chosen:
        where = machine if key in here else recorded
        where = {**where, **where["runs"].get(key, {})}
        origin[key] = {
            "here": key in here,
            "date": where.get("date", "an unknown day"),
            "processor": where.get("processor", "an unknown processor"),
            "compiler": where.get("compiler", "an unknown compiler"),
        }
    write_json(results / "origin.json", origin)


# This machine beside the record -------------------------------------------------------------------

# By how much a number may differ, relative to the larger of both, if its program declares nothing (`Results::set`).
# Programs compute in single precision, with steps of 6e-8. If another processor's instructions add a hundred or so terms
# in another order, the sum is off by ten or so steps, and a few layers multiply that. 1e-5 leaves a factor of ten.
ROUNDING = 1e-5
# When numbers of size 1 cancel, what is left is rounding, whatever its relative size.
RESIDUAL = 1e-6
TIMES = frozenset({"ms", "us", "s"})


@dataclass(frozen=True)
class Pair:
    """One value in the record and on this machine; None if one of them does not have it."""

    run: str
    name: str
    recorded: dict[str, Any] | None
    here: dict[str, Any] | None

    @property
    def verdict(self) -> str:
        """`varies` (not compared), `equal`, `within` rounding, or `different`."""
        if self.recorded is None or self.here is None:
            return "different"
        if self.recorded.get("varies") and self.here.get("varies"):
            return "varies"
        a, b = self.recorded["value"], self.here["value"]
        if a == b:
            return "equal"
        if isinstance(a, str) or isinstance(b, str):
            return "different"
        if float(a).is_integer() and float(b).is_integer():
            return "different"  # two counts
        return "within" if abs(a - b) <= max(ROUNDING * max(abs(a), abs(b)), RESIDUAL) else "different"

    @property
    def ratio(self) -> float | None:
        """This machine's number over the record's."""
        if self.recorded is None or self.here is None:
            return None
        a, b = self.recorded["value"], self.here["value"]
        return None if isinstance(a, str) or isinstance(b, str) or not a or not b or a * b < 0 else b / a


def pairs(record: Path, runs: Path) -> list[Pair]:
    """The values of all runs that are recorded and were also run here. Arrays are not compared."""

    def values(folder: Path) -> dict[str, Any]:
        path = folder / "results.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    found: list[Pair] = []
    recorded, here = complete(record), complete(runs)
    for run in sorted(recorded.keys() & here.keys()):
        old, new = values(recorded[run]), values(here[run])
        found += [Pair(run, name, old.get(name), new.get(name)) for name in sorted({*old, *new})]
    return found


def speed(found: Iterable[Pair]) -> float | None:
    """The median ratio of this machine's times to the recorded ones."""
    ratios = [
        pair.ratio
        for pair in found
        if pair.verdict == "varies" and pair.here and pair.here.get("unit") in TIMES and pair.ratio
        and not pair.here.get("disturbed")
    ]
    return statistics.median(ratios) if ratios else None


def shown(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "nothing"
    value = entry["value"]
    return repr(value) if isinstance(value, str) else f"{value:.9g}"


def row(name: str, found: list[Pair]) -> str:
    counts = Counter(pair.verdict for pair in found)
    compared = sum(counts.values()) - counts["varies"]
    ratio = speed(found)
    times = f"{ratio:.2f}" if ratio else "-"
    return f"{name:30} {compared:8} {counts['equal']:6} {counts['within']:7} {counts['different']:10} {times:>6}"


def pages_with(root: Path, run: str, name: str) -> str:
    """The pages with this value in their text, as `04/main/name` or with the chapter's whole name."""
    value = re.compile(rf"`{run[:2]}(\w*)/{run.partition('/')[2]}/{re.escape(name)}[`: ]")
    pages = sorted([*root.glob("docs/*.md"), *root.glob("chapters/*/*.md")])
    found = [path for path in pages if value.search(path.read_text(encoding="utf-8"))]
    return ", ".join(path.relative_to(root).as_posix() for path in found)


def compare(root: Path, build: Path) -> list[str]:
    """Print a table with a line for each chapter. Returns a line for each difference beyond its tolerance."""
    found = pairs(root / "recorded", build / "runs")
    recorded = about(root / "recorded")
    print(
        f"\nThis machine's numbers beside those recorded on {recorded.get('date')} ({recorded.get('processor')}).\n"
        "Values that vary between machines are not compared, and neither are arrays. The column 'times' is the median\n"
        "ratio of this machine's times to the recorded ones.\n"
    )
    print(f"{'chapter':30} {'compared':>8} {'equal':>6} {'within':>7} {'different':>10} {'times':>6}")
    chapters: dict[str, list[Pair]] = {}
    for pair in found:
        chapters.setdefault(pair.run.partition("/")[0], []).append(pair)
    for chapter, values in [*sorted(chapters.items()), ("all", found)]:
        print(row(chapter, values))
    print(flush=True)
    return [
        f"{pair.name} is {shown(pair.recorded)} in recorded/{pair.run}, but {shown(pair.here)} in "
        f"{build.name}/runs/{pair.run}; shown by {pages_with(root, pair.run, pair.name) or 'no page'}"
        for pair in found
        if pair.verdict == "different"
    ]


# The record ---------------------------------------------------------------------------------------


def stale(root: Path) -> Iterator[str]:
    """What is wrong with the record: a line for each run whose command or program has changed."""
    recorded, runs = about(root / "recorded").get("runs", {}), declared(root)
    there = complete(root / "recorded")
    for key, run in runs.items():
        known = recorded.get(key)
        if known is None or key not in there:
            yield f"{key} ({run.command}) is not recorded"
        elif known["command"] != run.command:
            yield f"{key} was recorded by {known['command']}, but its command is {run.command}"
        elif known["program"] != stands_on(root, run.chapter):
            yield f"{key} ({run.command}) was recorded by a program that has changed since"
    for key in sorted({*recorded, *there} - runs.keys()):
        yield f"{key} is recorded, but no chapter has such a run"


def entry(root: Path, run: Run) -> dict[str, str]:
    """What about.json says of a run."""
    return {"command": run.command, "program": stands_on(root, run.chapter)}


def keep(build: Path, folder: Path, kept: Path) -> None:
    """Copy a run into the record. The book does not show one machine's folders."""
    mirror(folder, kept)
    printed = kept / "stdout.txt"
    if printed.is_file():
        printed.write_bytes(printed.read_bytes().replace(f"{build.resolve()}/".encode(), b""))


def write_one(root: Path, build: Path, key: str) -> None:
    """Rewrite one run in ROOT/recorded. Its day and machine are its own."""
    here, runs = complete(build / "runs"), declared(root)
    if key not in here or key not in runs:
        raise cli.Failure(f"no run {key} in {build / 'runs'}, or no chapter has one")
    keep(build, here[key], root / "recorded" / key)
    machine, known = about_here(build), about(root / "recorded")
    where = {"processor": machine["processor"], "compiler": machine["compiler"], **machine["runs"][key]}
    known["runs"][key] = {**entry(root, runs[key]), **where}
    write_json(root / "recorded/about.json", known)


def write(root: Path, build: Path) -> tuple[int, int]:
    """Rewrite ROOT/recorded from BUILD/runs. Returns the numbers of runs and of bytes."""
    here, runs = complete(build / "runs"), declared(root)
    if missing := sorted(runs.keys() - here.keys()):
        raise cli.Failure(f"these runs are missing in {build / 'runs'}: {', '.join(missing)}; ./book record makes them")
    size = sum(path.stat().st_size for key in runs for path in here[key].iterdir())
    if size > LARGEST:
        raise cli.Failure(f"the runs wrote {size} bytes, but a record may have at most {LARGEST}")
    record = root / "recorded"
    for old in record.glob("*/"):
        if old.name != "live":  # that is docs/live/module.py's
            shutil.rmtree(old)
    for key in runs:
        keep(build, here[key], record / key)
    machine = about_here(build)
    dates = [one["date"] for key, one in machine.pop("runs").items() if key in runs]
    entries = {key: entry(root, run) for key, run in runs.items()}
    write_json(record / "about.json", {**machine, "date": max(dates), "runs": entries})
    return len(runs), size


def main() -> int:
    parser = argparse.ArgumentParser(description="record the output of the programs")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the repository")
    parser.add_argument("--build", type=Path, default=Path("build/book"), help="build folder (default: build/book)")
    parser.add_argument("--compare", action="store_true", help="print BUILD/runs beside ROOT/recorded, and write nothing")
    parser.add_argument("--only", metavar="CHAPTER/RUN", help="rewrite this run alone; it keeps a day and a machine of its own")
    parser.add_argument("--out", help=argparse.SUPPRESS)  # docs/run.py gives it to all whose output the pages show
    options = parser.parse_args()
    if options.compare:
        print("\n".join(compare(options.root.resolve(), options.build.resolve())))
        return 0
    if options.only:
        write_one(options.root.resolve(), options.build.resolve(), options.only)
        return 0
    runs, size = write(options.root.resolve(), options.build.resolve())
    print(f"recorded/: {runs} runs, {size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    cli.run(main)
