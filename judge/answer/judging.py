"""Judges an answer of any kind."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from . import cases as draws
from .compile import compile_answer, why_not_compiled
from .exercise import COMPUTED, Exercise
from .predict import judge_numbers
from .setting import Failed
from .verdict import Fault, Verdict, judge, refused
from .written import NoText, text_of


def judge_answer(
    exercise: Exercise, answer: Path, *, tight: bool, seed: int | None = None, student: str = "", timed: bool = True
) -> Verdict:
    """Compiles an answer, draws its cases and judges it.

    :param timed: whether speeds count, too
    """
    try:
        if exercise.judge:
            return exercise.judge(exercise, answer, tight=tight, student=student)
        if exercise.kind not in COMPUTED:
            return judge_numbers(exercise, answer, student)
        return judge_function(exercise, answer, tight=tight, seed=seed, timed=timed)
    except NoText as reason:
        return refused(exercise, Fault("missing", str(reason)))


def judge_function(exercise: Exercise, answer: Path, *, tight: bool, seed: int | None, timed: bool) -> Verdict:
    """Judges an answer that is a function; see `judge_answer`."""
    with tempfile.TemporaryDirectory(prefix="judge_") as folder:
        program = Path(folder) / "answer"
        Path(folder).chmod(0o755)
        text_of(answer)  # :raises NoText: which a compiler would say less clearly
        outcome = compile_answer(exercise, answer, program, tight=tight)
        if outcome.reason != "ok":
            return refused(exercise, Fault("compile", why_not_compiled(outcome.reason, outcome.printed, eigen=exercise.eigen)))
        plain = Path(folder) / "plain" if exercise.faster and timed else None
        if plain and compile_answer(exercise, exercise.folder / "plain.cpp", plain, tight=tight).reason != "ok":
            raise Failed(f"{exercise.number}: plain.cpp does not compile")
        cases = draws.draw(exercise, secrets.randbits(63) if seed is None else seed)
        return judge(exercise, program, cases, tight=tight, plain=plain)
