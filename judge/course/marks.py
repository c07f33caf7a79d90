"""The results of a class, in a folder: for each student, and in tables."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from ..answer.exercise import Mistaken
from ..answer.written import write
from . import platforms
from .origins import caused
from .submissions import Submission

LONGEST_NAME = 160  # bytes of a student's name in the name of a folder
OWN = re.compile(r"verdicts|.*\.(csv|json|part|xml|zip)", re.IGNORECASE)  # names beside the students' folders
COLUMNS = ["student", "exercise", "title", "points", "of", "reason", "why", "note"]
CHANGES = ["when", "student", "exercise", "cause", "points before", "of before", "points", "of", "why before", "why"]
MOST_LINES = 20  # of changes that are printed


def stored(file: Path) -> dict:
    """What an earlier call has written; empty if it wrote nothing.

    :raises Mistaken: if it has been damaged since
    """
    try:
        return json.loads(file.read_text()) if file.is_file() else {}
    except ValueError as error:
        raise Mistaken(f"{file} has been damaged ({error}): restore it, or delete it to begin anew") from error


@dataclass
class Marks:
    """The results of a class, in a folder."""

    folder: Path
    release: datetime | None = None  # of all but points, to students
    results: dict[str, dict] = field(default_factory=dict)  # of this call, by student
    changed: list[list] = field(default_factory=list)

    def settings(self) -> dict:
        """What earlier calls have settled; empty if there were none."""
        return stored(self.folder / "settings.json")

    def kept(self, student: str) -> dict[str, dict]:
        """A student's verdicts of earlier calls, by exercise."""
        file = self.folder / "verdicts" / f"{folder_of(student)}.json"
        return {v["number"]: v for v in stored(file).get("verdicts", [])}

    def keep(self, submission: Submission, verdicts: dict[str, dict]) -> dict:
        """Writes a student's results, for the instructor and for the student, and notes whose points have changed."""
        notes = [*submission.notes, *(f"{n}: judge it by hand" for n, v in verdicts.items() if v["reason"] == "judge")]
        result = {"student": submission.student, "notes": notes, "verdicts": list(verdicts.values())}
        kept, folder = self.kept(submission.student), folder_of(submission.student)
        if rows := changes(submission.student, kept, verdicts):
            self.changed += rows
            log = self.folder / "changes.csv"
            now = datetime.now().isoformat(" ", "minutes")
            earlier = log.read_bytes() if log.is_file() else table([CHANGES])
            write(log, earlier + table([now, *row] for row in rows))
        all_verdicts = list({**kept, **verdicts}.values())
        write(self.folder / "verdicts" / f"{folder}.json", json.dumps({**result, "verdicts": all_verdicts}, indent=2))
        seen = platforms.until(self.release, result)
        write(self.folder / folder / "results.json", json.dumps(platforms.gradescope(seen), indent=2))
        write(self.folder / folder / "feedback.txt", platforms.text(seen))
        self.results[submission.student] = result
        return result

    def summarize(self) -> None:
        """Writes the tables of the class, and prints whose points have changed, and why."""
        write(self.folder / "junit.xml", junit(self.results))
        write(self.folder / "class.csv", table([COLUMNS, *class_rows(self.results)]))
        print(f"{len(self.results)} student{'s' * (len(self.results) != 1)}: {self.folder / 'class.csv'}")
        if self.changed:
            print(f"{len(self.changed)} change{'s' * (len(self.changed) != 1)} of points: {self.folder / 'changes.csv'}")
        for student, number, cause, was, was_of, now, now_of, *_ in sorted(self.changed)[:MOST_LINES]:
            print(f"  {student} {number}: {was} of {was_of} before, {now} of {now_of} now: {cause}")
        if len(self.changed) > MOST_LINES:
            print(f"  ... and {len(self.changed) - MOST_LINES} more")

    def fill_in(self, worksheet: platforms.Worksheet) -> None:
        """Writes what Moodle takes: its grading worksheet with grades and comments, and a zip of feedback files."""
        seen = [platforms.until(self.release, result) for _, result in sorted(self.results.items())]
        filled, files, notes = platforms.moodle(worksheet, seen)
        write(self.folder / "moodle.csv", filled)
        write(self.folder / "moodle_feedback.zip", platforms.zipped(files))
        for note in notes:
            print(f"book: {note}", file=sys.stderr)
        print(f"{len(files)} rows of the worksheet: {self.folder / 'moodle.csv'}, {self.folder / 'moodle_feedback.zip'}")


def folder_of(student: str) -> str:
    """A folder name for any student: short enough for a file system, which counts bytes, and none that the results use themselves."""
    name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in student).encode()[:LONGEST_NAME].decode(errors="ignore").strip(". ")
    changed = "" if name == student and not OWN.fullmatch(name) else "_" + hashlib.sha256(student.encode(errors="replace")).hexdigest()[:8]
    return (name or "student") + changed


def changes(student: str, before: dict[str, dict], after: dict[str, dict]) -> list[list]:
    """A row for each exercise with other points than before."""
    return [
        [student, n, caused(was["origin"], now["origin"]), was["points"], was["of"], now["points"], now["of"], why(was)[:300], why(now)[:300]]
        for n, now in after.items()
        if (was := before.get(n)) and (was["points"], was["of"]) != (now["points"], now["of"])
    ]


def junit(results: dict[str, dict]) -> str:
    """The results as JUnit XML, with a test suite for each student and a test case for each exercise."""
    suites = ElementTree.Element("testsuites")
    for student, result in sorted(results.items()):
        tests = result["verdicts"]
        failed = sum(t["points"] < t["of"] for t in tests)
        suite = ElementTree.SubElement(
            suites, "testsuite", name=plain(student), tests=str(len(tests)), failures=str(failed)
        )
        for t in tests:
            name = plain(f"{t['number']} {t['title']}")
            case = ElementTree.SubElement(suite, "testcase", classname=plain(student), name=name)
            if t["points"] < t["of"]:
                message = f"{t['points']} of {t['of']} points: {t['reason']}"
                ElementTree.SubElement(case, "failure", message=plain(message)).text = plain(why(t))
    return ElementTree.tostring(suites, encoding="unicode")


def plain(text: str) -> str:
    """The text without characters that XML does not allow."""
    return "".join(c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" else "?" for c in text)


def why(test: dict) -> str:
    """What was wrong, in one line."""
    texts = [test["problem"]] if test["problem"] else [f"{c['name']}: {c['text']}" for c in test["criteria"] if c["text"]]
    return " ".join("; ".join(dict.fromkeys(texts)).split())


def table(rows: Iterable[list]) -> bytes:
    """The rows of a CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue().encode(errors="replace")


def class_rows(results: dict[str, dict]) -> Iterable[list]:
    """A row for each student and exercise."""
    for student, result in sorted(results.items()):
        for t in result["verdicts"]:
            cause = [f"the cause, says the student, {t['remark']}; says the book: {t['key']}"] if t["remark"] else []
            note = "; ".join([*result["notes"], *cause])
            yield [student, t["number"], t["title"], t["points"], t["of"], t["reason"], why(t)[:300], note]


def safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if cell.startswith(("=", "+", "-", "@", "\t")) else cell
