"""Plants each fault of mutants.toml in a copy of the sources and runs tests until one notices.

    ./book mutate [--only NAME ...] [--list] [--jobs N]

The copy and its build lie in build/mutate. A fault is killed if a test fails, crashes or takes too
long; one that survives, or does not compile, fails the run.
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
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutate"
SOURCE, BUILD = WORK / "source", WORK / "build"
LIST = "tests/mutants.toml"
TEST_SECONDS = 120  # a fault may make a loop endless


@dataclass(frozen=True)
class Mutant:
    """In `file`, `replace` where `find` stands, which is one place."""

    name: str
    file: str
    find: str
    replace: str

    def chapter(self) -> str:
        """The chapter whose tests come first; those of lib are chapter 00's."""
        return self.file.split("/")[1][:2] if self.file.startswith("chapters/") else "00"

    def on_device(self) -> bool:
        """Whether it is a fault of kernels, or of what stands behind them."""
        return self.file.endswith((".cu", ".cuh", "/storage.cpp")) or "/cuda/" in self.file

    def plant(self, text: str) -> str:
        found = text.count(self.find)
        if found != 1:
            raise Failure(f"{self.name}: {found} places in {self.file} hold {self.find}")
        return text.replace(self.find, self.replace)


@dataclass(frozen=True)
class Program:
    """A test program, under the name that ctest has for it: 04, 04_double, 04_cuda."""

    name: str
    command: tuple[str, ...]
    folder: str

    @property
    def on_device(self) -> bool:
        return self.name.endswith("_cuda")

    def place(self, chapter: str) -> tuple[bool, bool, bool, str]:
        """Its place in the order for a fault of `chapter`: own tests, later chapters', the rest."""
        number = self.name[:2]
        return (number != chapter, not number > chapter, "double" not in self.name, self.name)


@dataclass(frozen=True)
class Verdict:
    outcome: str  # killed, SURVIVED, does not compile
    program: str = ""
    test: str = ""
    how: str = ""


class Failure(Exception):
    """Ends the run; its text is for the reader."""


def read_list(root: Path = ROOT) -> list[Mutant]:
    with (root / LIST).open("rb") as file:
        return [Mutant(**entry) for entry in tomllib.load(file)["mutant"]]


def run(*command: object, folder: Path | str = ".", limit: float | None = None) -> tuple[int, str]:
    """Exit status and what was printed; the status is -SIGKILL if `limit` seconds did not do."""
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
    try:
        output = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with all that it started
        output = process.communicate()[0]
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)  # a build ends its compilers and what they wrote
        process.communicate()
        raise
    return process.returncode, output


def must(*command: object, folder: Path | str = ".", why: str) -> str:
    status, output = run(*command, folder=folder)
    if status != 0:
        raise Failure(f"{output.strip()}\n{why}")
    return output


def copy_sources() -> None:
    """All that git has or would add, as it now stands; only what differs is written."""
    listed = must(
        "git",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        folder=ROOT,
        why="git cannot list the sources",
    )
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        content, copy = (ROOT / name).read_bytes(), SOURCE / name
        if not copy.is_file() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
    for copy in SOURCE.rglob("*"):
        if copy.is_file() and copy.relative_to(SOURCE).as_posix() not in names:
            copy.unlink()


