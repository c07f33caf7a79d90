"""Reads the text that a student has saved, and writes files whole or not at all."""

from __future__ import annotations

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
