"""What a verdict depends on, so that only what has changed is judged again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ..answer.exercise import COMPUTED, IN_HANDOUT, ROOT, Exercise
from ..hunt.faults import PLANTED
from .submissions import Submission

ROOMS = ("answer", "hunt", "course")  # of the judge: those that take part in grading
CAUSES = {
    "answer": "the student handed in another answer",
    "exercise": "the exercise changed",
    "judge": "the judge changed",
    "seed": "another seed",
    "sandbox": "with or without the sandbox",
}


def hashed(content: object) -> str:
    """A hash of anything that prints alike if it is alike."""
    return hashlib.sha256(repr(content).encode()).hexdigest()


def digest(submission: Submission, exercise: Exercise) -> str:
    """A hash that changes with the answer to this exercise."""
    name = exercise.file_name
    return hashed((submission.answers.get(name), submission.refused.get(name), submission.known))


def checksum(files: Iterable[Path]) -> str:
    """A hash that changes with any of these files."""
    return hashed(sorted({(p.parts[-2:], hashlib.sha256(p.read_bytes()).hexdigest()) for p in files}))


def origins(exercises: list[Exercise], seed: int, *, tight: bool) -> dict[str, dict]:
    """What an exercise's verdicts depend on beside the answer, by number."""
    rooms = [Path(__file__).parents[1] / room for room in ROOMS]
    judge = checksum(p for room in rooms for p in room.iterdir() if p.suffix in (".py", ".cpp", ".hpp"))
    common = {"judge": judge, "seed": seed, "sandbox": tight}

    def files(e: Exercise) -> list[Path]:
        beside = e.headers() if e.kind in COMPUTED and not IN_HANDOUT else []
        lists = [PLANTED, *sorted({ROOT / "chapters" / f.chapter / "exercises" / "hunt.toml" for f in e.faults})] if e.faults and not IN_HANDOUT else []
        return [*beside, *lists, *(p for p in e.folder.rglob("*") if p.is_file())]

    return {e.number: {"exercise": checksum(files(e)), **common} for e in exercises}


def caused(before: dict, now: dict) -> str:
    """Why a verdict may differ from an earlier one; empty if it may not."""
    return "; ".join(said for part, said in CAUSES.items() if before[part] != now[part])


def settled(verdict: dict | None, origin: dict) -> bool:
    """Whether a verdict of an earlier call stands. One that the judge could not give is tried again."""
    return verdict is not None and verdict.get("origin") == origin and verdict["reason"] != "judge"
