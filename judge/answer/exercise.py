"""The exercises: one folder each, chapters/NN_NAME/exercises/M_TITLE, with

exercise.json  title, kind, difficulty, what it trains and needs, criteria with points, hints, mutants (see `Exercise`)
statement.md   the task; the chapter's page includes it
answer.cpp     the solution; the stub that a reader starts from is cut from it
call.cpp       calls the reader's functions; in a hand-out it is compiled, as call.o
cases.cpp      draws inputs and computes the right results; never shown
model.hpp      optional: code that call.cpp and cases.cpp share; one beside the folders is shared by several exercises
solution.md    optional: the derivation, shown with the solution
plain.cpp      for speed exercises: the function that the answer is timed against, under the answer's name

A hand-out has stub.cpp in place of answer.cpp, and drawn cases, cases.bin, in place of cases.cpp; if the answer is numbers,
it has numbers.json, which says what is drawn for any student.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IN_HANDOUT = (ROOT / "handout.json").is_file()
CHECK = "./check" if IN_HANDOUT else "./book check"
NAME = "check" if IN_HANDOUT else "book"  # the command's, for its messages
PAGES = ROOT / ("pages" if IN_HANDOUT else "build/book/html")  # rendered
KINDS = ("forward", "backward", "bug", "predict", "speed", "kernel", "ablation")
COMPUTED = ("forward", "backward", "bug", "speed", "kernel", "hunt")  # answers are C++


class Mistaken(ValueError):
    """Says what is wrong with an exercise's folder, or with a request for an exercise."""


@dataclass(frozen=True)
class Criterion:
    """Cases that count together: no points unless all of them are right."""

    name: str
    points: int


@dataclass(frozen=True)
class Mutant:
    """A wrong answer, made from the solution: `find` is replaced by `put`."""

    name: str
    find: str
    put: str
    loses: tuple[str, ...]  # exactly these criteria
    says: str = ""  # a part of what the judge then says


