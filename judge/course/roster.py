"""Who is in a class, and until when each may hand in."""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.written import dealt_to, letters
from . import tables

COLUMNS = {  # and how platforms name them
    "name": ("name", "full name"),
    "email": ("email", "email address", "e-mail"),
    "login": ("login", "username", "github"),
    "number": ("number", "id", "id number", "sid"),
    "extension": ("extension",),
}
UNITS = {"year": 31536000, "day": 86400, "hour": 3600, "min": 60, "sec": 1}  # of Moodle's spans
LATE = re.compile(r"((?:\d+ (?:year|day|hour|min|sec)s? )+)late")


@dataclass(frozen=True)
class Person:
    """A row of the roster."""

    name: str
    email: str = ""
    login: str = ""
    number: str = ""
    extension: datetime | None = None
    turn: int = 0  # the row, by which is dealt what is personal

    @property
    def student(self) -> str:
        """The name in tables of a student without a submission."""
        return self.name or self.email or self.login

    @property
    def own(self) -> set[str]:
        """What nobody else is called, as `letters` writes it."""
        return set(map(letters, (self.email, self.login, self.number))) - {""}

    @property
    def called(self) -> set[str]:
        """All that somebody may be found by."""
        return self.own | {letters(self.name)} - {""}


@dataclass(frozen=True)
class Roster:
    """A class."""

    people: tuple[Person, ...] = ()

    def person(self, called: Iterable[str]) -> Person | None:
        """The one who is called one of these, as `letters` writes them; None if there is nobody, or more than one."""
        wanted = set(called)
        found = [p for p in self.people if p.own & wanted] or [p for p in self.people if p.called & wanted]
        return found[0] if len(found) == 1 else None

    def dealt(self) -> dict[str, int]:
        """Whose turn is which, for a hand-out: by `dealt_to` of a name, email or login that only one person has."""
        return {dealt_to(name): p.turn for p in self.people for name in p.called if self.person([name]) is p}

    def moved(self, other: Roster) -> list[str]:
        """The students whose turn is another in the other roster."""
        turns = {frozenset(p.called): p.turn for p in self.people}
        return [p.student for p in other.people if turns.get(frozenset(p.called), p.turn) != p.turn]


NOBODY = Roster()


def read(file: Path) -> Roster:
    """Reads a roster, a table with the columns name, email, login, number and extension, or some of them.

    :raises Mistaken: if it cannot be used
    """
    people, seen = [], {}
    table = tables.read(file)
    for turn, row in enumerate(table.rows):
        cells = {field: next((row[n].strip() for n in names if row.get(n)), "") for field, names in COLUMNS.items()}
        cells["name"] = cells["name"] or f"{row.get('first name', '')} {row.get('last name', '')}".strip()
        cells["name"] = " ".join(part.strip() for part in reversed(cells["name"].split(",", 1)))  # first names first
        person = Person(**{**cells, "extension": deadline(cells["extension"])}, turn=turn)
        if not person.called:
            raise Mistaken(f"{file}, line {table.lines[turn]} has neither a name nor an email nor a login")
        for unique in person.own:
            if seen.setdefault(unique, person) is not person:
                raise Mistaken(
                    f"{file}: {seen[unique].student} and {person.student} have the same email, login or number"
                )
        people.append(person)
    if not people:
        raise Mistaken(f"{file} has nobody in it")
    return Roster(tuple(people))


def find(results: list[dict], name: str) -> dict:
    """The student with this name, number, email or login.

    :raises Mistaken: unless there is exactly one
    """
    found = [r for r in results if name == r["student"]]
    found = found or [
        r for r in results if letters(name) in {*r.get("called", ()), letters(r["student"]), r.get("number")}
    ]
    if len(found) != 1:
        there = ", ".join(r["student"] for r in found or results)
        raise Mistaken(f"{'more than one' if found else 'no'} submission is {name}'s; there are {there}")
    return found[0]


def deadline(text: str) -> datetime | None:
    """A moment, or the end of a day, where this computer is; None if the text is empty.

    :raises Mistaken: if it is neither
    """
    if not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Mistaken(f"{text!r} is no date: write 2026-11-27, or 2026-11-27 18:00") from error
    return (moment + timedelta(days=len(text.strip()) <= 10)).astimezone()


@dataclass(frozen=True)
class Deadline:
    """Until when is handed in, and what it costs to be late."""

    due: datetime | None = None
    percent: float = 0.0  # of the points, for each day that has begun

    def days(self, person: Person | None, handed_in: float, status: str | None) -> int:
        """How many days late somebody is; a day that has begun counts.

        :param handed_in: in seconds since 1970; 0 if that is unknown
        :param status: what Moodle says, who knows best; None if there is no Moodle
        """
        extension = person.extension if person else None
        if status is not None:
            found = LATE.search(status)
            late = sum(int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+) ([a-z]+?)s? ", found[1])) if found else 0
            late -= (extension - self.due).total_seconds() if extension and self.due else 0
        else:
            until = extension or self.due
            late = handed_in - until.timestamp() if until and handed_in else 0
        return max(0, math.ceil(late / 86400))


def committed(clone: Path) -> float:
    """When the last commit of a clone was made, in seconds since 1970; 0 if that is unknown. No setting of the clone is
    used, because it could name a program that git would start."""
    folder = clone / ".git"
    try:
        head = (folder / "HEAD").read_text()[:300].strip()
        if name := re.fullmatch(r"ref: (refs/heads/[\w./-]+)", head):
            packed = (folder / "packed-refs").read_text() if (folder / "packed-refs").is_file() else ""
            listed = re.search(rf"^([0-9a-f]{{40}}) {re.escape(name[1])}$", packed, re.MULTILINE)
            loose = folder / name[1]
            head = loose.read_text().strip() if ".." not in name[1] and loose.is_file() else listed[1] if listed else ""
        if not re.fullmatch("[0-9a-f]{40}", head):
            return 0.0
        with tempfile.TemporaryDirectory(prefix="judge_") as own:
            subprocess.run(["git", "init", "--quiet", "--bare", own], check=True, capture_output=True)
            command = ["git", "--git-dir", own, "cat-file", "commit", head]
            environment = {"PATH": "/usr/bin:/bin", "GIT_OBJECT_DIRECTORY": str(folder.resolve() / "objects")}
            said = subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0.0
    found = re.search(rb"^committer .*> (\d{1,12}) ", said, re.MULTILINE)
    return float(found[1]) if found else 0.0
