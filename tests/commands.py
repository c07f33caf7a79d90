"""Whether every command on every page is right and works.

    python3 tests/commands.py            runs all of them, one after another, which takes some 20 minutes
    python3 tests/commands.py --check    only looks whether there are such programs, files and options

Commands are in the pages' console blocks and inline code, in the heads of scripts, in ./book --help, and where the judge
shows one. They run in a folder of their own that has the checkout's files and, in build, its trees. tests/commands.toml
says what is put in place of names such as FOLDER, what is run with less work, and what is not run, and why. Running needs
the programs in build/book.
"""

import argparse
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
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "lib/program"))

import cli

BUILD = ROOT / "build/book"
LONGEST = 900  # seconds for one command
OURS = r"(?:\./book|(?:tests|bench)/\w+\.sh|bench/gpu|build/(?!venv)[\w/-]+)"  # programs of the book
# Their heads show commands, and their text names options.
SCRIPTS = ("bench/*", "chapters/*/*.py", "docs/*.py", "docs/*/*.py", "figures/*.py", "judge/**/*.py", "tests/*", "tests/[bg]*/*.py")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "chapters/**/*.md", "judge/**/*.md", "bench/**/*.md")

BLOCK = re.compile(r"^( *)(`{3,})(sh|bash|console)\n(.*?)^\1\2$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
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


# ---- Whether they can be right

# Where the options of ./book's verbs are.
VERBS = {
    "run": ("lib/program/*.cpp",),
    "proof": ("tests/proof/*.cpp", "lib/program/*.cpp"),
    "mutate": ("tests/mutate.py",),
    "bench": ("bench/*.py",),
    "serve": ("docs/serve.py",),
    "model": ("chapters/15_language_model/model.py",),
    "check-pages": ("tests/browser/*.py",),
    **dict.fromkeys(("check", "progress", "gate", "handout", "grade", "hunt"), ("judge/**/*.py",)),
    **dict.fromkeys(("build", "record", "test", "--help"), ()),
}
SCRIPTS_OF = {verb: VERBS[verb][0] for verb in ("mutate", "serve", "model")} | {"bench": "bench/bench.py"}


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


def patterns(program: str, first: str, second: str) -> list[str] | None:
    """The files that may name a command's options; none for programs of others. None if there is no such program."""
    name = Path(program).name
    if program.startswith("--"):
        return [*SCRIPTS, "book", "lib/program/*.cpp", "tests/proof/*.cpp", "chapters/**/*.cpp"]
    if program == "./book" and first in VERBS:
        own = [f"chapters/*{second}*/**/*.cpp", "chapters/13_*/train_command.cpp"] if first == "run" else []
        return ["book", *VERBS[first], *own]
    if program == "./book":
        return None
    if re.fullmatch(r"python3?", name):
        return [f"{second}/**/*.py"] if first == "-m" else [f"{Path(first).parent}/*.py", f"{first}/*.py"]
    if program.startswith("build/") and "venv" not in program:
        return [f"chapters/*_{name}/**/*.cpp", "lib/program/*.cpp"] if list(ROOT.glob(f"chapters/*_{name}")) else None
    return [program] if re.fullmatch(OURS, program) else []


@functools.cache
def options_of(*names: str) -> set[str]:
    paths = [path for name in names for path in ROOT.glob(name) if path.suffix in {"", ".cpp", ".py", ".sh"} and path.is_file()]
    return {option for path in paths for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", path.read_text(encoding="utf-8"))}


def with_parser(words: list[str]) -> list[str]:
    """The program whose own parser reads these words, and the words: a chapter's, if it has been built, or a verb of ./book."""
    verb = words[1] if words[0] == "./book" and len(words) > 1 else ""
    if "judge/**/*.py" in VERBS.get(verb, ()):
        return [sys.executable, "-m", "judge", *words[1:]]
    if verb in SCRIPTS_OF:
        return [sys.executable, SCRIPTS_OF[verb], *words[2:]]
    name, rest = (f"*{words[2]}*", words[3:]) if verb == "run" and len(words) > 2 else (f"*_{Path(words[0]).name}", words[1:])
    programs = [folder / folder.name[3:] for folder in BUILD.glob(f"chapters/{name}")]
    ours = verb == "run" or words[0].startswith("build/")
    found = ours and "--mine" not in words and programs and programs[0].is_file()
    return [str(programs[0]), *rest] if found else []


def misread(words: list[str]) -> str:
    """What the program's own parser refuses. A last option that it does not know keeps it from running."""
    last = "--not-an-option"
    done = subprocess.run([*words, last], cwd=ROOT, capture_output=True, text=True, check=False)
    refused = re.search(rf"(unrecognized arguments|not expected): {last}( \(see --help\))?\n\Z", done.stderr)
    right = "--help" in words if done.returncode == 0 else refused
    return "" if right else done.stderr.strip() or f"{words[0]} runs with {last}"


def wrong(words: list[str]) -> str:
    """What is wrong with a command, or nothing: its program, files and presets exist, and it has the options.

    A chapter's program that has been built, and most verbs of ./book, read the command themselves; the options of others are
    looked up in their sources.
    """
    for word in words:
        if re.match(r"(bench|chapters|docs|figures|tests)/", word) and not (ROOT / word).exists():
            return f"there is no {word}"
    if words[0] in ("gdb", "mpirun", "srun"):
        words = words[next((i for i, word in enumerate(words) if re.fullmatch(OURS, word)), 0) :]
    known = patterns(*[*words, "", ""][:3])
    if known is None:
        return f"there is no program {' '.join(words[:2])}"
    if words[0] == "cmake":
        presets = (ROOT / "CMakePresets.json").read_text(encoding="utf-8")
        missing = [name for name in re.findall(r"--preset (\S+)", " ".join(words)) if f'"{name}"' not in presets]
    elif command := with_parser(words):
        return misread(command)
    else:
        asked = {word.partition("=")[0] for word in words if word.startswith("--")}
        missing = sorted(asked - options_of(*known)) if known else []
    return f"{words[0]} does not know {', '.join(missing)}" if missing else ""


def check(found: list[Command], table: Table) -> list[str]:
    """Says which commands are wrong, and which entries of the table are for no command."""
    runs(found, table)
    lines = {table.named(command.text): f"{command.place}: {command.text}" for command in reversed(found)}
    faults = [f"tests/commands.toml: {entry} is on no page" for entry in sorted(table.unused)]
    return faults + [f"{where}\n    {reason}" for line, where in lines.items() for reason in filter(None, map(wrong, simple(line)))]


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
    parser.add_argument("--check", action="store_true", help="only look whether there are such programs, files and options")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only commands that contain TEXT")
    options = parser.parse_args()
    table = Table((ROOT / "tests/commands.toml").read_text(encoding="utf-8"))
    found = table.ours(commands())
    faults = check(found, table)
    print(*faults, sep="\n", end="\n" if faults else "")
    lines = {line: command for line, command in runs(found, table).items() if options.only in line}
    failed = 0 if options.check else run(lines)
    return 1 if faults or failed else 0


if __name__ == "__main__":
    cli.run(main)
