"""Lines of solutions that have got into what students get."""

from __future__ import annotations

import re
from pathlib import Path

from ..answer.exercise import Exercise
from .pack import beaten, pages

LONGEST_SHARED = 24  # characters: a shorter line of a solution, such as a brace, may occur anywhere
HEAD = re.compile(r"(for|if|while) \(.*\)( \{)?")


def squeezed(text: str) -> list[str]:
    """The lines of a text, with runs of spaces reduced to one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def given(exercise: Exercise) -> dict[str, str]:
    """The texts of an exercise that students get, by name."""
    found = {"statement.md": pages(exercise), f"stub{exercise.source.suffix}": exercise.stub()}
    return found | ({"plain.cpp": beaten(exercise)} if exercise.faster else {})


def leaks(exercises: list[Exercise], texts: dict[str, str]) -> list[str]:
    """Lines of solutions that occur in these texts. Lines that a stub, a statement or the plain way shows anyway do not
    count, nor does the head of a loop or a branch, which gives nothing away by itself."""
    shown = {line for e in exercises for line in squeezed("\n".join((e.stub(), pages(e), beaten(e))))}
    secret = {
        line: e.number
        for e in exercises
        for line in squeezed("\n".join(e.solution_lines()))
        if len(line) >= LONGEST_SHARED and line not in shown and not HEAD.fullmatch(line)
    }
    return [
        f"{name}:{i} has a line of {secret[line]}'s solution: {line}"
        for name, text in texts.items()
        for i, line in enumerate(squeezed(text), 1)
        if line in secret
    ]


def scan(exercises: list[Exercise], out: Path) -> list[str]:
    """Lines of solutions that have got into the pack."""
    files = sorted(p for p in out.rglob("*") if p.is_file())
    return leaks(exercises, {str(p.relative_to(out)): p.read_text(errors="replace") for p in files})
