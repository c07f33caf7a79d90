"""Reads what a student has saved: a text, and whose it is, in one form of the name. And writes files whole or not at all."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

from .exercise import Mistaken


class NoText(Mistaken):
    """Says why a file cannot be read as text."""


def text_of(file: Path) -> str:
    """The text in a file, without the mark that some editors write before it.

    :raises NoText: if it has zero bytes, as UTF-16 has
    """
    if b"\0" in (content := file.read_bytes()):
        raise NoText(f"{file.name} has zero bytes, so it is no text, or text in UTF-16: save it as UTF-8")
    return content.decode("utf-8-sig", errors="replace")


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
