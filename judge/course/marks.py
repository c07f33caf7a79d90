"""The results of a class, in a folder: for each student, and in tables."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ..answer.exercise import COMPUTED, Exercise, Mistaken
from ..answer.report import to_dict
from ..answer.verdict import Fault, refused
from ..answer.written import write
from . import by_hand, copies, platforms, summary, tables
from .roster import Deadline, Person, Roster
from .roster import read as read_roster
from .submissions import Submission
from .tables import Table

LONGEST_NAME = 160  # bytes of a student's name in the name of a folder
OWN = re.compile(r"verdicts|.*\.(csv|json|part|txt|zip)", re.IGNORECASE)  # names beside the students' folders


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
    """The results of a class, in a folder. What one call is told of the class, later ones know."""

    folder: Path
    changed: list[str] = field(default_factory=list)  # whose points are others than those of earlier calls

    def settings(self) -> dict:
        """What earlier calls have settled; empty if there were none."""
        return stored(self.folder / "settings.json")

    def settle(self, seed: int, whole: list[Exercise], rule: Deadline) -> None:
        """Writes what later calls should know."""
        due = rule.due.isoformat() if rule.due else ""
        about = {"seed": seed, "exercises": [e.number for e in whole], "due": due, "late": rule.percent}
        write(self.folder / "settings.json", json.dumps(about, indent=2))

    def take(self, file: Path | None, name: str) -> Path | None:
        """The copy of a table that came with this call or an earlier one. It may have been edited there."""
        copy = self.folder / name
        if file and not (copy.exists() and copy.samefile(file)):
            write(copy, file.read_bytes())
        return copy if copy.is_file() else None

    def roster(self, file: Path | None = None) -> Roster:
        """Who is in the class; nobody if that is unknown.

        :raises Mistaken: if a row has moved by which something has been dealt
        """
        known = self.folder / "roster.csv"
        before = read_roster(known) if known.is_file() else Roster()
        roster = read_roster(file) if file else before
        if moved := before.moved(roster):
            raise Mistaken(
                f"{file}: {', '.join(moved[:3])} {'has' if len(moved) == 1 else 'have'} another row than in {known}, "
                "and the row says what is personal: let those who leave stay in it, and add others at the end"
            )
        return roster

    def kept(self, student: str) -> dict[str, dict]:
        """A student's verdicts of earlier calls, by exercise."""
        return {v["number"]: v for v in stored(self.place_of(student)).get("verdicts", [])}

    def place_of(self, student: str) -> Path:
        return self.folder / "verdicts" / f"{folder_of(student)}.json"

    def keep(self, submission: Submission, verdicts: dict[str, dict]) -> dict:
        """Keeps a student's results beside those of earlier calls, and notes whose points have changed."""
        kept = self.kept(submission.student)
        self.changed += [
            f"{submission.student} {n}: {was['points']} of {was['of']} before, {now['points']} of {now['of']} now"
            for n, now in verdicts.items()
            if (was := kept.get(n)) and (was["points"], was["of"]) != (now["points"], now["of"])
        ]
        by_judge = [f"{n}: judge it by hand" for n, v in verdicts.items() if v["reason"] == "judge"]
        result = {
            "student": submission.student,
            "called": sorted(submission.called),
            "number": submission.number,
            "known": submission.known,
            "handed in": submission.handed_in,
            "notes": submission.notes + by_judge,
            "flags": submission.flags,
            "verdicts": list({**kept, **verdicts}.values()),
        }
        write(self.place_of(submission.student), json.dumps(result, indent=2))
        return result

    def students(self) -> list[dict]:
        """What is kept of all students, of earlier calls too."""
        found = [stored(file) for file in sorted((self.folder / "verdicts").glob("*.json"))]
        return sorted((r for r in found if "student" in r), key=lambda r: r["student"])

    def results(self, whole: list[Exercise], roster: Roster, sheet: Table | None, rule: Deadline) -> list[dict]:
        """The results of the class: all exercises of everybody, with points by hand, less what being late costs."""
        found = [completed(r, whole, roster.person(r.get("called", ()))) for r in self.students()]
        present = {r["person"] for r in found}
        absent = [p for p in roster.people if p not in present]
        found += [completed({"student": p.student, "called": sorted(p.called)}, whole, p) for p in absent]
        for name, most in by_hand.give(self.folder / "manual.csv", found).items():
            print(f"book: {name}, in manual.csv, is work of {most:g} points for everybody", file=sys.stderr)
        rows = platforms.owners(sheet, [r for r in found if not r["absent"]]) if sheet else {}
        for r in found:
            status = sheet.rows[rows[r["student"]]].get("status", "") if r["student"] in rows else None
            r["late"] = 0 if r["absent"] else rule.days(r["person"], r.get("handed in", 0.0), status)
            r["taken"] = round(platforms.total(r)[0] * min(1.0, r["late"] * rule.percent / 100), 2)
        self.flag(found, whole)
        return sorted(found, key=lambda r: (r.get("name") or r["student"]).casefold())

    def flag(self, results: list[dict], whole: list[Exercise]) -> None:
        """Adds what the instructor should look at: two submissions of one person or with one draw, answers alike."""
        alike = copies.flags(results, whole)
        personal = any(e.kind == "hunt" or e.kind not in COMPUTED for e in whole)
        drawn = defaultdict(list)
        for r in results:
            r["draw"] = r["person"] or (r.get("known") if personal else r["student"])
            drawn[r["draw"]].append(r["student"])
        for r in results:
            others = ", ".join(s for s in drawn[r["draw"]] if s != r["student"])
            if others:
                r["flags"].append(f"the same {'person' if r['person'] else 'draw'} as {others}")
            r["flags"] += alike[r["student"]]

    def summarize(self, results: list[dict], *, gradescope: bool = False) -> None:
        """Writes the tables of the class and what each student may read."""
        there = [r for r in results if not r["absent"]]
        for result in marked(results):
            folder = self.folder / folder_of(result["student"])
            write(folder / "feedback.txt", platforms.text(result))
            if gradescope:
                write(folder / "results.json", json.dumps(platforms.gradescope(result), indent=2))
        write(self.folder / "class.csv", tables.written(summary.long(results)))
        write(self.folder / "class_wide.csv", tables.written(summary.wide(results)))
        write(self.folder / "summary.txt", summary.text(results))
        if not (self.folder / "manual.csv").exists():
            write(self.folder / "manual.csv", tables.written([by_hand.COLUMNS]))
        flagged = sum(bool(r["flags"]) for r in results)
        count = f"{len(there)} student{'s' * (len(there) != 1)}" + (f", {flagged} to look at" if flagged else "")
        print(f"{count}: {self.folder / 'class.csv'}, {self.folder / 'summary.txt'}")

    def fill_in(self, worksheet: Table, results: list[dict]) -> None:
        """Writes what Moodle takes: its grading worksheet with grades and comments, and a zip of feedback files."""
        filled, files, notes = platforms.moodle(worksheet, marked(results))
        write(self.folder / "moodle.csv", filled)
        write(self.folder / "moodle_feedback.zip", platforms.zipped(files))
        for note in notes:
            print(f"book: {note}", file=sys.stderr)
        count = f"{len(files)} of {len(worksheet.rows)} rows of the worksheet"
        print(f"{count}: {self.folder / 'moodle.csv'}, {self.folder / 'moodle_feedback.zip'}")


