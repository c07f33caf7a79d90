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
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.written import write
from . import platforms
from .submissions import Submission

LONGEST_NAME = 160  # bytes of a student's name in the name of a folder
OWN = re.compile(r"verdicts|.*\.(csv|json|part|zip)", re.IGNORECASE)  # names beside the students' folders
COLUMNS = ["student", "exercise", "title", "points", "of", "reason", "why", "note"]


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
    results: dict[str, dict] = field(default_factory=dict)  # of this call, by student
    changed: list[str] = field(default_factory=list)  # whose points are others than those of earlier calls

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
        self.changed += [
            f"{submission.student} {n}: {was['points']} of {was['of']} before, {now['points']} of {now['of']} now"
            for n, now in verdicts.items()
            if (was := kept.get(n)) and (was["points"], was["of"]) != (now["points"], now["of"])
        ]
        all_verdicts = list({**kept, **verdicts}.values())
        write(self.folder / "verdicts" / f"{folder}.json", json.dumps({**result, "verdicts": all_verdicts}, indent=2))
        write(self.folder / folder / "results.json", json.dumps(platforms.gradescope(result), indent=2))
        write(self.folder / folder / "feedback.txt", platforms.text(result))
        self.results[submission.student] = result
        return result

    def summarize(self) -> None:
        """Writes the table of the class, and prints whose points have changed."""
        write(self.folder / "class.csv", table([COLUMNS, *class_rows(self.results)]))
        print(f"{len(self.results)} student{'s' * (len(self.results) != 1)}: {self.folder / 'class.csv'}")
        if self.changed:
            print("\n  ".join(["points that have changed:", *sorted(self.changed)]))

    def fill_in(self, worksheet: platforms.Worksheet) -> None:
        """Writes what Moodle takes: its grading worksheet with grades and comments, and a zip of feedback files."""
        filled, files, notes = platforms.moodle(worksheet, [result for _, result in sorted(self.results.items())])
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
