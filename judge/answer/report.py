"""Reports a verdict, to a person or to a program."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable
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
    """The verdict in a tutor's words, in colors if they are wanted.

    :param more: whether to name what helps further: the section to read again, and hints
    """
    e, lines = verdict.exercise, [feedback(to_dict(verdict), paint)]
    if verdict.points < e.points and more and verdict.reason != "later":
        lines.append(f"  Read again: {section(e)}.")
        if e.hints:
            lines.append(f"  There {'is a hint' if len(e.hints) == 1 else f'are {len(e.hints)} hints'}: {CHECK} {e.number} --hint")
    return "\n".join(lines)


def feedback(result: dict, paint: Callable[[str, str], str] = lambda text, _: text) -> str:
    """A result, as `to_dict` describes it, in a tutor's words."""
    points, criteria = result["points"], result["criteria"]
    said = paint(f"{points} of {result['of']} points", "green" if points == result["of"] else "red" if points == 0 else "yellow")
    if result["reason"] == "later":
        later = sum(c["of"] for c in criteria if c["reason"] == "later")
        now = f"{points} points, and {later} more" if points else f"{later} points"
        said = paint(f"complete, {now} to be given later", "green")
    title = paint(f"{result['number']} {result['title']}", "bold")
    lines = [f"{title}: {said}"]
    if result["reason"] in ("missing", "later") and len({c["text"] for c in criteria}) == 1:
        lines.append(f"  {criteria[0]['text']}")
    elif result["problem"]:
        lines += [wrap(result["problem"], "  ") if "\n" not in result["problem"] else result["problem"]]
    else:
        for c in criteria:
            later = c["reason"] == "later"
            mark = paint("given", "green") if later else paint("ok   ", "green") if c["reason"] == "ok" else paint("wrong", "red")
            speed = f", {c['ratio']:.1f} times as fast as the plain way" if c["ratio"] else ""
            worth = f"{c['of']} later" if later else f"{c['points']} of {c['of']}"
            lines.append(f"  {mark} {c['name']} ({worth}{speed})")
            if c["text"] and not later:
                about = f" Case: {c['case']}." if c["case"] else ""
                lines.append(wrap(f"{c['text']}.{about}", "        "))
                lines += [wrap(f"Likely: {cause}{'' if cause.endswith('?') else '.'}", "        ") for cause in c["causes"][:2]]
    if result["remark"]:
        lines += [paint("  For your instructor to read:", "faint"), wrap(result["remark"], "    ")]
    if result["printed"]:
        lines += [paint("  It printed:", "faint"), textwrap.indent(result["printed"], "    ")]
    return "\n".join(lines)


def to_dict(verdict: Verdict) -> dict:
    """The description of a result that all other forms are made from, and that programs get."""
    return {
        "number": verdict.exercise.number,
        "title": verdict.exercise.title,
        "kind": verdict.exercise.kind,
        "points": verdict.points,
        "of": verdict.exercise.points,
        "reason": verdict.reason,
        "problem": verdict.problem.text if verdict.problem else None,
        "remark": verdict.remark[:2000],
        "criteria": [
            {
                "name": c.name,
                "points": c.points,
                "of": c.most,
                "reason": c.fault.reason if c.fault else "ok",
                "text": c.fault.text if c.fault else "",
                "case": c.fault.about if c.fault else "",
                "causes": list(c.fault.causes) if c.fault else [],
                "ratio": c.ratio,
            }
            for c in verdict.criteria
        ],
        "printed": verdict.printed.strip()[:2000],
    }
