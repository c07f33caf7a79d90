"""The exercises: one folder each, chapters/NN_NAME/exercises/M_TITLE, with

exercise.json  title, kind, difficulty, points, criteria, hints, mutants (see `Exercise`)
statement.md   what is asked; the chapter's page includes it
answer.cpp     the solution; the stub that a reader starts from is cut from it
call.cpp       what calls the reader's functions
cases.cpp      draws inputs and knows what is right; never shown
model.hpp      where there is one: what call.cpp and cases.cpp make alike
plain.cpp      for a speed: the function whose time is the measure, with the answer's name

A hand-out has stub.cpp and drawn cases, cases.bin, in place of answer.cpp and cases.cpp.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IN_HANDOUT = (ROOT / "handout.json").is_file()
CHECK = "./check" if IN_HANDOUT else "./book check"
KINDS = ("forward", "backward", "bug", "predict", "speed", "kernel", "ablation")
COMPUTED = ("forward", "backward", "bug", "speed", "kernel")  # answers are C++


class Mistaken(ValueError):
    """An exercise's folder that is not as it should be, and why."""


@dataclass(frozen=True)
class Criterion:
    """Cases that count together: all of them right, or no points."""

    name: str
    points: int


@dataclass(frozen=True)
class Mutant:
    """A wrong answer, made from the solution: `find` is replaced by `put`."""

    name: str
    find: str
    put: str
    loses: tuple[str, ...]  # exactly these criteria
    says: str = ""  # part of what the judge says


@dataclass(frozen=True)
class Exercise:
    """What exercise.json says; `number` comes from the folders."""

    number: str
    folder: Path
    title: str
    kind: str
    difficulty: int
    read: str  # the section to read again, PAGE#anchor within the chapter
    criteria: tuple[Criterion, ...]
    hints: tuple[str, ...]
    links: str = ""  # the last chapter whose code the answer may call; empty: the one before
    without: tuple[str, ...] = ()  # sources of that chapter that would give the answer away
    mutants: tuple[Mutant, ...] = ()
    seconds: float = 10.0  # for all cases of a criterion
    faster: dict[str, float] = field(default_factory=dict, hash=False)  # criterion: times the speed of plain.cpp
    section: str = ""  # in a hand-out: the section's title
    device: bool = False  # runs on the emulated device
    mine: tuple[str, ...] = ()  # operations that ./book run --mine can replace

    @property
    def points(self) -> int:
        """What a right answer is worth."""
        return sum(c.points for c in self.criteria)

    @property
    def chapter(self) -> str:
        """`04`"""
        return self.number[:2]

    @property
    def name(self) -> str:
        """`04_2_softmax_backward`, of the reader's file."""
        return f"{self.chapter}_{self.folder.name}"

    @property
    def file_name(self) -> str:
        """The reader's file."""
        return self.name + (".cpp" if self.kind in COMPUTED else ".txt")

    @property
    def source(self) -> Path:
        """The file that solution and stub are cut from."""
        return self.folder / ("answer.cpp" if self.kind in COMPUTED else "answer.txt")

    def solution(self) -> str:
        """The answer that is right."""
        return cut(self.source, stub=False)

    def stub(self) -> str:
        """What a reader starts from."""
        if IN_HANDOUT:
            return (self.folder / f"stub{self.source.suffix}").read_text()
        return cut(self.source, stub=True)

    def solution_lines(self) -> list[str]:
        """The lines that only the solution has."""
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

    def mutated(self, mutant: Mutant) -> str:
        """The solution with one mistake."""
        pattern = r"\s+".join(map(re.escape, mutant.find.split()))
        answer, count = re.subn(pattern, lambda _: mutant.put, self.solution())
        if count != 1:
            raise Mistaken(f"{self.number}: mutant {mutant.name!r}: {count} places to change")
        return answer


def cut(source: Path, *, stub: bool) -> str:
    """The solution, or the stub: `// solution` to `// stub` is the one, from there to `// end`,
    without the comment signs, the other."""
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

    :raises Mistaken: saying what is wrong with it
    """
    chapter = folder.parent.parent.name[:2]
    match = re.fullmatch(r"(\d+)_[a-z0-9_]+", folder.name)
    if not match:
        raise Mistaken(f"{folder}: a folder is called NUMBER_TITLE")
    number = f"{chapter}.{match[1]}"
    try:
        manifest = json.loads((folder / "exercise.json").read_text())
        criteria = tuple(Criterion(**c) for c in manifest.pop("criteria"))
        mutants = tuple(
            Mutant(**{**m, "loses": tuple(m["loses"])}) for m in manifest.pop("mutants", [])
        )
        lists = {k: tuple(manifest.pop(k, ())) for k in ("hints", "without", "mine")}
        exercise = Exercise(
            number=number, folder=folder, criteria=criteria, mutants=mutants, **lists, **manifest
        )
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise Mistaken(f"{number}: exercise.json: {error}") from error
    check(exercise)
    return exercise


def check(exercise: Exercise) -> None:
    """What every exercise must have.

    :raises Mistaken: for what is missing
    """
    names = {c.name for c in exercise.criteria}
    needed = ["statement.md", exercise.source.name, "cases.cpp"]
    if IN_HANDOUT:
        needed = ["statement.md", f"stub{exercise.source.suffix}", "cases.bin"]
    if exercise.kind in COMPUTED:
        needed.append("call.cpp")
    if exercise.faster:
        needed.append("plain.cpp")
    missing = [name for name in needed if not (exercise.folder / name).is_file()]
    problems = {
        f"kind is one of {', '.join(KINDS)}": exercise.kind not in KINDS,
        "difficulty is 1, 2 or 3": exercise.difficulty not in (1, 2, 3),
        "faster names no criterion": not set(exercise.faster) <= names,
        "criteria is empty": not exercise.criteria,
        "a criterion has no points": any(c.points < 1 for c in exercise.criteria),
        f"{', '.join(missing)} is missing": bool(missing),
        "a mutant loses no criterion, or one that is none": any(
            not m.loses or not set(m.loses) <= names for m in exercise.mutants
        ),
    }
    for problem, there in problems.items():
        if there:
            raise Mistaken(f"{exercise.number}: {problem}")


def load_all(root: Path = ROOT) -> list[Exercise]:
    """All exercises, in the book's order."""
    folders = sorted(
        (p.parent for p in root.glob("chapters/*/exercises/*/exercise.json")),
        key=lambda p: (p.parent.parent.name, int(p.name.split("_")[0])),
    )
    return [load(folder) for folder in folders]
