"""Reads what a student has saved: a text, and whose it is, in one form of the name. And writes files whole or not at all."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import unicodedata
from pathlib import Path

from .exercise import ROOT, Mistaken

DEALT = ROOT / "dealt.json"  # in a hand-out for a class: whose turn is which, by what `dealt_to` makes of the names


# What browsers and systems add to a name that is taken: `a (1).cpp`, `a-1.cpp`, `a - Copy.cpp`, `a copy 2.cpp`
SECOND = r"(?: ?\(\d+\)|[-_ ]\d+| - copy| copy(?: \d+)?)?"


def pattern_of(name: str) -> re.Pattern[str]:
    """The names that a file may have got on its way."""
    stem, dot, suffix = name.rpartition(".")
    return re.compile(re.escape(stem) + SECOND + re.escape(dot + suffix) + SECOND + r"(?:\.txt)?", re.IGNORECASE)


class NoText(Mistaken):
    """Says why a file cannot be read as text."""


def text_of(file: Path) -> str:
    """The text in a file, without the mark that some editors write before it.

    :raises NoText: if it has zero bytes, as UTF-16 has
    """
    if b"\0" in (content := file.read_bytes()):
        raise NoText(f"{file.name} has zero bytes, so it is no text, or text in UTF-16: save it as UTF-8")
    return content.decode("utf-8-sig", errors="replace")


class Dealt(str):
    """The name of a student in a class with a roster. What is personal is dealt to the students in turn, so that as few as
    possible share it; for any other name it is drawn from the name."""

    turn: int

    @classmethod
    def to(cls, name: str, turn: int) -> Dealt:
        """This student in this turn."""
        student = cls(name)
        student.turn = turn
        return student


def letters(name: str) -> str:
    """A name without what platforms leave out of file names, and people out of names: capitals, spaces, apostrophes."""
    return "".join(c for c in unicodedata.normalize("NFC", name).casefold() if c.isalnum())


def dealt_to(name: str) -> str:
    """What stands for a name in a hand-out, which does not list the class."""
    return hashlib.sha256(letters(name).encode()).hexdigest()[:16]


def in_class(name: str) -> str:
    """The student with this name, with the turn in a hand-out for a class.

    :raises Mistaken: if that class has no such student
    """
    if not name or not DEALT.is_file():
        return name
    turn = json.loads(DEALT.read_text()).get(dealt_to(name))
    if turn is None:
        there = "answers/student.txt, as your instructor has it"
        raise Mistaken(f"nobody in your class is {name!r}: write your name, email or login into {there}")
    return Dealt.to(name, turn)


def student_of(answers: Path) -> str:
    """The student for whom numbers are drawn: the name in student.txt, if there is one.

    :raises NoText: if it is no text
    """
    file = answers / "student.txt"
    return in_class(known_as(text_of(file)) if file.is_file() else "") or "reader"


def student_in(content: bytes) -> str:
    """The name in a student.txt that was handed in; empty if it is no text."""
    return "" if b"\0" in content else known_as(content.decode("utf-8-sig", errors="replace"))


def known_as(name: str) -> str:
    """One form of a name, however a system or an editor writes its spaces and its accented letters, which may be one
    character or two. Upper and lower case stay as they are, because Anna and anna may be two students."""
    return " ".join(unicodedata.normalize("NFC", name).split())[:200]


def typed(name: str) -> str:
    """The argument of --student, as student.txt would have it."""
    try:
        return in_class(student_in(os.fsencode(name)))
    except Mistaken as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def write(path: Path, content: str | bytes) -> None:
    """Writes the whole file or nothing, so a full disk leaves the previous file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_bytes(content if isinstance(content, bytes) else content.encode(errors="replace"))
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
