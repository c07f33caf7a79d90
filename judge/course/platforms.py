"""A student's results in the formats of learning platforms.

All formats are made from one description: `{"student": NAME, "notes": [TEXT, ...], "verdicts": [RESULT, ...]}`, where
`report.to_dict` says what a RESULT holds.
"""

from __future__ import annotations

import argparse
import csv
import html
import io
import re
import textwrap
import unicodedata
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.report import feedback
from ..answer.written import MARKS, as_utf8


def moment(text: str) -> datetime:
    """A date, or a date and time, of this machine's time zone unless it names another.

    :raises ValueError: if it is none
    """
    return datetime.fromisoformat(text).astimezone()


def date(text: str) -> str:
    """The argument of --release, with this machine's time zone, so that it means the same elsewhere."""
    try:
        return moment(text).isoformat()
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date: write 2027-02-01, or 2027-02-01T18:00") from error


def until(release: datetime | None, student: dict) -> dict:
    """What a student may see of the results: before their release only points, and when there will be more."""
    if release is None or datetime.now().astimezone() >= release:
        return student
    notes = [*student["notes"], f"what was wrong will be shown from {release:%Y-%m-%d %H:%M %Z} on"]
    return {**student, "notes": notes, "verdicts": [points_only(v) for v in student["verdicts"]]}


def points_only(result: dict) -> dict:
    """A result without anything that helps to find a mistake."""
    if result["reason"] == "later":
        return result
    nothing = {"text": "", "case": "", "causes": [], "ratio": 0.0}
    criteria = [{**c, **nothing, "reason": "ok" if c["points"] == c["of"] else "wrong"} for c in result["criteria"]]
    return {**result, "reason": "", "problem": None, "criteria": criteria, "printed": ""}


def total(student: dict) -> tuple[int, int]:
    """A student's points, and how many there are to get. What a hand-out cannot judge counts for nothing."""
    judged = [v for v in student["verdicts"] if v["reason"] != "later"]
    return sum(v["points"] for v in judged), sum(v["of"] for v in judged)


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
            "tags": [v["kind"], *filter(None, [v["reason"]])],
        }
        for v in student["verdicts"]
    ]
    return {"score": total(student)[0], "output": "\n".join(student["notes"]), "tests": tests}


def classroom50(student: dict, job: Mapping[str, str]) -> dict:
    """The result.json of Classroom 50: https://github.com/foundation50/classroom50/wiki/Advanced-Autograding

    :param job: the environment that its runner gives an autograder
    """
    later = {v["number"] for v in student["verdicts"] if v["reason"] == "later"}
    tests = [
        {
            "test-name": f"{v['number']} {v['title']}",
            "passed": v["points"] == v["of"] or v["number"] in later,
            "score": v["points"],
            "max-score": 0 if v["number"] in later else v["of"],
            "output": feedback(v),
        }
        for v in student["verdicts"]
    ]
    points, most = total(student)
    return {
        "schema": "classroom50/result/v1",
        "classroom": job["CLASSROOM"],
        "assignment": job["ASSIGNMENT"],
        "submission": job["SUBMISSION_TAG"],
        "commit": job["COMMIT_URL"],
        "release": job["RELEASE_URL"],
        "review": job.get("REVIEW_URL") or job["COMMIT_URL"],
        "datetime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),  # the runner writes that of the commit
        "score": points,
        "max-score": most,
        "tests": tests,
    }


def release_body(student: dict) -> str:
    """The text of the release that Classroom 50 makes of a submission. Indented, it is no markup, whatever a program printed."""
    return f"### {' of '.join(map(str, total(student)))} points\n\n{textwrap.indent(text(student), '    ')}"


NEEDED = ("Identifier", "Grade", "Maximum grade")  # columns of a worksheet
LONGEST_CELL = 1 << 24  # a comment may hold what many programs printed


