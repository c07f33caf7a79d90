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
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from cli import Failure

WORK, BUILD = ROOT / "build" / "mutate", ROOT / "build" / "book"
LIST = "tests/mutants.toml"
TEST_SECONDS = 120  # a fault may make a loop endless
WAYS = ("plain", "fast", "cuda")
SKIPPED = 77  # exit status of a test program that finds no device

TOKEN = re.compile(
    r"""(?P<space> \s+ | \\\r?\n | //[^\n]* | /\*.*?\*/ )
      | (?P<raw> (?:u8|[uUL])?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)" )
      | (?P<string> "(?:[^"\\\n]|\\.)*" )
      | (?P<other>
            (?:u8|[uUL])? '(?:[^'\\\n]|\\.)+'  # a character
          | (?:u8|[uUL]) "(?:[^"\\\n]|\\.)*"
          | \.?\d (?: [eEpP][+-] | '?[\w.] )*  # a number
          | [^\W\d]\w*
          | \.\.\. | <=> | <<= | ->\* | :: | -> | \.\* | \+\+ | -- | << | && | \|\| | \#\#
          | [-+*/%&|^=!<>] =
          | . )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """The text at [begin, end) of a source."""

    text: str
    begin: int
    end: int


def tokens(source: str) -> list[Token]:
    """The tokens of C++, without white space and comments; adjacent string literals are one."""
    found: list[Token] = []
    joins = False  # whether the last token is a string literal that the next one may continue
    for match in TOKEN.finditer(source):
        if match["space"]:
            continue
        text = match[0]
        if match["string"] and joins:
            last = found.pop()
            found.append(Token(last.text[:-1] + text[1:], last.begin, match.end()))
        else:
            found.append(Token(text, match.start(), match.end()))
        joins = match["string"] is not None
    return found


def places(find: str, source: str) -> list[tuple[int, int]]:
    """Where the tokens of `find` occur in `source`: begin and end, in characters."""
    wanted = [token.text for token in tokens(find)]
    found = tokens(source)
    texts = [token.text for token in found]
    return [
        (found[i].begin, found[i + len(wanted) - 1].end)
        for i in range(len(texts) - len(wanted) + 1)
        if wanted and texts[i : i + len(wanted)] == wanted
    ]


def way_of(file: str) -> str:
    """The way that `file` belongs to; code that all ways share counts as plain."""
    if file.endswith((".cu", ".cuh")) or file.startswith("lib/cuda/"):
        return "cuda"
    return (
        "fast"
        if file.endswith((".fast.cpp", ".fast.hpp")) or file.startswith("lib/fast/")
        else "plain"
    )


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
            raise Failure(f"{self.name}: {len(found)} places in {self.file} contain {self.find}, expected one")
        begin, end = found[0]
        return text[:begin] + self.replace + text[end:]


@dataclass(frozen=True)
class Program:
    """A test program in one way, under ctest's name for it: 04_plain, 04_double_cuda."""

    name: str
    path: str  # in the build; the ways share it
    arguments: tuple[str, ...]
    environment: tuple[str, ...]
    folder: str

    @property
    def way(self) -> str:
        return self.name.rpartition("_")[2]

    @property
    def chapter(self) -> str:
        """Its number; for other programs a word, which sorts after all numbers."""
        return self.name.partition("_")[0]

    @property
    def limit(self) -> float:
        """Seconds; an emulated device is slow."""
        return TEST_SECONDS * (4 if self.way == "cuda" else 1)


def in_order(programs: list[Program], mutant: Mutant) -> list[Program]:
    """Programs of the fault's way first: its own chapter, later ones, earlier ones; then the others.

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


def read_list(root: Path = ROOT) -> list[Mutant]:
    with (root / LIST).open("rb") as list_file:
        files = tomllib.load(list_file)
    return [Mutant(name, file, *tokens) for file, faults in files.items() for name, tokens in faults.items()]


running: set[subprocess.Popen] = set()
stopped = threading.Event()


def run(*command: object, folder: Path | str = ".", limit: float | None = None) -> tuple[int, str]:
    """Exit status and output; the status is -SIGKILL if `limit` seconds were not enough."""
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    running.add(process)
    try:
        output = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with everything that it started
        output = process.communicate()[0]
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)  # lets a build end its compilers and delete what they wrote
        process.communicate()
        raise
    finally:
        running.discard(process)
    if stopped.is_set():
        raise Failure("stopped")
    return process.returncode, output


def stop() -> None:
    """Ends what is running, and lets nothing else begin."""
    stopped.set()
    for process in list(running):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def must(*command: object, folder: Path | str = ".", why: str) -> str:
    status, output = run(*command, folder=folder)
    if status != 0:
        raise Failure(f"{output.strip()}\n{why}")
    return output


class Objects:
    """How BUILD compiles and links. Paths are relative to it."""

    def __init__(self) -> None:
        listed = must("ninja", "-C", BUILD, "-t", "compdb", why="ninja lists no commands")
        entries = json.loads(listed[listed.index("[") :])
        self._commands: dict[str, str] = {e["output"]: e["command"] for e in entries}
        self._sources: dict[str, set[str]] = {}
        output = ""
        for line in must("ninja", "-C", BUILD, "-t", "deps", why="ninja lists no files").split(
            "\n"
        ):
            if line.startswith(" "):
                file = os.path.relpath(os.path.normpath(BUILD / line.strip()), ROOT)
                self._sources[output].add(file)
            elif line:
                output = line.split(":")[0]
                self._sources[output] = set()
        self.closure = cache(self._closure)

    def _closure(self, program: str) -> tuple[str, ...]:
        """The objects that the program is linked from, or may be: its own and its libraries',
        except those of sources that it compiles itself."""
        parts = self._commands[program].split()
        own = [p for p in parts if p.endswith(".o")]
        libraries = [p for p in parts if p.endswith(".a") and p in self._commands and p != program]
        compiled = {self._source(o) for o in own}
        others = (o for library in libraries for o in self.closure(library))
        return tuple(own) + tuple(o for o in others if self._source(o) not in compiled)

    def _source(self, obj: str) -> str:
        """The source that an object is compiled from."""
        _, _, source = self._commands.get(obj, obj).rpartition(" -c ")
        return source

    def changed(self, program: str, file: str) -> list[str]:
        """The objects of `program` that depend on `file`."""
        return [o for o in self.closure(program) if file in self._sources.get(o, ())]

    def compile(self, obj: str, file: str, place: Path) -> tuple[int, str]:
        """Compiles the object into `place`, with `file` from there and no warnings."""
        command = re.sub(r" -MD -MT \S+ -MF \S+ -o \S+", "", self._commands[obj])
        command = command.replace(f" -I{ROOT} ", f" -I{place} -I{ROOT} ", 1)
        command = command.replace(f" -c {ROOT / file}", f" -c {place / file}")
        (place / obj).parent.mkdir(parents=True, exist_ok=True)
        return run("sh", "-c", f"{command} -w -o {place / obj}", folder=BUILD)

    def link(self, program: str, objects: list[str], place: Path) -> tuple[int, str]:
        """Links the program into `place`, with these objects from there. They come first, so that
        objects of the same names in libraries are not used."""
        front, _, libraries = self._commands[program].partition(f" -o {program} ")
        front = " ".join(p for p in front.split() if p not in objects)
        own = " ".join(str(place / o) for o in objects)
        (place / program).parent.mkdir(parents=True, exist_ok=True)
        command = f"{front} {own} -o {place / program} {libraries}"
        return run("sh", "-c", command, folder=BUILD)


def find_programs() -> list[Program]:
    listed = must("ctest", "--test-dir", BUILD, "--show-only=json-v1", why="ctest lists no tests")
    return list(programs_in(json.loads(listed)))


def programs_in(listed: dict) -> Iterator[Program]:
    """The tests in ctest's list that run in one way: named after it, and labeled with it."""
    for test in listed["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        way = test["name"].rpartition("_")[2]
        if way in WAYS and way in properties.get("LABELS", []):
            path, *arguments = test["command"]
            yield Program(
                test["name"],
                os.path.relpath(path, BUILD),
                tuple(arguments),
                tuple(properties.get("ENVIRONMENT", ())),  # ABH_TEST_WAY
                properties["WORKING_DIRECTORY"],
            )


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


def prepare(jobs: int) -> list[Program]:
    """Builds all test programs without a fault, and returns them."""
    print("Building all tests ...", flush=True)
    must("cmake", "--preset", "book", folder=ROOT, why="CMake could not set up the build")
    must(
        "cmake",
        "--build",
        BUILD,
        "--target",
        "tests",
        "--parallel",
        jobs,
        why="the sources do not compile, so no fault was planted",
    )
    return find_programs()


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


def mutate(mutants: list[Mutant], jobs: int, whole: bool) -> int:
    """Plants all faults. Returns the exit status, 0 if all were killed."""
    if wrong := check(mutants):
        raise Failure("\n".join(["these faults do not have exactly one place:", *wrong]))
    programs = prepare(jobs)
    objects = Objects()
    WORK.mkdir(parents=True, exist_ok=True)
    width = max(len(m.name) for m in mutants)
    start, found, left = time.monotonic(), {}, []
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
                found[mutant.name] = {
                    **asdict(mutant),
                    **asdict(verdict),
                    "seconds": round(seconds, 1),
                }
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
    if whole:
        text = json.dumps([found[m.name] for m in mutants], indent=1, ensure_ascii=False)
        (WORK / "results.json").write_text(text + "\n", encoding="utf-8")
    return 1 if left else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./book mutate", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="plant only faults whose names contain NAME; keeps build/mutate/results.json as it is",
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
        return mutate(mutants, options.jobs, whole=not options.only)
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
