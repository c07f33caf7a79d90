"""Whether a command on a page has options that its program takes, without letting it do anything."""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/book"
# Their heads show commands, and their text names options.
SCRIPTS = ("bench/*", "chapters/*/*.py", "docs/*.py", "docs/*/*.py", "figures/*.py", "judge/**/*.py", "tests/*", "tests/[bg]*/*.py")
OURS = r"(?:\./book|(?:tests|bench)/\w+\.sh|bench/gpu|build/(?!venv)[\w/-]+)"  # programs of the book


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
