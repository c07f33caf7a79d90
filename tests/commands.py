"""Whether every command on every page is right and works.

    python3 tests/commands.py            runs all of them, one after another, which takes some 20 minutes
    python3 tests/commands.py --check    only lets each program read its options
    python3 tests/commands.py --list     prints them, with what is run in place of each

Commands are in the pages' console blocks and inline code, in the heads of scripts, in ./book --help, and where the judge
shows one. They run in a folder of their own that has the checkout's files and, in build, its trees. tests/commands.toml
says what is put in place of names such as FOLDER, what is run with less work, and what is not run, and why. Needs the
programs in build/book.
"""

from __future__ import annotations

import argparse
import atexit
import fnmatch
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "lib/program"))

import cli

BUILD = ROOT / "build/book"
LONGEST = 900  # seconds for one command
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "chapters/**/*.md", "judge/**/*.md", "bench/**/*.md")
SCRIPTS = ("bench/*", "chapters/*/*.py", "docs/*.py", "docs/*/*.py", "figures/*.py", "judge/*.py", "tests/*", "tests/[bg]*/*.py")

BLOCK = re.compile(r"^( *)(`{3,})(sh|bash|console)\n(.*?)^\1\2$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
OURS = r"(?:\./book|(?:tests|bench)/\w+\.sh|bench/gpu|build/(?!venv)[\w/-]+)"  # programs of the book
PROGRAM = rf"(?:{OURS}|cmake|ctest|python3?|build/venv[\w/-]+|mpirun)"
COMMAND = re.compile(rf"(?:\w+=\S+ |echo [^|]*\| |srun [^.]*)*{PROGRAM} .+|(?:tests|bench)/\w+\.sh|bench/gpu|--[a-z].*")
OF_SCRIPT = re.compile(rf"^(?:#  | {{4}}) *({PROGRAM}(?: \S+)+)", re.MULTILINE)
OF_HELP = re.compile(r"(?:^|[:,]) +(\./book(?: [\w./=:-]+)+)(?=  |,|;|\n)", re.MULTILINE)


class Command(NamedTuple):
    """A command, and where it is: a file and a line."""

    text: str
    place: str


# ---- Where commands are


def of_block(kind: str, block: str) -> list[str]:
    """The commands of a console block, where a $ comes first, or of a script."""
    lines = [line.strip() for line in re.sub(r"\\\n *", "", block).splitlines()]
    lines = [line.removeprefix("$ ") for line in lines if kind != "console" or line.startswith("$ ")]
    return [re.sub(r" +# .*", "", line) for line in lines if line and not line.startswith("#")]


def of_page(text: str) -> list[tuple[int, str]]:
    """The commands of a page, in blocks and in sentences, each with its position."""
    found = [(block.start(), line) for block in BLOCK.finditer(text) for line in of_block(block[3], block[4])]
    sentences = BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    inline = [(code.start(), " ".join(code[1].split())) for code in INLINE.finditer(sentences)]
    return sorted([*found, *((at, line) for at, line in inline if COMMAND.fullmatch(line))], key=lambda one: one[0])


def of_script(text: str) -> list[tuple[int, str]]:
    """The commands in the head of a script, but not those that show which options there are."""
    head = re.match(r'(?:#!.*\n)?(?:"""(?s:.*?)"""|(?:#.*\n)+)|', text)[0]
    lines = [(found.start(), found[1].split("  ")[0]) for found in OF_SCRIPT.finditer(re.sub(r"\\+\n *", "", head))]
    return [(at, line) for at, line in lines if not re.search(r"\[|\.\.\.", line)]


def of_book(text: str) -> list[tuple[int, str]]:
    """The commands that ./book --help shows."""
    return [(found.start(1), found[1]) for found in OF_HELP.finditer(text) if "..." not in found[1]]


def of_exercise(text: str) -> list[tuple[int, str]]:
    """The command with which the judge lets an answer take part."""
    line = json.loads(text).get("takes_part")
    return [(0, line)] if line else []


SOURCES = ((PAGES, of_page), (SCRIPTS, of_script), (("book",), of_book), (("chapters/*/exercises/*/exercise.json",), of_exercise))


def commands() -> list[Command]:
    """All commands of the book, in the order of its pages."""
    found = []
    for patterns, read in SOURCES:
        for path in (path for pattern in patterns for path in sorted(ROOT.glob(pattern))):
            if path.is_file() and path.suffix in {".md", ".py", ".sh", ".json", ""}:
                text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
                found += [Command(line, f"{name}:{text.count(chr(10), 0, at) + 1}") for at, line in read(text)]
    return found


# ---- Whether their options are right


def simple(text: str) -> list[list[str]]:
    """A line's commands without what is around them: pipes, loops, variables, files to read and write."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if set(word) <= set("|&;()"):
            found.append([])
        elif set(word) <= set("<>"):
            next(words)
        elif found[-1] or not re.fullmatch(r"\w+=.*|do|timeout|\d+", word):
            found[-1].append(word)
    return [words for words in found if words]


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()[-1]


def call(*words: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    """Runs a command that ends at once."""
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL, **more)


# What ./book calls: it says what it was asked for, and does nothing.
RECORDER = """#!/bin/bash
[ "$3" != mine ] || { echo "$5"; exit; }
{ printf '%q ' "$0" "$@"; echo; } >>"$CALLS"
"""
TOOLS = "awk basename bash cat cmp cp env find flock grep mkdir nproc readlink renice rm sed tee wc"


@functools.cache
def front_door() -> Path:
    """A checkout that holds ./book, on a system without packages, and recorders in place of all that it calls."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    root = Path(folder.name).resolve()
    recorders = [f"bin/{name}" for name in ("cmake", "ctest", "python3")] + ["build/venv/bin/python"]
    recorders += [f"build/book/{path.relative_to(BUILD)}" for path in programs().values()]
    (root / "recorder").write_text(RECORDER)
    (root / "recorder").chmod(0o755)
    for name in (*recorders, "build/book/build.ninja", "build/book/html/index.html"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(root / "recorder")
    for name in TOOLS.split():
        (root / "bin" / name).symlink_to(shutil.which(name))
    for name in ("chapters", "docs", "lib"):
        (root / name).symlink_to(ROOT / name)
    shutil.copy2(ROOT / "book", root)
    return root


@functools.cache
def programs() -> dict[str, Path]:
    """The book's programs, by name."""
    found = [BUILD / "chapters" / path.parent.name / path.parent.name[3:] for path in ROOT.glob("chapters/[0-9]*/main.cpp")]
    return {path.name: path for path in [*sorted(found), BUILD / "tests/proof/proof", BUILD / "tests/proof/proof_double"]}


def wrong_book(words: list[str]) -> str:
    """Lets ./book read its options, and what it calls read theirs."""
    root = front_door()
    with tempfile.NamedTemporaryFile("r") as calls:
        done = call("./book", *words[1:], cwd=root, env={"PATH": f"{root}/bin", "CALLS": calls.name})
        called = [shlex.split(line.replace(str(root), str(ROOT))) for line in calls]
    if done.returncode != 0:
        return last_line(done)
    return next(filter(None, (wrong(*words) for words in called)), "")


def wrong_program(words: list[str]) -> str:
    """Lets a program of the book read its options; it ends there, because --out is where nothing can be written."""
    path, options, nowhere = programs().get(Path(words[0]).name), [*words[1:]], "/dev/null/nowhere"
    if not path or not path.is_file():
        return f"there is no program {path or words[0]}; ./book build compiles those of the book"
    if "--out" in options:
        at = options.index("--out")
        del options[at : at + 2]
    done = call(path, *options, "--out", nowhere)
    return "" if nowhere in done.stderr or ("--help" in options and done.returncode == 0) else last_line(done)


# Runs a script until it has read its options; status 3 if it cannot be imported.
READS = """
import argparse, runpy, sys
def only(read):
    def reads_and_ends(*words, **more):
        read(*words, **more)
        sys.exit(0)
    return reads_and_ends
Parser = argparse.ArgumentParser
Parser.parse_args, Parser.parse_intermixed_args = only(Parser.parse_args), only(Parser.parse_intermixed_args)
sys.argv = sys.argv[1:]
try:
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, sys.argv[0].rpartition("/")[0])
        runpy.run_path(sys.argv[0], run_name="__main__")
except ImportError:
    sys.exit(3)
"""


def wrong_python(words: list[str]) -> str:
    """Lets a script or a module in Python read its options; a script that reads them in another way must name them."""
    if words[:2] == ["-m", "pip"]:
        return ""
    script = ROOT / words[0]
    if words[0] != "-m" and "parse_args(" not in (script / "__main__.py" if script.is_dir() else script).read_text(encoding="utf-8"):
        return wrong_text(words)
    done = call(sys.executable, "-c", READS, *words, cwd=ROOT)
    if done.returncode == 3:
        return wrong_text(words)
    return last_line(done) if done.returncode != 0 else ""


def wrong_text(words: list[str]) -> str:
    """Whether the text of a script, or of its folder, names its options."""
    script, *options = words
    path = ROOT / script
    files = [path] if path.suffix in {"", ".sh"} and path.is_file() else (path if path.is_dir() else path.parent).glob("*.py")
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    missing = [word for word in options if word.startswith("-") and not re.search(rf"(?<![\w-]){word}(?![\w-])", text)]
    return f"{script} does not know {', '.join(missing)}" if missing else ""


def presets(kind: str) -> set[str]:
    """The names of CMake's presets of this kind."""
    text = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    return {preset["name"] for preset in text[f"{kind}Presets"] if not preset.get("hidden")}


@functools.cache
def variables() -> set[str]:
    """The variables with which a build of the book can be configured."""
    texts = [path.read_text(encoding="utf-8") for path in [*ROOT.glob("cmake/*.cmake"), *ROOT.glob("tests/*/CMakeLists.txt")]]
    return {"CMAKE_BUILD_TYPE", *re.findall(r"^(?:option|set)\((ABH_\w+)", "\n".join(texts), re.MULTILINE)}


@functools.cache
def targets() -> set[str]:
    """What can be built by name."""
    return set(re.findall(r"^([\w.-]+): phony$", call("ninja", "-C", BUILD, "-t", "targets", "all").stdout, re.MULTILINE))


def wrong_cmake(words: list[str]) -> str:
    """Whether there are the presets, variables and targets that a call of CMake names."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--preset", "--build", "-S", "-B"):
        parser.add_argument(option, nargs="?", default="")
    parser.add_argument("--workflow", action="store_true")
    parser.add_argument("--target", nargs="+", default=[])
    parser.add_argument("-D", action="append", default=[])
    given, others = parser.parse_known_args(words)
    kind = next((kind for kind in ("build", "workflow") if f"--{kind}" in words), "configure")
    missing = {*others, *given.target} - targets() | {pair.partition("=")[0] for pair in given.D} - variables()
    missing |= {given.preset} - {"", *presets(kind)}
    return f"CMake finds no {', '.join(sorted(missing))}" if missing else ""


def wrong_ctest(words: list[str]) -> str:
    """Lets CTest read its options, and asks it whether they leave any test."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", default="test")
    parser.add_argument("--test-dir")
    given, others = parser.parse_known_args(words)
    if given.preset not in presets("test"):
        return f"CTest finds no {given.preset}"
    done = call("ctest", "--test-dir", BUILD, "--show-only", *others)
    return "CTest finds no tests" if "\nTotal Tests: 0\n" in done.stdout else last_line(done) if done.returncode != 0 else ""


@functools.cache
def options() -> set[str]:
    """The names of all options of the book's programs, as their sources write them."""
    patterns = (*SCRIPTS, "book", "lib/program/*.cpp", "tests/proof/*.cpp", "chapters/**/*.cpp")
    files = [path for pattern in patterns for path in ROOT.glob(pattern) if path.suffix in {".cpp", ".py", ".sh", ""} and path.is_file()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return set(re.findall(r"""(?<=[\s"'])--[a-z][\w-]+(?=["')\s])""", text))


@functools.cache
def wrong(*words: str) -> str:
    """What is wrong with a command's options, or nothing; programs of others are not asked."""
    if words[0].startswith("--"):
        missing = {word.partition("=")[0] for word in words if word.startswith("--")} - options()
        return f"nothing has an option {', '.join(sorted(missing))}" if missing else ""
    start = next((i for i, word in enumerate(words) if re.fullmatch(OURS, word)), 0) if words[0] in ("gdb", "mpirun", "srun") else 0
    program, *rest = words = words[start:]
    if missing := [word for word in words if re.match(r"(bench|chapters|docs|figures|tests)/", word) and not (ROOT / word).exists()]:
        return f"there is no {missing[0]}"
    program = program.removeprefix(f"{ROOT}/")
    name = Path(program).name
    if program == "./book":
        return wrong_book(words)
    if name in programs() or (program.startswith("build/") and "venv" not in program):
        return wrong_program(words)
    if re.fullmatch(r"python3?", name):
        return wrong_python([word.removeprefix(f"{ROOT}/") for word in rest])
    if re.fullmatch(OURS, program):
        return wrong_text([program, *rest])
    return {"cmake": wrong_cmake, "ctest": wrong_ctest}.get(name, lambda _: "")(rest)


def wrong_line(line: str) -> str:
    return next(filter(None, (wrong(*words) for words in simple(line))), "")


# ---- What tests/commands.toml says


class Table:
    """What is put in place of names and of commands, and what is not run; it remembers what it was asked for."""

    def __init__(self, text: str) -> None:
        table = tomllib.loads(text)
        self.names: dict[str, str] = table["names"]
        self.run = {pattern: entry.get("run", "") for entry in table["run"] for pattern in entry["commands"]}
        self.others: list[str] = table["others"]
        self.unused = {*self.names, *self.run, *self.others}

    def ours(self, found: list[Command]) -> list[Command]:
        """Without what only looks like a command of the book."""
        self.unused -= {command.text for command in found} & {*self.others}
        return [command for command in found if command.text not in self.others]

    def named(self, line: str) -> str:
        """The line with a value for each name."""

        def value(found: re.Match[str]) -> str:
            self.unused.discard(found[0])
            return self.names[found[0]]

        return re.sub(rf"(?<![\w/])(?:{'|'.join(map(re.escape, self.names))})(?!\w)", value, line).strip()

    def to_run(self, line: str) -> str:
        """What is run for this line of a page, or nothing."""
        form = "{}"
        for pattern in self.run:
            if fnmatch.fnmatchcase(line, pattern):
                self.unused.discard(pattern)
                form = self.run[pattern]
        return form.replace("{}", self.named(line))


def runs(found: list[Command], table: Table) -> dict[str, Command]:
    """What is run for the commands of the pages, each with the first of them.

    Without what the workflow of the night runs by itself, which begins with ./book build and so with all that is recorded.
    """
    night = re.findall(r"run: (.*)", (ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8"))
    night += [path.read_text(encoding="utf-8").strip() for path in ROOT.glob("recorded/*/*/command.txt")]
    lines: dict[str, Command] = {}
    for command in found:
        if ".md:" in command.place and not command.text.startswith("-") and command.text not in night:
            lines.setdefault(table.to_run(command.text), command)
    return {line: command for line, command in lines.items() if line}


def check(found: list[Command], table: Table) -> list[str]:
    """Says which commands have wrong options, and which entries of the table are for no command."""
    runs(found, table)
    lines: dict[str, str] = {}
    for command in found:
        lines.setdefault(table.named(command.text), f"{command.place}: {command.text}")
    faults = [f"tests/commands.toml: {entry} is on no page" for entry in sorted(table.unused)]
    front_door()  # by one thread
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = pool.map(wrong_line, lines)
        return faults + [f"{where}\n    {reason}" for where, reason in zip(lines.values(), reasons, strict=True) if reason]


# ---- Running them


def run(lines: dict[str, Command]) -> int:
    """Runs them, and returns how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory(dir=BUILD.parent) as name:
        folder = Path(name)
        (folder / "build").mkdir()
        for path in [path for path in ROOT.iterdir() if path.name != "build"] + [BUILD, BUILD.parent / "venv"]:
            (folder / path.relative_to(ROOT)).symlink_to(path)
        shutil.copytree(BUILD / "checkpoints", folder / "build/checkpoints", copy_function=os.link)
        environment = os.environ | {"ABH_CHECKPOINTS": str(folder / "build/checkpoints")}
        for line, command in lines.items():
            start = time.monotonic()
            done = subprocess.run(
                ["timeout", str(LONGEST), "bash", "-euo", "pipefail", "-c", line], cwd=folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
            )  # fmt: skip
            print(f"{time.monotonic() - start:6.1f} s  {line}", flush=True)
            if done.returncode != 0:
                failed += 1
                tail = "".join(f"          {said}\n" for said in done.stdout.splitlines()[-20:])
                print(f"          {command.place}: exit status {done.returncode}\n{tail}", flush=True)
    print(f"{len(lines)} commands, {failed} failed")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="only let each program read its options")
    what.add_argument("--list", action="store_true", help="print what is run, and why, and stop")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only commands that contain TEXT")
    options = parser.parse_args()
    table = Table((ROOT / "tests/commands.toml").read_text(encoding="utf-8"))
    found = table.ours(commands())
    faults = check(found, table) if not options.list else []
    print(*faults, sep="\n", end="\n" if faults else "")
    lines = {line: command for line, command in runs(found, table).items() if options.only in line}
    if options.list:
        print(*(f"{command.place}: {line}" for line, command in lines.items()), sep="\n")
    failed = 0 if options.check or options.list else run(lines)
    return 1 if faults or failed else 0


if __name__ == "__main__":
    cli.run(main)
