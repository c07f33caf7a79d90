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
from datetime import datetime, timezone

from .exercise import Mistaken
from .report import feedback


def moment(text: str) -> datetime:
    """A date, or a date and time, of this machine's time zone unless it names another.

    :raises ValueError: if it is none
    """
    return datetime.fromisoformat(text).astimezone()


def date(text: str) -> str:
    """The argument of --release, with this machine's time zone, so that it means the same elsewhere."""
    try:
        return moment(text).isoformat()
    except ValueError as error:
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


def moodle(worksheet: str, students: list[dict]) -> tuple[str, dict[str, str], list[str]]:
    """Fills in Moodle's grading worksheet, and leaves everything but grades and comments as it is.

    :return: the worksheet, the feedback files by the path that Moodle expects in a zip, and what was left out, for people
    :raises Mistaken: if it is no worksheet
    """
    rows = list(csv.reader(io.StringIO(worksheet.removeprefix("\ufeff"), newline="")))
    at = {name: i for i, name in enumerate(rows[0] if rows else [])}
    if missing := {"Identifier", "Grade"} - at.keys():
        raise Mistaken(f"no grading worksheet of an English Moodle: it has no column {' and no column '.join(sorted(missing))}")
    left, files, notes = {s["student"]: s for s in students}, {}, []
    for row in rows[1:]:
        cell = {name: row[i] for name, i in at.items() if i < len(row)}
        student = student_of(cell, left)
        if student is None:
            continue
        if cell.get("Grade can be changed", "Yes") != "Yes":
            notes.append(f"{student['student']} is left out: the worksheet says that the grade cannot be changed")
            continue
        points, most = total(student)
        best = re.fullmatch(r"(\d+)[.,]?(\d*)", cell.get("Maximum Grade", ""))
        row[at["Grade"]] = f"{points / max(most, 1) * float(f'{best[1]}.{best[2]}'):.2f}" if best else str(points)
        if "Feedback comments" in at:
            row[at["Feedback comments"]] = f"<pre>{html.escape(text(student))}</pre>"  # Moodle takes it for HTML
        name = cell.get("Full name", "Participant").replace("_", " ")
        files[f"{name}_{number_in(cell['Identifier'])}_assignsubmission_file_/feedback.txt"] = text(student)
    notes += [f"{name} is not in the worksheet" for name in left]
    filled = io.StringIO(newline="")
    csv.writer(filled, lineterminator="\r\n" if "\r\n" in worksheet else "\n").writerows(rows)
    return "\ufeff" * worksheet.startswith("\ufeff") + filled.getvalue(), files, notes


def student_of(cell: dict[str, str], left: dict[str, dict]) -> dict | None:
    """The student of a row, who is taken out of those left: by number and name in an export, else by email or name."""
    name, number = cell.get("Full name", ""), number_in(cell["Identifier"])
    for known in left:
        exported = re.fullmatch(r"(.+)_(\d+)", known)
        if exported and exported[2] == number and (letters(exported[1]) == letters(name) or not name):
            return left.pop(known)
    return next((left.pop(k) for k in (cell.get("Email address", ""), name) if k and k in left), None)


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
