"""Plants each fault of mutants.toml in a copy of its file and runs tests until one notices.

    ./book mutate [--only NAME ...] [--list | --check] [--jobs N]

Only what the fault changes is compiled again, and linked with everything else that ./book test has
built. The sources stay as they are, so several faults can be planted at once. A fault is killed if
a test fails, crashes or takes too long; one that survives, or does not compile, fails the run. The
place of a fault is found token by token, whatever the line breaks, spaces and comments.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import signal
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from build_tree import BUILD, WAYS, Objects, Program, prepare, run, stop
from cli import Failure
from cpp_tokens import places

WORK = ROOT / "build" / "mutate"
SKIPPED = 77  # exit status of a test program that finds no device


def way_of(file: str) -> str:
    """The way that `file` belongs to; code that all ways share counts as plain."""
    if file.endswith((".cu", ".cuh")) or file.startswith("lib/cuda/"):
        return "cuda"
    return "fast" if ".fast." in file or file.startswith("lib/fast/") else "plain"


@dataclass(frozen=True)
class Mutant:
    """A fault: in `file`, `replace` in place of the tokens of `find`, which must occur once.

    Tests of `way` are most likely to notice; if it is left out, the file's name determines it.
    """

    name: str
    file: str
    find: str
    replace: str
    way: str = ""

    def __post_init__(self) -> None:
        if not self.way:
            object.__setattr__(self, "way", way_of(self.file))
        if self.way not in WAYS:
            raise Failure(f"{self.name}: way is {self.way}, expected one of {', '.join(WAYS)}")

    def chapter(self) -> str:
        """The chapter whose tests run first; lib's tests are chapter 00's."""
        return self.file.split("/")[1][:2] if self.file.startswith("chapters/") else "00"

    def plant(self, text: str) -> str:
        found = places(self.find, text)
        if len(found) != 1:
            number = f"{len(found)} places in {self.file}"
            raise Failure(f"{self.name}: {number} contain {self.find}, expected one")
        begin, end = found[0]
        return text[:begin] + self.replace + text[end:]


def in_order(programs: list[Program], mutant: Mutant) -> list[Program]:
    """Programs of the fault's way first: its own chapter, later ones, earlier ones; then others.

    If the chapter has no tests in the fault's way, one of the ways that it has counts instead.
    """
    chapter, way = mutant.chapter(), mutant.way
    offered = [w for w in WAYS if any(p.chapter == chapter and p.way == w for p in programs)]
    if offered and way not in offered:
        way = offered[0]

    def place(p: Program) -> tuple[bool, int, bool, bool, bool, str]:
        return (
            p.way != way,
            WAYS.index(p.way),
            p.chapter != chapter,
            not p.chapter > chapter,
            "_double" not in p.name,
            p.name,
        )

    return sorted(programs, key=place)


@dataclass(frozen=True)
class Verdict:
    outcome: str  # killed, SURVIVED, does not compile
    program: str = ""
    test: str = ""
    how: str = ""


def read_list() -> list[Mutant]:
    files = tomllib.loads((ROOT / "tests/mutants.toml").read_text(encoding="utf-8"))
    faults = ((file, *fault) for file, found in files.items() for fault in found.items())
    return [Mutant(name, file, *texts) for file, name, texts in faults]


def test(program: Program, place: Path = BUILD) -> Verdict | None:
    """The verdict if a test killed the fault, or `skipped` if the program found no device."""
    command = ("env", *program.environment, place / program.path, *program.arguments)
    status, output = run(
        *command, "--reporter", "xml", "--abort", folder=program.folder, limit=program.limit
    )
    if status == 0:
        return None
    if status == SKIPPED:
        return Verdict("skipped", program.name, how=output.strip())
    names = re.findall(r'<TestCase name="([^"]*)"', output)  # the last one to begin ended the run
    how = f"did not end in {program.limit:.0f} s" if status == -signal.SIGKILL else ""
    if not how and (status < 0 or "<OverallResults " not in output):
        how = f"crash, status {status}"
    return Verdict("killed", program.name, html.unescape(names[-1]) if names else "", how)


@cache
def check_without_fault(program: Program) -> None:
    """Checks that a test program that killed a fault passes without it."""
    if verdict := test(program):
        raise Failure(f"{program.name} fails without a fault: {verdict.test} {verdict.how}")


def judge(mutant: Mutant, programs: list[Program], objects: Objects) -> tuple[Verdict, float]:
    """The verdict, and how many seconds it took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        verdict = judge_in(Path(folder), mutant, programs, objects)
    return verdict, time.monotonic() - start


