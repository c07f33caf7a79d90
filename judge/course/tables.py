"""Tables of comma-separated values, as learning platforms and office programs write them."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..answer.exercise import Mistaken

MARK = "\ufeff"  # of UTF-8, at the beginning of a file
LONGEST_CELL = 1 << 24  # a comment may hold what many programs printed


@dataclass(frozen=True)
class Table:
    """A table. Its columns are named in small letters in the rows, because programs differ in the capitals."""

    columns: list[str]  # as they are written
    rows: list[dict[str, str]]
    lines: list[int]  # of the file, where each row ends
    delimiter: str
    mark: str  # at its beginning


def read(file: Path) -> Table:
    """Reads a table with commas, semicolons or tabs.

    :raises Mistaken: if it is none
    """
    csv.field_size_limit(LONGEST_CELL)
    try:
        text = file.read_bytes().decode("utf-8")
        mark = MARK if text.startswith(MARK) else ""
        text = text.removeprefix(MARK)
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        columns = next(reader, [])
        rows = [(reader.line_num, row) for row in reader if any(row)]
    except OSError as error:
        raise Mistaken(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Mistaken(f"{file} is not in UTF-8: save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise Mistaken(f"{file} cannot be read as CSV: {error}") from error
    names = [name.strip().casefold() for name in columns]
    return Table(
        columns,
        [dict(itertools.zip_longest(names, row[: len(names)], fillvalue="")) for _, row in rows],
        [line for line, _ in rows],
        delimiter,
        mark,
    )


def written(rows: Iterable[list]) -> bytes:
    """The rows of a CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue().encode(errors="replace")


def safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if cell.startswith(("=", "+", "-", "@", "\t")) else cell


def number(text: str) -> float | None:
    """A number, with a point or a comma; None if it is none."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None
