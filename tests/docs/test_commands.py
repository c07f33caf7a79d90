"""The commands on the pages: that there are such programs, files and options.

Commands are in the pages' console blocks and inline code, in the heads of scripts, in ./book --help, and where the judge
shows one.
"""

import functools
import json
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path
from typing import NamedTuple

from project import ROOT

BUILD = ROOT / "build/book"
OURS = r"(?:\./book|(?:tests|bench)/\w+\.sh|bench/gpu|build/(?!venv)[\w/-]+)"  # programs of the book
# Their heads show commands, and their text names options.
SCRIPTS = ("bench/*", "chapters/*/*.py", "docs/*.py", "docs/*/*.py", "figures/*.py", "judge/**/*.py", "tests/*", "tests/[bg]*/*.py")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "chapters/**/*.md", "judge/**/*.md", "bench/**/*.md")
# What only looks like a command of the book: verbs that want more words, and options of MPI and of Slurm.
OTHERS = {"./book grade", "./book run", "--bind-to none", "--mpi=pmi2"}
NAMES = {  # that a reader replaces
    "...": "",
    "DIR": "out",
    "FILE": "small.json",
    "FOLDER": "tests/golden/marian/two_tables",
    "NAME": "softmax",
    "NN.M": "04.2",
    "RATE": "0.1",
    "RUN": "runs/german",
    "SEED": "1",
    "WORK": "base_step",
}

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


# ---- Whether they can be right


def named(line: str) -> str:
    """The line with a value for each name."""
    return re.sub(rf"(?<![\w/])(?:{'|'.join(map(re.escape, NAMES))})(?!\w)", lambda found: NAMES[found[0]], line).strip()


# Where the options of ./book's verbs are.
VERBS = {
    "run": ("lib/program/*.cpp",),
    "proof": ("tests/proof/*.cpp", "lib/program/*.cpp"),
    "mutate": ("tests/mutate.py",),
    "bench": ("bench/*.py",),
    "model": ("chapters/15_language_model/model.py",),
    "check-pages": ("tests/browser/*.py",),
    **dict.fromkeys(("check", "progress", "gate", "handout", "grade", "hunt"), ("judge/**/*.py",)),
    **dict.fromkeys(("build", "record", "test", "serve", "--help"), ()),
}
SCRIPTS_OF = {verb: VERBS[verb][0] for verb in ("mutate", "model")} | {"bench": "bench/bench.py"}


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


class Commands(unittest.TestCase):
    def test_every_command_can_be_right(self) -> None:
        found = commands()
        self.assertGreater(len(found), 200)
        lines = {named(command.text): command for command in reversed(found) if command.text not in OTHERS}
        for line, command in lines.items():
            with self.subTest(command.place):
                self.assertEqual([reason for reason in map(wrong, simple(line)) if reason], [], command.text)

    def test_a_wrong_one_is_seen(self) -> None:
        for line, reason in {
            "./book render": "there is no program ./book render",
            "./book build --mobi": "does not know --mobi",
            "echo a | ./book run 13 translate --bream 4": "--bream",
            "./book grade 04 --submissions in --out out --mark": "arguments: --mark",
            "cmake --workflow --preset fast": "does not know fast",
            "cmake -S chapters/04_attention -B build/ch04": "there is no chapters/04_attention",
            "python3 docs/tangle.py build/book/html --target b": "does not know --target",
            "tests/compilers.sh --change": "does not know --change",
        }.items():
            with self.subTest(line):
                self.assertIn(reason, "".join(map(wrong, simple(line))))

    @unittest.skipUnless(with_parser(["./book", "run", "09"]), "chapter 9's program is not built")
    def test_a_program_reads_values_too(self) -> None:
        self.assertIn("--epochs", wrong(["./book", "run", "09", "--epochs", "several"]))