@dataclass(frozen=True)
class Exercise:
    """The contents of exercise.json; `number` comes from the folder names."""

    number: str
    folder: Path
    title: str
    kind: str
    difficulty: int
    read: str  # the section to read again, PAGE#anchor within the chapter, or ../NN_NAME/PAGE#anchor
    criteria: tuple[Criterion, ...]
    hints: tuple[str, ...]
    trains: str = ""  # the skill, in one phrase, for the instructor's guide; not in hand-outs
    needs: tuple[str, ...] = ()  # numbers of the exercises that this one builds on directly
    links: str = ""  # the last chapter whose code the answer may call; empty: the previous one
    without: tuple[str, ...] = ()  # sources of that chapter that would give the answer away
    eigen: bool = True  # whether the answer may include Eigen
    mutants: tuple[Mutant, ...] = ()
    seconds: float = 10.0  # for all cases of a criterion
    faster: dict[str, float] = field(default_factory=dict, hash=False)  # by criterion: how many times as fast as plain.cpp
    section: str = ""  # in a hand-out: the section's title
    device: bool = False  # runs on the emulated device
    mine: tuple[str, ...] = ()  # operations that ./book run --mine can replace
    takes_part: str = ""  # the command that runs them, unless it is ./book run 09 --mine NN.M
    given: str = ""  # if the answer is numbers: what was drawn for answer.txt, `N = 2, L = 7`
    faults: tuple = field(default=(), hash=False)  # of a hunt: those from which a student's is drawn (judge/hunt/faults.py)
    judge: Callable | None = field(default=None, hash=False)  # of a hunt: judges its test (judge/hunt/judging.py)

    @property
    def points(self) -> int:
        """The points for a right answer."""
        return sum(c.points for c in self.criteria)

    @property
    def chapter(self) -> str:
        """`04`"""
        return self.number[:2]

    @property
    def name(self) -> str:
        """The reader's file without its suffix: `04_2_softmax_backward`."""
        return "hunt" if self.kind == "hunt" else f"{self.chapter}_{self.folder.name}"

    @property
    def file_name(self) -> str:
        """The reader's file."""
        return self.name + (".cpp" if self.kind in COMPUTED else ".txt")

    @property
    def run(self) -> str:
        """The command that runs a chapter's program with the answer in it; empty if there is none."""
        return (self.takes_part or f"./book run 09 --mine {self.number}") if self.mine else ""

    @property
    def source(self) -> Path:
        """The file from which solution and stub are cut."""
        return self.folder / ("answer.cpp" if self.kind in COMPUTED else "answer.txt")

    def solution(self) -> str:
        """The right answer."""
        return cut(self.source, stub=False).replace("{given}", self.given)

    def stub(self) -> str:
        """The file that a reader starts from."""
        if IN_HANDOUT:
            return (self.folder / f"stub{self.source.suffix}").read_text()
        return cut(self.source, stub=True)

    def headers(self) -> list[Path]:
        """The headers beside call.cpp, or beside the exercise's folder, that it includes."""
        found: list[Path] = []
        todo = [self.folder / "call.cpp"]
        while todo:
            file = todo.pop()
            names = re.findall(r'^#include "((?:\.\./)?[a-z_]+\.hpp)"', file.read_text(), re.MULTILINE)
            new = [p for p in ((file.parent / n).resolve() for n in names) if p.is_file() and p not in found]
            found, todo = found + new, todo + new
        return sorted(found)

    @property
    def hours(self) -> float:
        """How long it takes, estimated: to read, to think and to derive, and three minutes for each line."""
        thought = {1: 15, 2: 45, 3: 120}[self.difficulty] + {"backward": 30, "bug": 30, "hunt": 60}.get(self.kind, 0)
        return math.ceil((30 + thought + 3 * sum(bool(line.strip()) for line in self.written())) / 30) / 2

    def derivation(self) -> str:
        """What is shown with the solution; empty if nothing is."""
        file = self.folder / "solution.md"
        return file.read_text() if file.is_file() else ""

    def written(self) -> list[str]:
        """The lines of the file that occur only in the solution."""
        lines, inside = [], False
        for line in self.source.read_text().splitlines():
            mark = line.strip()
            if mark == "// solution":
                inside = True
            elif mark in ("// stub", "// end"):
                inside = False
            elif inside:
                lines.append(line)
        return lines

    def solution_lines(self) -> list[str]:
        """The lines that occur only in the solution and its derivation."""
        secrets = [line for fault in self.faults for line in fault.secrets().splitlines()]
        return [*self.derivation().splitlines(), *secrets, *self.written()]

    def mutated(self, mutant: Mutant) -> str:
        """The solution with one mistake."""
        return replaced(self.solution(), mutant.find, mutant.put, f"{self.number}: mutant {mutant.name!r}")


def replaced(code: str, find: str, put: str, what: str) -> str:
    """The code with `put` in place of `find`, whatever spaces and line breaks are between its words.

    :param what: names the change, in the error
    :raises Mistaken: unless there is exactly one such place
    """
    result, count = re.subn(r"\s+".join(map(re.escape, find.split())), lambda _: put, code)
    if count != 1:
        raise Mistaken(f"{what}: {count} places to change, expected one")
    return result


def cut(source: Path, *, stub: bool) -> str:
    """The solution, or the stub. Lines from `// solution` to `// stub` are only in the solution; those from there to
    `// end`, without their comment signs, only in the stub."""
    lines, part = [], "both"
    for line in source.read_text().splitlines():
        mark = line.strip()
        if mark in ("// solution", "// stub", "// end"):
            expected = {"// solution": "both", "// stub": "// solution", "// end": "// stub"}[mark]
            if part != expected:
                raise Mistaken(f"{source}: {mark} after {part}")
            part = "both" if mark == "// end" else mark
        elif part == "both" or (part == "// solution" and not stub):
            lines.append(line)
        elif part == "// stub" and stub:
            lines.append(re.sub(r"^(\s*)// ?", r"\1", line).rstrip())
    if part != "both":
        raise Mistaken(f"{source}: no // end")
    return "\n".join(lines) + "\n"


