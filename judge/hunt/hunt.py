"""./book hunt: a fault, drawn by the student's name, in a compiled copy of one of the book's sources. The student hands in
a test that finds it, the line, and the cause."""

from __future__ import annotations

import re
from pathlib import Path

from ..answer.exercise import IN_HANDOUT, Exercise, Mistaken
from ..answer.exercise import choose as in_chapters
from ..answer.written import text_of
from .faults import FOLDER, Fault, drawn, faults
from .judging import CRITERIA, judge

HINTS = (
    "Which lines of the source could cause what the users notice? Sort them: which inputs reach them, and which do not?",
    "Choose the smallest input that reaches such a line, and compute the right result by hand. If your test passes with the copy, too, "
    "its input does not reach the fault, or hides it: take the next line, or call an inner function alone.",
    "Equal numbers and square shapes can hide a fault. Try axes of different sizes, more than one sentence, a second call, and rows that "
    "are masked or padded; for a gradient, `check_gradient` with a random cotangent.",
)


def is_hunt(number: str) -> bool:
    """Whether this names a hunt, not an exercise of a chapter."""
    return number.partition(":")[0] == "hunt"


def hunt(number: str = "hunt") -> Exercise:
    """The exercise `hunt`, or `hunt:04`, `hunt:04-06`, `hunt:04-06:2`: in these chapters, and of this level.

    :raises Mistaken: if there is no such fault
    """
    asked = re.fullmatch(r"hunt(?::(?P<first>\d\d)(?:-(?P<last>\d\d))?)?(?::(?P<level>[123]))?", number)
    if not asked:
        raise Mistaken(f"there is no {number}; a hunt is hunt, hunt:04 or hunt:04-06, with :2 after it for level 2 of 3")
    first = int(asked["first"] or 0)
    last = int(asked["last"] or asked["first"] or 99)
    level = int(asked["level"] or 0)
    pool = tuple(f for f in faults() if first <= int(f.chapter[:2]) <= last and level in (0, f.level))
    if not pool:
        raise Mistaken(f"{number}: there is no fault to hunt" + ("" if IN_HANDOUT else "; ./book hunt --list shows where there are some"))
    return among(pool, "hunt" if IN_HANDOUT else number)


def choose(numbers: list[str]) -> list[Exercise]:
    """The exercises that the command line names, which may include a hunt.

    :raises Mistaken: for a number that does not exist
    """
    if sum(map(is_hunt, numbers)) > 1:
        raise Mistaken("there can be only one hunt at a time; hunt:04-06 is one in several chapters")
    return named(numbers)


def named(numbers: list[str]) -> list[Exercise]:
    """The exercises with these numbers, with any number of hunts.

    :raises Mistaken: for a number that does not exist
    """
    return [e for number in numbers for e in ([hunt(number)] if is_hunt(number) else in_chapters(number))]


def begun(answer: Path) -> Exercise:
    """The hunt that this file was begun for.

    :raises Mistaken: if there is no such fault
    """
    code = re.match(r"// Hunt (\w+)", text_of(answer))
    pool = tuple(f for f in faults() if code and f.id == code[1])
    if not pool:
        raise Mistaken(f"the first line of {answer.name} names no hunt; move the file away, and begin another one")
    return among(pool)


def among(pool: tuple[Fault, ...], number: str = "hunt") -> Exercise:
    """The exercise to find one of these faults."""
    chapters = sorted({f.chapter[:2] for f in pool})
    return Exercise(
        number=number,
        folder=FOLDER,
        title="A fault hunt",
        kind="hunt",
        difficulty=round(sum(f.level for f in pool) / len(pool)),
        read="",
        section="what users notice, the header, and the source",
        criteria=CRITERIA,
        hints=HINTS,
        links=chapters[-1],
        faults=pool,
        judge=judge,
    )


def only(exercise: Exercise, student: str) -> Exercise:
    """The exercise to find the student's fault, which needs no chapter above the fault's."""
    return among((drawn(exercise, student),))