@dataclass(frozen=True)
class Worksheet:
    """Moodle's grading worksheet, in whose form it is filled in."""

    rows: list[list[str]]
    delimiter: str
    line_end: str
    mark: str  # at its beginning

    @property
    def at(self) -> dict[str, int]:
        """The place of each column, by its name in small letters, because the capitals differ between versions of Moodle."""
        return {name.strip().casefold(): i for i, name in enumerate(self.rows[0] if self.rows else [])}

    def cells(self, row: list[str]) -> dict[str, str]:
        """A row, by column; what it lacks at its end is empty."""
        return {name: row[i] if i < len(row) else "" for name, i in self.at.items()}


def worksheet(file: Path) -> Worksheet:
    """Reads a worksheet as Moodle or an office program writes it, with commas, semicolons or tabs.

    :raises Mistaken: if grades cannot be filled in
    """
    content = file.read_bytes()
    try:
        table = as_utf8(content).decode()
        head = table.partition("\n")[0]
        csv.field_size_limit(LONGEST_CELL)
        delimiter = max(",;\t", key=head.count)
        rows = list(csv.reader(io.StringIO(table, newline=""), delimiter=delimiter))
    except UnicodeDecodeError as error:
        raise Mistaken(f"{file} is neither in UTF-8, as Moodle writes it, nor in UTF-16: save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise Mistaken(f"{file} cannot be read as CSV: {error}") from error
    sheet = Worksheet(rows, delimiter, "\r\n" if head.endswith("\r") else "\n", "\ufeff" * content.startswith(tuple(MARKS)))
    if missing := [name for name in NEEDED if name.casefold() not in sheet.at]:
        raise Mistaken(f"{file} is no grading worksheet of an English Moodle: it has no column {' and no column '.join(missing)}")
    for cell in (sheet.cells(row) for row in rows[1:] if any(row)):
        if not maximum(cell):
            what = f"the maximum grade of {cell['identifier']} is {cell['maximum grade']!r}"
            raise Mistaken(f"{file}: {what}, which is no number above 0, so points cannot be scaled to it: grade the assignment in points")
    return sheet


def maximum(cell: dict[str, str]) -> float:
    """The grade for all points; 0 if there is none."""
    found = re.fullmatch(r"(\d+)[.,]?(\d*)", cell["maximum grade"].strip())
    return float(f"{found[1]}.{found[2]}") if found else 0.0


def moodle(sheet: Worksheet, students: list[dict]) -> tuple[str, dict[str, str], list[str]]:
    """Fills in a grading worksheet, and leaves everything but grades and comments as it is.

    :return: the worksheet, the feedback files by the path that Moodle expects in a zip, and what was left out, for people
    """
    rows, at = [list(row) for row in sheet.rows], sheet.at
    left, files, notes = {s["student"]: s for s in students}, {}, []
    for row in rows[1:]:
        cell = sheet.cells(row)
        student = student_of(cell, left)
        if student is None:
            continue
        if cell.get("grade can be changed", "Yes") != "Yes":
            notes.append(f"{student['student']} is left out: the worksheet says that the grade cannot be changed")
            continue
        row += [""] * (len(rows[0]) - len(row))
        points, most = total(student)
        row[at["grade"]] = f"{points / max(most, 1) * maximum(cell):.2f}"
        if "feedback comments" in at:
            row[at["feedback comments"]] = f"<pre>{html.escape(text(student))}</pre>"  # Moodle takes it for HTML
        name = cell.get("full name", "Participant").replace("_", " ")
        files[f"{name}_{number_in(cell['identifier'])}_assignsubmission_file_/feedback.txt"] = text(student)
    notes += [f"{name} is not in the worksheet" for name in left]
    filled = io.StringIO(newline="")
    csv.writer(filled, delimiter=sheet.delimiter, lineterminator=sheet.line_end).writerows(rows)
    return sheet.mark + filled.getvalue(), files, notes


def student_of(cell: dict[str, str], left: dict[str, dict]) -> dict | None:
    """The student of a row, who is taken out of those left: by number and name in an export, else by email or name."""
    name, number = cell.get("full name", ""), number_in(cell["identifier"])
    for known in left:
        exported = re.fullmatch(r"(.+)_(\d+)", known)
        if exported and exported[2] == number and (letters(exported[1]) == letters(name) or not name):
            return left.pop(known)
    return next((left.pop(k) for k in (cell.get("email address", ""), name) if k and k in left), None)


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
