"""Judges answers that are numbers: predictions and ablations. Nothing of them is run."""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path

from . import cases as draws
from .cases import Case
from .exercise import Exercise
from .verdict import Fault, Judged, Verdict

LONGEST = 64 * 1024


def seed_of(student: str) -> int:
    """The numbers of one student, the same each time."""
    return int.from_bytes(hashlib.sha256(student.encode()).digest()[:7], "little")


def given(cases: list[Case]) -> str:
    """What is drawn for this student: `B = 3, L = 17`."""
    return ", ".join(f"{n} = {v.number:g}" for n, v in zip(cases[0].names, cases[0].arguments, strict=False))


def read(answer: Path) -> dict[str, float]:
    """The lines `name = number`; digits may be grouped by _ or a space, a power be written 1e6."""
    numbers = {}
    for line in answer.read_text(errors="replace")[:LONGEST].splitlines():
        match = re.fullmatch(r"\s*([a-z_0-9]+)\s*=\s*([-+0-9._ e]+?)\s*(#.*)?", line, re.IGNORECASE)
        if match:
            try:
                numbers[match[1]] = float(re.sub(r"[ _]", "", match[2]))
            except ValueError:
                numbers[match[1]] = math.nan
    return numbers


def judge_numbers(exercise: Exercise, answer: Path, student: str) -> Verdict:
    """Each criterion asks for one number, under the name that `Case.call` has."""
    cases = draws.draw(exercise, seed_of(student))
    numbers = read(answer)
    verdict = Verdict(exercise)
    for criterion in exercise.criteria:
        judged = Judged(criterion.name, criterion.points, 0)
        for case in (c for c in cases if c.criterion == criterion.name):
            judged.cases += 1
            judged.fault = judged.fault or compare(case, numbers, given(cases))
        verdict.criteria.append(judged)
    return verdict


def compare(case: Case, numbers: dict[str, float], drawn: str) -> Fault | None:
    """None if the number is right."""
    if case.call not in numbers:
        return Fault("missing", f"there is no line '{case.call} = NUMBER'", about=drawn)
    got, expected = numbers[case.call], case.results[0].number
    if abs(got - expected) <= case.tolerance * abs(expected):
        return None
    causes = [m.says for m in case.mistakes if abs(got - m.results[0].number) <= 1e-9 * abs(got)]
    if not causes and expected and got and math.isfinite(got):
        ratio = got / expected
        causes = [f"off by a factor {ratio:.4g}" if ratio >= 1 else f"off by a factor 1/{1 / ratio:.4g}"]
    return Fault("wrong", f"{case.call} is not {got:.15g}", tuple(causes), drawn)
