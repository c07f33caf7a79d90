"""Plants each fault of mutants.toml in a copy of its file and runs tests until one notices.

    ./book mutate [--only NAME ...] [--list | --check] [--jobs N]

Only what the fault changes is compiled again, and linked with everything else that ./book test has
built. The sources stay as they are, so several faults can be planted at once. A fault is killed if
a test fails, crashes or takes too long; one that survives, or does not compile, fails the run. The
place of a fault is found token by token, whatever the line breaks, spaces and comments.
"""

import argparse
import html
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "book"
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from cli import Failure
from cpp_tokens import places

WAYS = ("plain", "fast", "cuda")
# A fault may make a loop endless; an emulated device is slow.
SECONDS = {"plain": 120, "fast": 120, "cuda": 480}
SKIPPED = 77  # exit status of a test program that finds no device
TOO_LONG = -signal.SIGKILL


class Mutant(NamedTuple):
    """A fault: in `file`, `replace` in place of the tokens of `find`, which must occur once.

    Tests of `way` are most likely to notice.
    """

    name: str
    file: str
    find: str
    replace: str
    way: str

    def chapter(self) -> str:
        """The chapter whose tests run first; lib's tests are chapter 00's."""
        return self.file.split("/")[1][:2] if self.file.startswith("chapters/") else "00"

    def places(self) -> list[tuple[int, int]]:
        path = ROOT / self.file
        return places(self.find, path.read_text(encoding="utf-8")) if path.is_file() else []

    def planted(self) -> str:
        """The text of the file with the fault."""
        text, [(begin, end)] = (ROOT / self.file).read_text(encoding="utf-8"), self.places()
        return text[:begin] + self.replace + text[end:]


class Program(NamedTuple):
    """A test program in one way, under ctest's name for it: 04_plain, 04_double_cuda."""

    name: str
    command: tuple[str, ...]  # the program itself is named as in the build
    environment: tuple[str, ...]

    def way(self) -> str:
        return self.name.rpartition("_")[2]

    def place_for(self, mutant: Mutant) -> tuple[bool, int, bool, str]:
        """Its place in the order of those that are tried: first those of the fault's way, and of
        these its own chapter, later ones, earlier ones; then other ways."""
        way = self.way()
        return way != mutant.way, WAYS.index(way), self.name < mutant.chapter(), self.name


def way_of(file: str) -> str:
    """The way that `file` belongs to; code that all ways share counts as plain."""
    if file.endswith((".cu", ".cuh")) or file.startswith("lib/cuda/"):
        return "cuda"
    return "fast" if ".fast." in file or file.startswith("lib/fast/") else "plain"


def read_list() -> list[Mutant]:
    files = tomllib.loads((ROOT / "tests/mutants.toml").read_text(encoding="utf-8"))
    return [
        Mutant(name, file, find, replace, *(way or [way_of(file)]))
        for file, faults in files.items()
        for name, (find, replace, *way) in faults.items()
    ]


# ---- What build/book compiles, links and tests