def load(folder: Path) -> Exercise:
    """The exercise in this folder.

    :raises Mistaken: which says what is wrong with it
    """
    number = number_of(folder)
    try:
        manifest = json.loads((folder / "exercise.json").read_text())
        criteria = tuple(Criterion(**c) for c in manifest.pop("criteria"))
        mutants = tuple(
            Mutant(**{**m, "loses": tuple(m["loses"])}) for m in manifest.pop("mutants", [])
        )
        lists = {k: tuple(manifest.pop(k, ())) for k in ("hints", "needs", "without", "mine")}
        exercise = Exercise(
            number=number, folder=folder, criteria=criteria, mutants=mutants, **lists, **manifest
        )
        check(exercise)
        return exercise
    except Mistaken:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Mistaken(f"{number}: exercise.json: {type(error).__name__}: {error}") from error


def number_of(folder: Path) -> str:
    """`04.2`

    :raises Mistaken: if the folder's name has none
    """
    match = re.fullmatch(r"(\d+)_[a-z0-9_]+", folder.name)
    if not match:
        raise Mistaken(f"{folder}: expected a name like NUMBER_TITLE for an exercise's folder")
    return f"{folder.parent.parent.name[:2]}.{match[1]}"


def check(exercise: Exercise) -> None:
    """Checks what every exercise must have.

    :raises Mistaken: for what is missing
    """
    names = {c.name for c in exercise.criteria}
    needed = ["statement.md", exercise.source.name, "cases.cpp"]
    if IN_HANDOUT:
        cases = "cases.bin" if exercise.kind in COMPUTED else "numbers.json"
        needed = ["statement.md", f"stub{exercise.source.suffix}", cases]
    if exercise.kind in COMPUTED:
        needed.append("call.o" if IN_HANDOUT else "call.cpp")
    if exercise.faster:
        needed.append("plain.cpp")
    missing = [name for name in needed if not (exercise.folder / name).is_file()]
    problems = {
        f"kind is one of {', '.join(KINDS)}": exercise.kind not in KINDS,
        "difficulty is 1, 2 or 3": exercise.difficulty not in (1, 2, 3),
        "trains is missing: the skill, in one phrase": not IN_HANDOUT and not exercise.trains.strip(),
        "each criterion has points": not names or any(c.points < 1 for c in exercise.criteria),
        f"{', '.join(missing)} is missing": bool(missing),
        "faster or a mutant names no criterion": not set(exercise.faster).union(*(m.loses for m in exercise.mutants)) <= names,
    }
    for problem, there in problems.items():
        if there:
            raise Mistaken(f"{exercise.number}: {problem}")
    if not IN_HANDOUT:
        exercise.stub(), exercise.solution()  # :raises Mistaken: for markers that do not fit


def load_all(root: Path = ROOT) -> list[Exercise]:
    """All exercises, chapters/*/exercises/*, in the book's order.

    :raises Mistaken: which says what is wrong with any of them
    """
    folders = [p for p in root.glob("chapters/*/exercises/*") if p.is_dir()]
    found: dict[str, Exercise] = {}
    for folder in sorted(folders, key=lambda p: [int(n) for n in number_of(p).split(".")]):
        exercise = load(folder)
        if unknown := [n for n in exercise.needs if n not in found]:
            raise Mistaken(f"{exercise.number}: needs {', '.join(unknown)}, but no exercise before it has this number")
        if exercise.number in found:
            raise Mistaken(f"{exercise.number}: {found[exercise.number].folder.name} also has this number")
        found[exercise.number] = exercise
    return list(found.values())


def choose(number: str) -> list[Exercise]:
    """The exercises that the command line names: 04.2, 4.2, or 04 for a whole chapter.

    :raises Mistaken: if there is none
    """
    chapter, _, count = number.partition(".")
    wanted = f"{int(chapter):02d}.{count}" if chapter.isdecimal() else number
    chosen = [e for e in load_all() if e.number == wanted or (not count and e.chapter == wanted[:2])]
    if not chosen:
        raise Mistaken(f"there is no exercise {number}; {CHECK} --progress lists all of them")
    return chosen
