"""A student's results in the formats of learning platforms.

All formats are made from one description: `{"student": NAME, "notes": [TEXT, ...], "verdicts": [RESULT, ...]}`, where
`report.to_dict` says what a RESULT holds.
"""

from __future__ import annotations

import csv
import html
import io
import itertools
import re
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.report import feedback

MARK = "\ufeff"  # of UTF-8, at the beginning of a file


def total(student: dict) -> tuple[int, int]:
    """A student's points, and how many there are to get."""
    return sum(v["points"] for v in student["verdicts"]), sum(v["of"] for v in student["verdicts"])


def text(student: dict) -> str:
    """All results for people."""
    return "\n\n".join([*map(feedback, student["verdicts"]), *student["notes"]]) + "\n"


def gradescope(student: dict) -> dict:
    """Gradescope's results.json: https://gradescope-autograders.readthedocs.io/en/latest/specs/"""
    tests = [
        {
            "name": f"{v['number']} {v['title']}",
            "number": v["number"],
            "score": v["points"],
            "max_score": v["of"],
            "status": "passed" if v["points"] == v["of"] else "failed",
            "output": feedback(v),
            "output_format": "text",
            "visibility": "visible",
            "tags": [v["kind"], v["reason"]],
        }
        for v in student["verdicts"]
    ]
    return {"score": total(student)[0], "output": "\n".join(student["notes"]), "tests": tests}


NEEDED = ("identifier", "grade", "maximum grade")  # columns of a worksheet
LONGEST_CELL = 1 << 24  # a comment may hold what many programs printed


@dataclass(frozen=True)
class Worksheet:
    """Moodle's grading worksheet. Its columns are named in small letters here, because the capitals differ between versions of Moodle."""

    columns: list[str]  # as they are written
    rows: list[dict[str, str]]
    delimiter: str
    mark: str  # at its beginning


def worksheet(file: Path) -> Worksheet:
    """Reads a worksheet as Moodle or an office program writes it, with commas, semicolons or tabs.

    :raises Mistaken: if grades cannot be filled in
    """
    csv.field_size_limit(LONGEST_CELL)
    try:
        table = file.read_bytes().decode("utf-8")
        mark = MARK if table.startswith(MARK) else ""
        table = table.removeprefix(MARK)
        delimiter = max(",;\t", key=table.partition("\n")[0].count)
        columns, *rows = list(csv.reader(io.StringIO(table, newline=""), delimiter=delimiter)) or [[]]
    except UnicodeDecodeError as error:
        raise Mistaken(f"{file} is not in UTF-8, as Moodle writes it: save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise Mistaken(f"{file} cannot be read as CSV: {error}") from error
    names = [name.strip().casefold() for name in columns]
    if missing := [name.capitalize() for name in NEEDED if name not in names]:
        raise Mistaken(f"{file} is no grading worksheet of an English Moodle: it has no column {' and no column '.join(missing)}")
    sheet = Worksheet(columns, [dict(itertools.zip_longest(names, row[: len(names)], fillvalue="")) for row in rows if any(row)], delimiter, mark)
    for row in sheet.rows:
        if not maximum(row):
            what = f"the maximum grade of {row['identifier']} is {row['maximum grade']!r}"
            raise Mistaken(f"{file}: {what}, which is no number above 0, so points cannot be scaled to it: grade the assignment in points")
    return sheet


def maximum(row: dict[str, str]) -> float:
    """The grade for all points; 0 if there is none."""
    found = re.fullmatch(r"(\d+)[.,]?(\d*)", row["maximum grade"].strip())
    return float(f"{found[1]}.{found[2]}") if found else 0.0


def moodle(sheet: Worksheet, students: list[dict]) -> tuple[str, dict[str, str], list[str]]:
    """Fills in a grading worksheet, and leaves everything but grades and comments as it is.

    :return: the worksheet, the feedback files by the path that Moodle expects in a zip, and what was left out, for people
    """
    left, files, notes = {s["student"]: s for s in students}, {}, []
    filled = io.StringIO(newline="")
    writer = csv.writer(filled, delimiter=sheet.delimiter)
    writer.writerow(sheet.columns)
    for row in map(dict, sheet.rows):
        student = student_of(row, left)
        if student and row.get("grade can be changed", "Yes") != "Yes":
            notes.append(f"{student['student']} is left out: the worksheet says that the grade cannot be changed")
        elif student:
            points, most = total(student)
            row["grade"] = f"{points / max(most, 1) * maximum(row):.2f}"
            if "feedback comments" in row:
                row["feedback comments"] = f"<pre>{html.escape(text(student))}</pre>"  # Moodle takes it for HTML
            name = row.get("full name", "Participant").replace("_", " ")
            files[f"{name}_{number_in(row['identifier'])}_assignsubmission_file_/feedback.txt"] = text(student)
        writer.writerow(row.values())
    notes += [f"{name} is not in the worksheet" for name in left]
    return sheet.mark + filled.getvalue(), files, notes


def student_of(row: dict[str, str], left: dict[str, dict]) -> dict | None:
    """The student of a row, who is taken out of those left: by number and name in an export, else by email or name."""
    name, number = row.get("full name", ""), number_in(row["identifier"])
    for known in left:
        exported = re.fullmatch(r"(.+)_(\d+)", known)
        if exported and exported[2] == number and (letters(exported[1]) == letters(name) or not name):
            return left.pop(known)
    return next((left.pop(k) for k in (row.get("email address", ""), name) if k and k in left), None)


def number_in(identifier: str) -> str:
    """`1234567` of `Participant 1234567`"""
    return re.sub(r"\D", "", identifier)


def letters(name: str) -> str:
    """A name without the characters that Moodle leaves out of file names."""
    return "".join(c for c in unicodedata.normalize("NFC", name).casefold() if c.isalnum())


def zipped(files: dict[str, str]) -> bytes:
    """A zip of these texts."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files.items()):
            archive.writestr(path, content)
    return raw.getvalue()
