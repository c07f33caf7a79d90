"""Whose an answer is: a name in one form, however it was written."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

from .written import text_of


def student_of(answers: Path) -> str:
    """The student for whom numbers are drawn: the name in student.txt, if there is one.

    :raises NoText: if it is no text
    """
    file = answers / "student.txt"
    return (known_as(text_of(file)) if file.is_file() else "") or "reader"


def student_in(content: bytes) -> str:
    """The name in a student.txt that was handed in; empty if it is no text."""
    return "" if b"\0" in content else known_as(content.decode("utf-8-sig", errors="replace"))


def known_as(name: str) -> str:
    """One form of a name, however a system or an editor writes its spaces and its accented letters, which may be one
    character or two. Upper and lower case stay as they are, because Anna and anna may be two students."""
    return " ".join(unicodedata.normalize("NFC", name).split())[:200]


def typed(name: str) -> str:
    """The argument of --student, as student.txt would have it."""
    return student_in(os.fsencode(name))
