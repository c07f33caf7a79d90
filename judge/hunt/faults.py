"""The faults to hunt. What each changes stands in tests/mutants.toml, with all other planted faults. What a hunt says of it is in
chapters/NN_NAME/exercises/hunt.toml, under the name of the source, and of its folder if it has one:

    [softmax]
    harmless = [["what is different", "find", "put"], ...]  # right, although written in another way
    wide = "a test that asks for more than the header promises"

    [[softmax.faults]]
    name, level, symptom, cause
    finds = "a test that finds it"
    misses = "a test that does not, or the name of another fault of this source, whose test does not"

A test is the body of the function `passes`. A hand-out has compiled copies, and of each only what its user may know.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..answer.exercise import IN_HANDOUT, ROOT, Exercise, Mistaken
from ..answer.written import Dealt

FOLDER = ROOT / "hunt" if IN_HANDOUT else ROOT / "judge" / "hunt" / "exercise"
SOURCES = FOLDER / "sources"  # in a hand-out
PLANTED = ROOT / "tests" / "mutants.toml"


@dataclass(frozen=True)
class Fault:
    """One fault of one source. A hand-out lacks what is empty by default."""

    id: str
    chapter: str  # the folder's name
    source: str  # in the chapter's folder, without .cpp
    level: int
    symptom: str
    headers: tuple[str, ...]
    name: str = ""
    find: str = ""
    put: str = ""
    cause: str = ""
    finds: str = ""  # tests
    misses: str = ""
    wide: str = ""
    harmless: tuple[tuple[str, str, str], ...] = ()

    @property
    def file(self) -> str:
        """The source, from the book's root."""
        return f"chapters/{self.chapter}/{self.source}.cpp"

    @property
    def stem(self) -> str:
        return self.source.rpartition("/")[2]

    def secrets(self) -> str:
        """What no hand-out may contain."""
        return "\n".join((self.name, self.cause, self.put))


@cache
def faults() -> tuple[Fault, ...]:
    """All faults of the book, or of the hand-out.

    :raises Mistaken: which says what is wrong with a list
    """
    if IN_HANDOUT:
        file = FOLDER / "faults.json"
        return tuple(Fault(**{**f, "headers": tuple(f["headers"])}) for f in json.loads(file.read_text())) if file.is_file() else ()
    planted = toml(PLANTED)
    return tuple(f for file in sorted(ROOT.glob("chapters/*/exercises/hunt.toml")) for f in read(file, planted))


def toml(file: Path) -> dict:
    """:raises Mistaken: if it cannot be read, or is not TOML"""
    import tomllib  # here, because a hand-out does without it, and so with Python 3.10

    try:
        return tomllib.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise Mistaken(f"{file.relative_to(ROOT)}: {type(error).__name__}: {error}") from error


def read(file: Path, planted: dict) -> list[Fault]:
    """The faults in one chapter's list.

    :raises Mistaken: which says what is wrong with it
    """
    chapter, found = file.parent.parent.name, []
    try:
        for source, about in toml(file).items():
            changes = planted[f"chapters/{chapter}/{source}.cpp"]
            headers = tuple(about.get("headers", [f"chapters/{chapter}/{source}.hpp"]))
            harmless = tuple((what, find, put) for what, find, put in about["harmless"])
            for fault in about["faults"]:
                code = hashlib.sha256(fault["name"].encode()).hexdigest()[:6]
                tests = {f["name"]: f["finds"] for f in about["faults"]}
                fault["misses"] = tests.get(fault["misses"], fault["misses"])
                find, put, *_ = changes[fault["name"]]  # a third says whose tests notice
                found.append(Fault(code, chapter, source, headers=headers, harmless=harmless, wide=about["wide"], find=find, put=put, **fault))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Mistaken(f"{file.relative_to(ROOT)}: {type(error).__name__}: {error}") from error
    return found


def drawn(exercise: Exercise, student: str) -> Fault:
    """The student's fault: in a class the next in turn, else one that the name draws, which stays the same when faults are
    added, unless one of those is now the student's."""
    if isinstance(student, Dealt):
        return sorted(exercise.faults, key=lambda f: f.id)[student.turn % len(exercise.faults)]
    return min(exercise.faults, key=lambda f: hashlib.sha256(f"{f.id}\n{student}".encode()).digest())


def key(exercise: Exercise, student: str) -> str:
    """What the instructor compares a student's cause with; empty for other exercises, and in a hand-out."""
    return drawn(exercise, student).cause if exercise.faults else ""


def listing() -> str:
    """How many faults each source has, by level."""
    rows = {}
    for f in faults():
        rows.setdefault(f.file, []).append(f.level)
    lines = [f"{file:70} {' '.join(f'{levels.count(n):2}' for n in (1, 2, 3))}" for file, levels in rows.items()]
    totals = [sum(levels.count(n) for levels in rows.values()) for n in (1, 2, 3)]
    return "\n".join([f"{'faults of level':70}  1  2  3", *lines, f"{f'{sum(totals)} faults':70} {' '.join(f'{n:2}' for n in totals)}"])
