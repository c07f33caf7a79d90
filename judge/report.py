"""Reports a verdict, to a person or to a program."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from functools import cache
from pathlib import Path

from .exercise import CHECK, ROOT, Exercise
from .verdict import Verdict

CODES = {"green": 32, "red": 31, "yellow": 33, "bold": 1, "faint": 2}


@cache
def colored() -> bool:
    """Whether standard output is a terminal that wants colors."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(text: str, code: str) -> str:
    """The text in a color, if colors are wanted."""
    return f"\x1b[{CODES[code]}m{text}\x1b[0m" if colored() else text


def wrap(text: str, indent: str) -> str:
    """The text in lines that fit a terminal."""
    return textwrap.fill(text, 96, initial_indent=indent, subsequent_indent=indent)


def section(exercise: Exercise) -> str:
    """`chapter 4, "The gradient of softmax" (chapters/04_.../index.md)`; `chapter 10, "One query" on the page "..." (...)`"""
    if exercise.section:
        return exercise.section
    page, _, anchor = exercise.read.partition("#")
    path = Path(os.path.normpath(exercise.folder.parent.parent / page))
    title, on = anchor.replace("-", " "), ""
    if path.is_file():
        headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
        if path.stem != "index" and headings:
            on = f' on the page "{re.sub(r"^[0-9]+ ", "", headings[0])}"'
        for heading in headings:
            if re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") == anchor:
                title = heading
    where = f"build/book/html/chapters/{path.parent.name}/{path.stem}.html#{anchor}"
    if not (ROOT / where.partition("#")[0]).is_file():
        where = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else page
    chapter = path.parent.name[:2] if page.startswith("../") else exercise.chapter
    return f'chapter {int(chapter)}, "{title}"{on} ({where})'


def to_text(verdict: Verdict, *, more: bool = True) -> str:
    """The verdict in a tutor's words."""
    e = verdict.exercise
    done = verdict.points == e.points
    points = paint(f"{verdict.points} of {e.points} points", "green" if done else "red" if verdict.points == 0 else "yellow")
    if verdict.reason == "later":
        later = sum(c.most for c in verdict.criteria if c.fault)
        now = f"{verdict.points} points, and {later} more" if verdict.points else f"complete, {later} points"
        points = paint(f"{now} to be given later", "green")
    lines = [f"{paint(f'{e.number} {e.title}', 'bold')}: {points}"]
    if verdict.reason in ("missing", "later") and len({c.fault.text if c.fault else "" for c in verdict.criteria}) == 1:
        lines.append(f"  {verdict.criteria[0].fault.text}")
    elif verdict.problem:
        lines += [wrap(verdict.problem.text, "  ") if "\n" not in verdict.problem.text else verdict.problem.text]
    else:
        for c in verdict.criteria:
            later = c.fault is not None and c.fault.reason == "later"
            mark = paint("given", "green") if later else paint("ok   ", "green") if not c.fault else paint("wrong", "red")
            speed = f", {c.ratio:.1f} times as fast as the plain way" if c.ratio else ""
            worth = f"{c.most} later" if later else f"{c.points} of {c.most}"
            lines.append(f"  {mark} {c.name} ({worth}{speed})")
            if c.fault and not later:
                about = f" Case: {c.fault.about}." if c.fault.about else ""
                lines.append(wrap(f"{c.fault.text}.{about}", "        "))
                lines += [wrap(f"Likely: {cause}{'' if cause.endswith('?') else '.'}", "        ") for cause in c.fault.causes[:2]]
    if verdict.remark:
        lines += [paint("  For your instructor to read:", "faint"), wrap(verdict.remark[:2000], "    ")]
    if verdict.printed.strip():
        lines += [paint("  It printed:", "faint"), textwrap.indent(verdict.printed.strip()[:2000], "    ")]
    if not done and more and verdict.reason != "later":
        lines.append(f"  Read again: {section(e)}.")
        if e.hints:
            lines.append(f"  There {'is a hint' if len(e.hints) == 1 else f'are {len(e.hints)} hints'}: {CHECK} {e.number} --hint")
    return "\n".join(lines)


def to_dict(verdict: Verdict) -> dict:
    """The verdict for programs."""
    return {
        "number": verdict.exercise.number,
        "title": verdict.exercise.title,
        "points": verdict.points,
        "of": verdict.exercise.points,
        "reason": verdict.reason,
        "problem": verdict.problem.text if verdict.problem else None,
        "remark": verdict.remark,
        "criteria": [
            {
                "name": c.name,
                "points": c.points,
                "of": c.most,
                "reason": c.fault.reason if c.fault else "ok",
                "text": c.fault.text if c.fault else "",
                "case": c.fault.about if c.fault else "",
                "causes": list(c.fault.causes) if c.fault else [],
            }
            for c in verdict.criteria
        ],
    }


def to_json(verdicts: list[Verdict]) -> str:
    """All verdicts as JSON."""
    return json.dumps([to_dict(v) for v in verdicts], indent=2)
