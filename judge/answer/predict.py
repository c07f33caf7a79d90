"""Judges answers that are numbers: predictions and ablations. None of their content is run."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path

from . import cases as draws
from .cases import Case
from .exercise import IN_HANDOUT, Exercise
from .verdict import Fault, Judged, Verdict, refused
from .written import Dealt, text_of

LONGEST = 64 * 1024
LONGEST_LINE = 1000  # characters
VARIANTS = 200  # of an exercise: a hand-out has the given numbers of all, without the answers
LARGEST_FACTOR = 16  # that says something
GATE = "\n"  # a name that no student has, for the numbers in answer.txt


def seed_of(exercise: Exercise, student: str) -> int:
    """The seed of a student's numbers, the same each time. Two students who share one may differ in the next exercise."""
    if student == GATE:
        return int.from_bytes(hashlib.sha256(b"gate").digest()[:7], "little")
    turn, name = (student.turn, "") if isinstance(student, Dealt) else (0, student)
    digest = hashlib.sha256(f"{exercise.number}\n{name}".encode()).digest()
    return (int.from_bytes(digest[:7], "little") + turn) % VARIANTS


def variants(exercise: Exercise) -> dict:
    """An exercise's data in a hand-out: the line that each criterion asks for, and the numbers of all variants."""
    lines = {c.criterion: c.call for c in draws.draw(exercise, 0)}
    return {"lines": lines, "given": [draws.given(exercise, seed) for seed in range(VARIANTS)]}


def given(exercise: Exercise, student: str) -> str:
    """The numbers drawn for this student: `B = 3, L = 17`."""
    if IN_HANDOUT:
        return json.loads((exercise.folder / "numbers.json").read_text())["given"][seed_of(exercise, student)]
    return draws.given(exercise, seed_of(exercise, student))


def lines(answer: Path) -> str:
    """As much of an answer as is looked at, with a minus sign of the keyboard.

    :raises NoText: if it is no text
    """
    return text_of(answer)[:LONGEST].replace("\N{MINUS SIGN}", "-")


def read(answer: Path) -> dict[str, str]:
    """The lines `name = number`: the text after each `=`, up to a comment; empty if the line is too long. A colon is as
    good, unless no number follows, as in a description."""
    found = {}
    for line in lines(answer).splitlines():
        name, sign, rest = line.partition("=" if "=" in line else ":")
        name, value = name.strip(), rest.partition("#")[0].strip() if len(line) <= LONGEST_LINE else ""
        if re.fullmatch("[a-z_0-9]+", name, re.IGNORECASE) and (sign == "=" or (name not in found and math.isfinite(number(value)))):
            found[name] = value
    return found


def number(text: str) -> float:
    """Reads a number, with digits grouped by _, ' or spaces of any kind, or as 1e6. NaN if it is none."""
    try:
        return float(re.sub(r"[\s_'’]", "", text))
    except ValueError:
        return math.nan


def unreadable(line: str, found: dict[str, str], drawn: str) -> Fault | None:
    """Why the line cannot be judged; None if it is there, with a number."""
    if line not in found:
        return Fault("missing", f"there is no line '{line} = NUMBER'", about=drawn)
    if math.isfinite(number(found[line])):
        return None
    said = f"{found[line][:40]!r} after '{line} =' is not a single number" if found[line] else f"there is no number after '{line} ='"
    comma = ", without a comma, which may group digits or begin a fraction" if "," in found[line] else ""
    return Fault("missing", f"{said}; write it as 540, -0.75 or 1e6{comma}", about=drawn)


def judge_numbers(exercise: Exercise, answer: Path, student: str) -> Verdict:
    """Judges numbers. Each criterion asks for one, under the name in `Case.call`."""
    if IN_HANDOUT:
        return complete(exercise, answer, student)
    cases = draws.draw(exercise, seed_of(exercise, student))
    found, drawn = read(answer), given(exercise, student)
    named = re.search(r"Your numbers: (.*\S)", lines(answer))
    theirs = named[1] if named and named[1] != drawn else ""
    other = f"the file is for {theirs}, but your numbers are {drawn}: whose file is it?"
    verdict = Verdict(exercise)
    for criterion in exercise.criteria:
        judged = Judged(criterion.name, criterion.points, 0)
        for case in (c for c in cases if c.criterion == criterion.name):
            judged.cases += 1
            if not judged.fault and (fault := compare(case, found, drawn)):
                judged.fault = replace(fault, case=case)
                if theirs and fault.reason == "wrong":
                    judged.fault = replace(judged.fault, causes=(other,), pattern="")
        verdict.criteria.append(judged)
    return verdict


def complete(exercise: Exercise, answer: Path, student: str) -> Verdict:
    """Judges what can be judged without the right numbers: whether all lines are there."""
    found, drawn = read(answer), given(exercise, student)
    if drawn not in lines(answer):
        return refused(exercise, Fault("wrong", f"these are not the numbers of {student}: the line with the given numbers must contain {drawn}"))
    verdict = Verdict(exercise)
    asked = json.loads((exercise.folder / "numbers.json").read_text())["lines"]
    for criterion in exercise.criteria:
        line = asked[criterion.name]
        later = Fault("later", "every line has a number; they will be judged when you have handed them in")
        fault = unreadable(line, found, drawn) or later
        verdict.criteria.append(Judged(criterion.name, criterion.points, 0, fault))
    return verdict


def compare(case: Case, found: dict[str, str], drawn: str) -> Fault | None:
    """What is wrong with the number; None if it is right."""
    if fault := unreadable(case.call, found, drawn):
        return fault
    got, expected = number(found[case.call]), case.results[0].number
    if abs(got - expected) <= case.tolerance * abs(expected):
        return None
    causes = [m.says for m in case.mistakes if abs(got - m.results[0].number) <= 1e-9 * abs(got)]
    pattern = "" if causes else off_by(got, expected)
    return Fault("wrong", f"{case.call} is not {got:.15g}", tuple(causes), pattern=pattern, about=drawn)


def off_by(got: float, expected: float) -> str:
    """The factor between two numbers, if it is whole and so says more than that they differ."""
    for large, small, said in ((got, expected, ""), (expected, got, "1/")):
        factor = large / small if small else 0.0
        if 0 < abs(factor) <= LARGEST_FACTOR and abs(factor - round(factor)) < 1e-9:
            return f"off by a factor {said}{factor:.0f}" if abs(round(factor)) > 1 else "it has the wrong sign"
    return ""
