"""A class in tables and in a page, for the instructor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import mean, median

from .platforms import total

COLUMNS = ["student", "exercise", "title", "points", "of", "reason", "why", "note"]
CAUSES = 3  # of an exercise, that the page names


def why(test: dict) -> str:
    """What was wrong, in one line."""
    said = [f"{c['name']}: {c['text']}" for c in test["criteria"] if c["text"]]
    texts = [test["problem"]] if test["problem"] else said
    return " ".join("; ".join(dict.fromkeys(texts)).split())


def long(results: list[dict]) -> Iterable[list]:
    """A row for each student and exercise."""
    yield COLUMNS
    for result in results:
        for t in result["verdicts"]:
            cause = [f"the cause, says the student, {t['remark']}; says the book: {t['key']}"] if t["remark"] else []
            note = "; ".join([*result["flags"], *result["notes"], *cause])
            yield [result["student"], t["number"], t["title"], t["points"], t["of"], t["reason"], why(t)[:300], note]


def wide(results: list[dict]) -> Iterable[list]:
    """A row for each student, with totals."""
    numbers = [v["number"] for v in results[0]["verdicts"]] if results else []
    yield ["student", "name", "email", "login", *numbers, "days late", "taken", "total", "of", "to look at"]
    for r in results:
        points, most = total(r)
        who = [r["student"], *(r.get(key) or "" for key in ("name", "email", "login"))]
        yield [*who, *(v["points"] for v in r["verdicts"]), r["late"], r["taken"], points, most, "; ".join(r["flags"])]


def text(results: list[dict]) -> str:
    """A page: means by exercise and criterion, the commonest causes, and what to look at."""
    there = [r for r in results if not r["absent"]]
    absent = [r["student"] for r in results if r["absent"]]
    late = [f"{r['student']} ({r['late']})" for r in there if r["late"]]
    lines = [f"{len(there)} of {len(results)} students have handed in"]
    if there:
        points = [total(r)[0] for r in there]
        lines.append(f"points: mean {mean(points):.1f}, median {median(points):g}, of {total(there[0])[1]:g}")
        for verdicts in zip(*(r["verdicts"] for r in there), strict=True):
            lines += ["", *of_exercise(list(verdicts))]
    for title, names in (("days late", late), ("nothing handed in", absent)):
        lines += ["", f"{title}: {', '.join(names)}"] if names else []
    flagged: dict[str, list[str]] = {}
    for r in results:
        for flag in r["flags"]:
            flagged.setdefault(flag, []).append(r["student"])
    flags = [f"  {flag}: {', '.join(students)}" for flag, students in flagged.items()]
    return "\n".join([*lines, *(["", "to look at:", *flags] if flags else [])]) + "\n"


def of_exercise(verdicts: list[dict]) -> Iterable[str]:
    """The lines of an exercise, over all who have handed in."""
    first, count = verdicts[0], len(verdicts)
    full = sum(v["points"] >= v["of"] for v in verdicts)
    average = mean(v["points"] for v in verdicts)
    means = f"mean {average:.1f} of {first['of']}, all points {full} of {count} times"
    yield f"{first['number']} {first['title']}: {means}"
    judged = [c for v in verdicts for c in v["criteria"]]
    met = {c["name"]: sum(other["name"] == c["name"] and other["reason"] == "ok" for other in judged) for c in judged}
    if len(met) > 1:
        yield "  met: " + ", ".join(f"{name} {times}" for name, times in met.items())
    for cause, times in Counter(cause for v in verdicts for cause in causes(v)).most_common(CAUSES):
        yield f"  {times:3} x {cause}"


def causes(verdict: dict) -> list[str]:
    """What was wrong with an answer, in words that others share."""
    if verdict["reason"] in ("ok", "later", "by hand"):
        return []
    seen = [c["causes"][:1] or [c["pattern"]] for c in verdict["criteria"] if c["causes"] or c.get("pattern")]
    return list(dict.fromkeys(cause for causes in seen for cause in causes)) or [verdict["reason"]]