def run(*command: object, limit: float | None = None) -> tuple[int, str]:
    """Exit status and output of a command in BUILD; TOO_LONG if it takes over `limit` seconds."""
    try:
        done = subprocess.run(
            list(map(str, command)), cwd=BUILD, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return TOO_LONG, (error.output or b"").decode(errors="replace")
    if done.returncode in (-signal.SIGINT, -signal.SIGTERM):
        raise KeyboardInterrupt
    return done.returncode, done.stdout


def must(*command: object) -> str:
    status, output = run(*command)
    if status != 0:
        raise Failure(f"{output.strip()}\n{command[0]} failed, so no fault was planted")
    return output


class Objects:
    """How BUILD compiles and links. Paths are relative to it."""

    def __init__(self) -> None:
        listed = must("ninja", "-t", "compdb")
        self.commands: dict[str, str] = {e["output"]: e["command"] for e in json.loads(listed)}
        self.sources: dict[str, set[str]] = {}
        output = ""
        for line in must("ninja", "-t", "deps").splitlines():
            if line.startswith(" "):
                file = os.path.relpath(os.path.normpath(BUILD / line.strip()), ROOT)
                self.sources.setdefault(output, set()).add(file)
            elif line:
                output = line.partition(":")[0]

    @cache  # noqa: B019
    def closure(self, program: str) -> tuple[str, ...]:
        """The objects that the program is linked from, or may be: its own and its libraries',
        except those of sources that it compiles itself."""
        parts = self.commands[program].split()
        own = [p for p in parts if p.endswith(".o")]
        libraries = [p for p in parts if p.endswith(".a") and p in self.commands and p != program]
        compiled = {self.source(o) for o in own}
        others = (o for library in libraries for o in self.closure(library))
        return tuple(own) + tuple(o for o in others if self.source(o) not in compiled)

    def source(self, obj: str) -> str:
        """The source that an object is compiled from."""
        return self.commands.get(obj, obj).rpartition(" -c ")[2]

    def changed(self, program: str, file: str) -> list[str]:
        """The objects of `program` that depend on `file`."""
        return [o for o in self.closure(program) if file in self.sources.get(o, ())]

    def compile(self, obj: str, file: str, place: Path) -> tuple[int, str]:
        """Compiles the object into `place`, with `file` from there and no warnings."""
        command = re.sub(r" -MD -MT \S+ -MF \S+ -o \S+", "", self.commands[obj])
        command = command.replace(f" -I{ROOT} ", f" -I{place} -I{ROOT} ", 1)
        command = command.replace(f" -c {ROOT / file}", f" -c {place / file}")
        return run("sh", "-c", f"{command} -w -o {place / obj}")

    def link(self, program: str, objects: list[str], place: Path) -> tuple[int, str]:
        """Links the program into `place`, with these objects from there. They come first, so that
        objects of the same names in libraries are not used."""
        front, _, libraries = self.commands[program].partition(f" -o {program} ")
        front = " ".join(p for p in front.split() if p not in objects)
        own = " ".join(str(place / o) for o in objects)
        return run("sh", "-c", f"{front} {own} -o {place / program} {libraries}")


def programs() -> list[Program]:
    """The tests in ctest's list that run in one way: named after it, and labeled with it."""
    found = []
    for test in json.loads(must("ctest", "--show-only=json-v1"))["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        way = test["name"].rpartition("_")[2]
        if way in WAYS and way in properties.get("LABELS", []):
            path, *arguments = test["command"]
            command = (os.path.relpath(path, BUILD), *arguments)
            found.append(Program(test["name"], command, tuple(properties["ENVIRONMENT"])))
    return found


# ---- Planting


def failure(program: Program, place: Path = BUILD) -> str:
    """The program and the test that fails or does not end; nothing if all pass."""
    path, *arguments = program.command
    limit = SECONDS[program.way()]
    asked = ("--reporter", "xml", "--abort")
    status, said = run("env", *program.environment, place / path, *arguments, *asked, limit=limit)
    if status in (0, SKIPPED):
        return ""
    names = re.findall(r'<TestCase name="([^"]*)"', said)  # the last one to begin ended the run
    how = "" if "<OverallResults " in said else f"  crash, status {status}"
    if status == TOO_LONG:
        how = f"  did not end in {limit} s"
    return f'{program.name}: "{html.unescape(names[-1]) if names else ""}"{how}'


@cache
def check_without_fault(program: Program) -> None:
    """Checks that a test program that killed a fault passes without it."""
    if failed := failure(program):
        raise Failure(f"without a fault, too, this fails: {failed}")


def judge_in(place: Path, mutant: Mutant, tests: list[Program], objects: Objects) -> str:
    """Puts the file with the fault, and what is built from it, into `place`."""

    def made(path: str) -> bool:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        return (place / path).exists()

    if not made(mutant.file):
        (place / mutant.file).write_text(mutant.planted(), encoding="utf-8")
    for program in sorted(tests, key=lambda program: program.place_for(mutant)):
        path = program.command[0]
        changed = objects.changed(path, mutant.file)
        if not changed:
            continue
        results = [objects.compile(o, mutant.file, place) for o in changed if not made(o)]
        if not made(path) and not any(status for status, _ in results):
            results.append(objects.link(path, changed, place))
        if wrong := "".join(said for status, said in results if status):
            errors = [line for line in wrong.splitlines() if "error" in line]
            return "\n".join([f"does not compile  {program.name}", *errors[:3]])
        if failed := failure(program, place):
            check_without_fault(program)
            return f"killed by {failed}"
    return "SURVIVED"


def judge(mutant: Mutant, tests: list[Program], objects: Objects, work: str) -> str:
    """What became of a fault, and in how many seconds."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=work) as place:
        return f"{judge_in(Path(place), mutant, tests, objects)}  {time.monotonic() - start:.0f} s"


def check(mutants: list[Mutant]) -> list[str]:
    """A line for each fault that does not have exactly one place, with the number of its places."""
    numbers = [(len(mutant.places()), mutant) for mutant in mutants]
    wrong = [(number, m) for number, m in numbers if number != 1]
    return [f"{number} places in {m.file}: {m.name}: {m.find}" for number, m in wrong]


def mutate(mutants: list[Mutant], jobs: int) -> int:
    """Plants all faults. Returns the exit status, 0 if all were killed."""
    if wrong := check(mutants):
        raise Failure("\n".join(["these faults do not have exactly one place:", *wrong]))
    print("Building all tests ...", flush=True)
    subprocess.run(["cmake", "--preset", "book"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    must("cmake", "--build", ".", "--target", "tests", "--parallel", jobs)
    tests, objects = programs(), Objects()
    start, left = time.monotonic(), []
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work, ThreadPoolExecutor(jobs) as lanes:
        planted = {lanes.submit(judge, m, tests, objects, work): m for m in mutants}
        try:
            for number, done in enumerate(as_completed(planted), 1):
                mutant, verdict = planted[done], done.result()
                print(f"[{number}/{len(mutants)}] {mutant.name}: {verdict}", flush=True)
                if not verdict.startswith("killed"):
                    left.append(f"  {mutant.name} ({mutant.file}): {verdict}")
        except BaseException:
            lanes.shutdown(cancel_futures=True)
            raise
    minutes = (time.monotonic() - start) / 60
    killed = len(mutants) - len(left)
    print(f"{killed} of {len(mutants)} faults killed, {minutes:.0f} min", *left, sep="\n")
    return 1 if left else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./book mutate", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", default=[""], metavar="NAME", help="faults with NAME in their names")
    add("--list", action="store_true", help="print the names of the faults, and stop")
    add("--check", action="store_true", help="print the faults without one place, and stop")
    add("--out", type=Path, metavar="DIR", help="with --list: write their number to results.json")
    cores = len(os.sched_getaffinity(0))
    add("--jobs", type=int, default=cores, metavar="N", help="faults to plant at once")
    options = parser.parse_args()
    mutants = read_list()
    for part in options.only:
        if not any(part.lower() in m.name.lower() for m in mutants):
            raise Failure(f"no fault's name contains {part}; ./book mutate --list shows all names")
    mutants = [m for m in mutants if any(part.lower() in m.name.lower() for part in options.only)]
    if options.check:
        wrong = check(mutants)
        print(*wrong, f"{len(mutants) - len(wrong)} of {len(mutants)} have one place", sep="\n")
        return 1 if wrong else 0
    if not options.list:
        return mutate(mutants, options.jobs)
    for file, of_file in itertools.groupby(mutants, key=lambda mutant: mutant.file):
        print(file, *(f"    {mutant.name}" for mutant in of_file), sep="\n")
    if options.out:
        faults = {"faults": {"value": len(mutants), "unit": "", "varies": False}}
        (options.out / "results.json").write_text(json.dumps(faults), encoding="utf-8")
    return 0


if __name__ == "__main__":
    cli.run(main)
