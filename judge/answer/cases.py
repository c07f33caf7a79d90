"""The cases that an exercise's cases.cpp draws."""

from __future__ import annotations

import re
import struct
import subprocess
from dataclasses import dataclass

from .exercise import IN_HANDOUT, Exercise
from .setting import BUILD, Failed
from .values import Value, decode


@dataclass(frozen=True)
class Mistake:
    """A common wrong answer, and what to say about it."""

    says: str
    results: list[Value]


@dataclass(frozen=True)
class Case:
    """One call to the reader's function; see judge/answer/cases.hpp."""

    criterion: str
    call: str
    about: str
    tolerance: float
    arguments: list[Value]
    results: list[Value]
    names: list[str]
    constants: dict[str, float]
    mistakes: list[Mistake]

    @property
    def shown(self) -> str:
        """`about` for people: `table [10, 3], factor 2` becomes `table of shape [10, 3], factor 2`."""
        said = self.about
        for name, argument in zip(self.names, self.arguments, strict=False):
            sizes = re.escape(str(list(argument.shape)))
            said = re.sub(rf"\b({re.escape(name)}) ({sizes})", r"\1 of shape \2", said)
        return said

    def name_of(self, result: int) -> str:
        """`dz`, or `the result`."""
        at = len(self.arguments) + result
        return self.names[at] if at < len(self.names) else "the result"


def draw(exercise: Exercise, seed: int) -> list[Case]:
    """The cases of this seed.

    :raises Failed: if the exercise's own answer is wrong, or a criterion has no case
    """
    if IN_HANDOUT:
        return parse(exercise, (exercise.folder / "cases.bin").read_bytes())
    return parse(exercise, draw_raw(exercise, seed))


def given(exercise: Exercise, seed: int) -> str:
    """The arguments that are drawn, without the right results: `B = 3, L = 17`."""
    values = decode(run(exercise, "--seed", str(seed), "--given")[8:])
    half = len(values) // 2
    return ", ".join(f"{n.text} = {v.number:g}" for v, n in zip(values[:half], values[half:], strict=True))


def draw_raw(exercise: Exercise, seed: int) -> bytes:
    """The output of cases.cpp.

    :raises Failed: if the exercise's own answer is wrong
    """
    return run(exercise, "--seed", str(seed))


def run(exercise: Exercise, *options: str) -> bytes:
    """The output of the program that draws cases.

    :raises Failed: if it fails
    """
    program = BUILD / "judge" / f"cases_{exercise.number.replace('.', '_')}"
    if not program.is_file():
        raise Failed(f"{exercise.number}: its cases are not built")
    done = subprocess.run([program, *options], capture_output=True, check=False)
    if done.returncode < 0:
        raise Failed(f"{exercise.number}: drawing its cases was ended by signal {-done.returncode}")
    if done.returncode != 0:
        raise Failed(f"{exercise.number}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def parse(exercise: Exercise, raw: bytes) -> list[Case]:
    """The cases in the output of cases.cpp, or in a hand-out's cases.bin."""
    at, cases = 0, []
    while at < len(raw):
        (size,) = struct.unpack_from("<Q", raw, at)
        cases.append(_case(decode(raw[at + 8 : at + 8 + size])))
        at += 8 + size
    covered, wanted = {c.criterion for c in cases}, {c.name for c in exercise.criteria}
    if covered != wanted:
        raise Failed(f"{exercise.number}: criteria {sorted(wanted)}, but cases for {sorted(covered)}")
    return cases


def _case(values: list[Value]) -> Case:
    take = iter(values)

    def texts(n: int) -> list[str]:
        return [next(take).text for _ in range(n)]

    def several(n: int) -> list[Value]:
        return [next(take) for _ in range(n)]

    criterion, call, about = texts(3)
    tolerance = next(take).number
    n_arguments, n_results, n_names, n_constants, n_mistakes = (int(v.number) for v in several(5))
    arguments, results = several(n_arguments), several(n_results)
    names = texts(n_names)
    constants = {next(take).text: next(take).number for _ in range(n_constants)}
    mistakes = [Mistake(next(take).text, several(n_results)) for _ in range(n_mistakes)]
    return Case(criterion, call, about, tolerance, arguments, results, names, constants, mistakes)
