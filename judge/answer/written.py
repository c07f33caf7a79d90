"""Text, whichever editor has saved it: with a byte order mark, in UTF-16, or with another system's line ends. And files that are
written whole, or not at all."""

from __future__ import annotations

import codecs
import re
import unicodedata
from pathlib import Path

from .exercise import Mistaken

MARKS = {  # UTF-32's first, because one of UTF-16's is its beginning
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
NO_WIDTH = "Cf"  # the category of characters that nobody sees


class NoText(Mistaken):
    """Says why a file cannot be read as text."""


def as_utf8(content: bytes) -> bytes:
    """The text in UTF-8 without a mark, if its mark says what it is in; a lone CR ends a line, as on old Macs."""
    for mark, encoding in MARKS.items():
        if content.startswith(mark):
            content = content.decode(encoding, errors="replace").encode()
            break
    return re.sub(rb"\r(?!\n)", b"\n", content)


def utf8_of(file: Path) -> bytes:
    """The text in a file.

    :raises NoText: if it has zero bytes
    """
    text = as_utf8(file.read_bytes())
    if b"\0" in text:
        raise NoText(f"{file.name} has zero bytes, so it is no text, or text in UTF-16 that does not say so: save it as UTF-8")
    return text


def text_of(file: Path) -> str:
    """The text in a file; see `utf8_of`."""
    return utf8_of(file).decode(errors="replace")


def compilable(file: Path, folder: Path) -> Path:
    """The file, or a copy in this folder if a compiler could not read it as it is; see `utf8_of`."""
    if (text := utf8_of(file)) == file.read_bytes():
        return file
    copy = folder / file.name
    copy.write_bytes(text)
    copy.chmod(0o644)  # for the sandbox's user
    return copy


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


def narrow(text: str) -> str:
    """The text with the usual characters in place of full-width ones and of other signs for minus, and without what nobody sees."""
    seen = (c for c in text if unicodedata.category(c) != NO_WIDTH)
    usual = (unicodedata.normalize("NFKC", c) if unicodedata.decomposition(c).startswith("<wide>") else c for c in seen)
    return "".join(usual).replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