def marked(results: list[dict]) -> list[dict]:
    """Those of the students who have handed in something, or have points by hand."""
    return [r for r in results if not r["absent"] or any("by hand" in v for v in r["verdicts"])]


def completed(kept: dict, whole: list[Exercise], person: Person | None) -> dict:
    """A student's results in all exercises, with what the roster says; without results the student is absent."""
    judged = {v["number"]: v for v in kept.get("verdicts", ())}
    names = {"name": person.name, "email": person.email, "login": person.login} if person else {}
    verdicts = [judged.get(e.number) or missing(e) for e in whole]
    return {"notes": [], "flags": [], **kept, **names, "person": person, "absent": not judged, "verdicts": verdicts}


def missing(exercise: Exercise) -> dict:
    """The result of an exercise for which nothing was handed in."""
    return to_dict(refused(exercise, Fault("missing", "nothing was handed in")))


def folder_of(student: str) -> str:
    """A folder name for any student, short enough for a file system, which counts bytes, and none that results have."""
    short = "".join(c if c.isalnum() or c in "-_. " else "_" for c in student).encode()[:LONGEST_NAME]
    name = short.decode(errors="ignore").strip(". ")
    if name == student and not OWN.fullmatch(name):
        return name
    return f"{name or 'student'}_{hashlib.sha256(student.encode(errors='replace')).hexdigest()[:8]}"