def find_programs() -> list[Program]:
    listed = must("ctest", "--test-dir", BUILD, "--show-only=json-v1", why="ctest lists no tests")
    programs = []
    for test in json.loads(listed)["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        if {"cpu", "gpu"} & set(properties.get("LABELS", [])):
            command = tuple(test.get("command", ()))  # there is one once it is built
            command = ("env", *properties.get("ENVIRONMENT", ()), *command)
            programs.append(Program(test["name"], command, properties["WORKING_DIRECTORY"]))
    return programs


def build(jobs: int, *names: str) -> tuple[int, str]:
    targets = {f"test_{name.removesuffix('_cuda')}" for name in names}
    return run("cmake", "--build", BUILD, "--parallel", jobs, "--target", *targets)


def test(program: Program) -> Verdict | None:
    """What killed the fault, if anything did."""
    status, output = run(
        *program.command, "--reporter", "xml", "--abort", folder=program.folder,
        limit=TEST_SECONDS * (1 + 3 * program.on_device),
    )
    if status == 0:
        return None
    names = re.findall(r'<TestCase name="([^"]*)"', output)  # the last to begin ended the run
    how = f"no end in {TEST_SECONDS} s" if status == -signal.SIGKILL else ""
    if not how and (status < 0 or "<OverallResults " not in output):
        how = f"crash, status {status}"
    return Verdict("killed", program.name, html.unescape(names[-1]) if names else "", how)


def prepare(jobs: int, devices: set[bool]) -> list[Program]:
    """The copy, built and tested without a fault, on the processor or on the emulated device."""
    print("Copy, build and test without a fault ...", flush=True)
    start = time.monotonic()
    copy_sources()
    must(
        "cmake",
        "--preset",
        "test",
        "-B",
        BUILD,
        "-D",
        "ABH_WARNINGS=OFF",
        folder=SOURCE,
        why="CMake could not set up the build",
    )
    names = [program.name for program in find_programs()]
    status, output = build(jobs, *names)
    if status != 0:
        raise Failure(f"{output.strip()}\nThe sources do not compile; no fault was planted.")
    programs = [program for program in find_programs() if program.on_device in devices]
    for program in programs:
        if verdict := test(program):
            raise Failure(f"{program.name} fails without a fault: {verdict.test} {verdict.how}")
    print(f"{len(programs)} test programs pass, {time.monotonic() - start:.0f} s", flush=True)
    return programs


def judge(mutant: Mutant, programs: list[Program], jobs: int) -> Verdict:
    file = SOURCE / mutant.file
    right = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutant.plant(right), encoding="utf-8")
        for program in sorted(programs, key=lambda p: p.place(mutant.chapter())):
            if program.on_device != mutant.on_device():
                continue
            status, output = build(jobs, program.name)
            if status != 0:
                errors = [line for line in output.splitlines() if "error" in line]
                return Verdict("does not compile", program.name, how="\n".join(errors[:3]))
            if verdict := test(program):
                return verdict
        return Verdict("SURVIVED")
    finally:
        file.write_text(right, encoding="utf-8")


def chosen(mutants: list[Mutant], parts: list[str]) -> list[Mutant]:
    """Those whose name holds one of `parts`, in any case; all if there is none."""
    for part in parts:
        if not any(part.lower() in m.name.lower() for m in mutants):
            raise Failure(f"no fault's name holds {part}; ./book mutate --list shows them")
    return [m for m in mutants if not parts or any(p.lower() in m.name.lower() for p in parts)]


def mutate(mutants: list[Mutant], jobs: int, whole: bool) -> int:
    """Exit status: 0 if all faults were killed."""
    for mutant in mutants:
        mutant.plant((ROOT / mutant.file).read_text(encoding="utf-8"))  # a wrong list fails now
    programs = prepare(jobs, {mutant.on_device() for mutant in mutants})
    width = max(len(m.name) for m in mutants)
    start, results, left = time.monotonic(), [], []
    for number, mutant in enumerate(mutants, 1):
        begin = time.monotonic()
        verdict = judge(mutant, programs, jobs)
        seconds = time.monotonic() - begin
        by = f'{verdict.program}: "{verdict.test}"' if verdict.test else verdict.program
        note = " ".join(filter(None, (by and f"by {by}", verdict.how)))
        print(
            f"[{number:{len(str(len(mutants)))}}/{len(mutants)}] {verdict.outcome:<8}  "
            f"{mutant.name:<{width}}  {note}  {seconds:.0f} s",
            flush=True,
        )
        results.append({**asdict(mutant), **asdict(verdict), "seconds": round(seconds, 1)})
        if verdict.outcome != "killed":
            left.append(f"  {verdict.outcome}: {mutant.name} ({mutant.file})")
    print(
        f"{len(mutants) - len(left)} of {len(mutants)} faults killed, "
        f"{(time.monotonic() - start) / 60:.0f} min",
        *left,
        sep="\n",
    )
    if whole:
        text = json.dumps(results, indent=1, ensure_ascii=False)
        (WORK / "results.json").write_text(text + "\n", encoding="utf-8")
    return 1 if left else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./book mutate", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="only faults whose name holds NAME; build/mutate/results.json stays",
    )
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="with --list: also write their number to DIR/results.json",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="compilers at a time (default: one for each core)",
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    try:
        mutants = chosen(read_list(), options.only)
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
    except Failure as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("mutate: stopped; the copy in build/mutate is put right again", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
