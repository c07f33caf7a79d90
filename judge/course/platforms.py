"""A student's results in the formats of learning platforms.

All formats are made from one description: `{"student": NAME, "notes": [TEXT, ...], "verdicts": [RESULT, ...]}`, where
`report.to_dict` says what a RESULT holds.
"""

from __future__ import annotations

import csv
import html
import io
import re
import zipfile
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.report import feedback
from ..answer.written import letters
from . import tables
from .tables import Table


def total(student: dict) -> tuple[float, int]:
    """A student's points, less what is taken for being late, and how many there are to get."""
    verdicts = student["verdicts"]
    return sum(v["points"] for v in verdicts) - student.get("taken", 0), sum(v["of"] for v in verdicts)


def text(student: dict) -> str:
    """All results for people."""
    points, most = total(student)
    head = f"{points:g} of {most:g} points"
    if student.get("taken"):
        days = student["late"]
        head += f", after {student['taken']:g} were taken for being {days} day{'s' * (days > 1)} late"
    return "\n\n".join([head, *map(of_exercise, student["verdicts"]), *student["notes"]]) + "\n"


def of_exercise(verdict: dict) -> str:
    """A result, with the comment on points that were given by hand."""
    comment = verdict.get("by hand")
    by_hand = "" if comment is None else f"\n  The points were given by hand{': ' if comment else '.'}{comment}"
    return feedback(verdict) + by_hand


def gradescope(student: dict) -> dict:
    """Gradescope's results.json: https://gradescope-autograders.readthedocs.io/en/latest/specs/"""
    tests = [
        {
            "name": f"{v['number']} {v['title']}",
            "number": v["number"],
            "score": v["points"],
            "max_score": v["of"],
            "status": "passed" if v["points"] == v["of"] else "failed",
            "output": of_exercise(v),
            "output_format": "text",
            "visibility": "visible",
            "tags": [v["kind"], v["reason"]],
        }
        for v in student["verdicts"]
    ]
    return {"score": total(student)[0], "output": "\n".join(student["notes"]), "tests": tests}


NEEDED = ("identifier", "grade", "maximum grade")  # columns of a worksheet


def worksheet(file: Path) -> Table:
    """Reads Moodle's grading worksheet.

    :raises Mistaken: if grades cannot be filled in
    """
    sheet = tables.read(file)
    names = [name.strip().casefold() for name in sheet.columns]
    if missing := [name.capitalize() for name in NEEDED if name not in names]:
        raise Mistaken(f"{file} is no grading worksheet of an English Moodle: it has no column {' and no column '.join(missing)}")
    for row in sheet.rows:
        if not maximum(row):
            what = f"the maximum grade of {row['identifier']} is {row['maximum grade']!r}"
            raise Mistaken(f"{file}: {what}, which is no number above 0, so points cannot be scaled to it: grade the assignment in points")
    return sheet


def maximum(row: dict[str, str]) -> float:
    """The grade for all points; 0 if there is none."""
    found = re.fullmatch(r"(\d+)[.,]?(\d*)", row["maximum grade"].strip())
    return float(f"{found[1]}.{found[2]}") if found else 0.0


def emails(sheet: Table) -> dict[str, str]:
    """The emails of participants, by their numbers, in case that two have one name."""
    found = {number_in(row["identifier"]): row.get("email address", "").strip() for row in sheet.rows}
    return {number: email for number, email in found.items() if email}


def owners(sheet: Table, students: list[dict]) -> dict[str, int]:
    """In which row of the worksheet each student is: by number and name in an export, else by an email or a name that only
    one row has."""
    places: dict[str, list[int]] = {}
    for i, row in enumerate(sheet.rows):
        exported = (letters(row.get("full name", "")), number_in(row["identifier"]))
        for key in {exported, letters(row.get("email address", "")), letters(row.get("full name", ""))} - {""}:
            places.setdefault(key, []).append(i)
    found: dict[str, int] = {}
    for student in students:
        exported = re.fullmatch(r"(.+)_(\d+)", student["student"])
        keys = [(letters(exported[1]), exported[2]), ("", exported[2])] if exported else []
        keys += [letters(student.get(name) or "") for name in ("email", "student", "name")]
        row = next((places[key][0] for key in keys if len(places.get(key, ())) == 1), None)
        if row is not None and row not in found.values():
            found[student["student"]] = row
    return found


def moodle(sheet: Table, students: list[dict]) -> tuple[str, dict[str, str], list[str]]:
    """Fills in a grading worksheet, and leaves everything but grades and comments as it is.

    :return: the worksheet, the feedback files by the path that Moodle expects in a zip, and what was left out, for people
    """
    rows = owners(sheet, students)
    of_row = {rows[s["student"]]: s for s in students if s["student"] in rows}
    files, notes = {}, []
    filled = io.StringIO(newline="")
    writer = csv.writer(filled, delimiter=sheet.delimiter)
    writer.writerow(sheet.columns)
    for i, row in enumerate(map(dict, sheet.rows)):
        student = of_row.get(i)
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
    notes += [f"{s['student']} is not in the worksheet" for s in students if s["student"] not in rows]
    return sheet.mark + filled.getvalue(), files, notes


def number_in(identifier: str) -> str:
    """`1234567` of `Participant 1234567`"""
    return re.sub(r"\D", "", identifier)


def zipped(files: dict[str, str]) -> bytes:
    """A zip of these texts."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files.items()):
            archive.writestr(path, content)
    return raw.getvalue()
