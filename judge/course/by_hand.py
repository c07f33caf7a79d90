"""Points that somebody gives by hand: in place of an exercise's, or for work that no machine judges."""

from __future__ import annotations

import re
from pathlib import Path

from ..answer.exercise import Mistaken
from . import tables
from .roster import find

COLUMNS = ["student", "exercise", "points", "of", "comment"]
THE_BOOKS = re.compile(r"\d+\.\d+|hunt.*")  # numbers of exercises


def give(file: Path, results: list[dict]) -> dict[str, float]:
    """Gives the points in this table, which no call of `grade` changes. What is no exercise of the book is work that
    everybody was to hand in.

    :return: that work, and for how many points it is
    :raises Mistaken: if a row cannot be used
    """
    if not file.is_file():
        return {}
    own = {v["number"] for r in results for v in r["verdicts"]}
    extra: dict[str, float] = {}
    rows = []
    table = tables.read(file)
    for line, row in zip(table.lines, table.rows, strict=True):
        if absent := [name for name in COLUMNS[:3] if not row.get(name, "").strip()]:
            raise Mistaken(f"{file}, line {line}: there is no {' and no '.join(absent)}")
        exercise, points, most = row["exercise"].strip(), tables.number(row["points"]), tables.number(row.get("of", ""))
        if points is None or points < 0:
            raise Mistaken(f"{file}, line {line}: {row['points']!r} are no points")
        if exercise not in own and THE_BOOKS.fullmatch(exercise):
            there = ", ".join(sorted(own))
            raise Mistaken(f"{file}, line {line}: nobody has been graded in {exercise} here, only in {there}")
        if exercise not in own:
            if not most or extra.setdefault(exercise, most) != most:
                raise Mistaken(f"{file}, line {line}: say for how many points {exercise} is, and the same for everybody")
        try:
            rows.append((find(results, row["student"].strip()), exercise, points, row.get("comment", "").strip()))
        except Mistaken as error:
            raise Mistaken(f"{file}, line {line}: {error}") from error
    for result in results:
        result["verdicts"] += [written_work(name, most) for name, most in extra.items()]
    for result, exercise, points, comment in rows:
        verdict = next(v for v in result["verdicts"] if v["number"] == exercise)
        verdict.update({"points": whole(points), "reason": "by hand", "by hand": comment})
    return extra


def written_work(name: str, most: float) -> dict:
    """The result of work that no machine judges, as `report.to_dict` describes one."""
    about = {"number": name, "title": "by hand", "kind": "by hand", "points": 0, "of": whole(most)}
    return {**about, "reason": "missing", "problem": None, "criteria": [], "remark": "", "printed": ""}


def whole(points: float) -> float:
    """Points without a fraction if they have none."""
    return int(points) if points.is_integer() else points