def judge_in(place: Path, mutant: Mutant, programs: list[Program], objects: Objects) -> Verdict:
    """Puts the file with the fault, and what is built from it, into `place`."""
    file = place / mutant.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(mutant.plant((ROOT / mutant.file).read_text(encoding="utf-8")), "utf-8")
    for program in in_order(programs, mutant):
        changed = objects.changed(program.path, mutant.file)
        if not changed:
            continue
        steps = [(objects.compile, o, (o, mutant.file, place)) for o in changed]
        steps.append((objects.link, program.path, (program.path, changed, place)))
        for step, made, arguments in steps:
            if (place / made).exists():
                continue
            status, output = step(*arguments)
            if status != 0:
                errors = [line for line in output.splitlines() if "error" in line]
                return Verdict("does not compile", program.name, how="\n".join(errors[:3]))
        verdict = test(program, place)
        if verdict and verdict.outcome == "killed":
            check_without_fault(program)
            return verdict
    return Verdict("SURVIVED")


def chosen(mutants: list[Mutant], parts: list[str]) -> list[Mutant]:
    """The faults whose names contain one of `parts`, in any case; all if there are no parts."""
    for part in parts:
        if not any(part.lower() in m.name.lower() for m in mutants):
            raise Failure(f"no fault's name contains {part}; ./book mutate --list shows all names")
    return [m for m in mutants if not parts or any(p.lower() in m.name.lower() for p in parts)]


def check(mutants: list[Mutant], root: Path = ROOT) -> list[str]:
    """A line for each fault that does not have exactly one place, with the number of its places."""
    wrong = []
    for mutant in mutants:
        file = root / mutant.file
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        number = len(places(mutant.find, text))
        if number != 1:
            note = "" if file.is_file() else " (no such file)"
            wrong.append(f"{number} places in {mutant.file}{note}: {mutant.name}: {mutant.find}")
    return wrong


def mutate(mutants: list[Mutant], jobs: int) -> int:
    """Plants all faults. Returns the exit status, 0 if all were killed."""
    if wrong := check(mutants):
        raise Failure("\n".join(["these faults do not have exactly one place:", *wrong]))
    programs = prepare(jobs)
    objects = Objects()
    WORK.mkdir(parents=True, exist_ok=True)
    width = max(len(m.name) for m in mutants)
    start, left = time.monotonic(), []
    with ThreadPoolExecutor(jobs) as lanes:
        try:
            planted = {lanes.submit(judge, m, programs, objects): m for m in mutants}
            for number, done in enumerate(as_completed(planted), 1):
                mutant, (verdict, seconds) = planted[done], done.result()
                by = f'{verdict.program}: "{verdict.test}"' if verdict.test else verdict.program
                note = " ".join(filter(None, (by and f"by {by}", verdict.how)))
                print(
                    f"[{number:{len(str(len(mutants)))}}/{len(mutants)}] {verdict.outcome:<8}  "
                    f"{mutant.name:<{width}}  {note}  {seconds:.0f} s",
                    flush=True,
                )
                if verdict.outcome != "killed":
                    left.append(f"  {verdict.outcome}: {mutant.name} ({mutant.file})")
        except BaseException:
            lanes.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
    print(
        f"{len(mutants) - len(left)} of {len(mutants)} faults killed, "
        f"{(time.monotonic() - start) / 60:.0f} min",
        *left,
        sep="\n",
    )
    return 1 if left else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./book mutate", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="plant only faults whose names contain NAME",
    )
    verb = parser.add_mutually_exclusive_group()
    verb.add_argument("--list", action="store_true", help="print the names of the faults, and stop")
    verb.add_argument(
        "--check",
        action="store_true",
        help="print the faults that do not have exactly one place in their file, and stop",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="with --list: also write their number to DIR/results.json",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="number of faults to plant at once (default: one per core)",
    )
    options = parser.parse_args()
    mutants = chosen(read_list(), options.only)
    if options.check:
        wrong = check(mutants)
        print(*wrong, f"{len(mutants) - len(wrong)} of {len(mutants)} have one place", sep="\n")
        return 1 if wrong else 0
    if not options.list:
        return mutate(mutants, options.jobs)
    file = ""
    for mutant in mutants:
        if mutant.file != file:
            print(mutant.file)
        file = mutant.file
        print(f"    {mutant.name}")
    if options.out:
        faults = {"faults": {"value": len(mutants), "unit": "", "varies": False}}
        (options.out / "results.json").write_text(json.dumps(faults), encoding="utf-8")
    return 0


if __name__ == "__main__":
    cli.run(main)
