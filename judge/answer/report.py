"""Reports a verdict, to a person or to a program."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .exercise import CHECK, PAGES, ROOT, Exercise
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
    whole = {"break_on_hyphens": False, "break_long_words": False}  # so that a path can be copied
    return textwrap.fill(text, 96, initial_indent=indent, subsequent_indent=indent, **whole)


def section(exercise: Exercise) -> str:
    """`chapter 4, "The gradient of softmax"`; `chapter 10, "One query" on the page "..."`"""
    if exercise.section:
        return exercise.section
    page, _, anchor = exercise.read.partition("#")
    path = page_of(exercise)
    title, on = anchor.replace("-", " "), ""
    if path.is_file():
        headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
        if path.stem != "index" and headings:
            on = f' on the page "{re.sub(r"^[0-9]+ ", "", headings[0])}"'
        for heading in headings:
            if re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") == anchor:
                title = heading
    chapter = path.parent.name[:2] if page.startswith("../") else exercise.chapter
    return f'chapter {int(chapter)}, "{title}"{on}'


def page_of(exercise: Exercise) -> Path:
    """The source of the page with the section to read again."""
    return Path(os.path.normpath(exercise.folder.parent.parent / exercise.read.partition("#")[0]))


def where(exercise: Exercise) -> str:
    """The section to read again, and the file that has it here, if there is one."""
    path, anchor = page_of(exercise), exercise.read.partition("#")[2]
    rendered = f"{PAGES.relative_to(ROOT)}/chapters/{path.parent.name}/{path.stem}.html"
    written = str(path.relative_to(ROOT)) if path.is_file() else ""
    here = f"{rendered}#{anchor}" if (ROOT / rendered).is_file() else written
    return f"{section(exercise)}{f' ({here})' if here and exercise.read else ''}"


def to_text(verdict: Verdict, *, more: bool = True) -> str:
    """The verdict in a tutor's words for whoever can ask for hints, in colors if they are wanted.

    :param more: whether to name what helps further: the section to read again, and hints
    """
    e, result = verdict.exercise, to_dict(verdict)
    hints = f"There {'is a hint' if len(e.hints) == 1 else f'are {len(e.hints)} hints'}: {CHECK} {e.number} --hint"
    result |= {"read": where(e), "hint": hints if e.hints else ""} if more else {"read": "", "hint": ""}
    return feedback(result, paint)


def feedback(result: dict, paint: Callable[[str, str], str] = lambda text, _: text) -> str:
    """A result, as `to_dict` describes it, in a tutor's words: what is wrong, what to read again, a hint."""
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
        lines += by_criterion(criteria, paint)
    read = result.get("read")  # a verdict that is kept from an earlier version has none
    nothing = result["problem"] and result["reason"] == "missing"
    wrong = result["problem"] or any(c["reason"] != "ok" for c in criteria)  # points may be less by hand
    if wrong and points < result["of"] and result["reason"] not in ("later", "compile") and not nothing:
        lines += [wrap(text, "  ") for text in (read and f"Read again: {read}.", result.get("hint")) if text]
    if result["remark"]:
        lines += [paint("  For your instructor to read:", "faint"), wrap(result["remark"], "    ")]
    if result["printed"]:
        lines += [paint("  It printed:", "faint"), textwrap.indent(result["printed"], "    ")]
    return "\n".join(lines)


def by_criterion(criteria: list[dict], paint: Callable[[str, str], str]) -> list[str]:
    """What is right and what is wrong; a likely cause that several criteria share is said once."""
    lines, known = [], set()
    for c in criteria:
        later = c["reason"] == "later"
        mark = paint("ok   ", "green") if c["reason"] == "ok" else paint("wrong", "red")
        mark = paint("given", "green") if later else mark
        speed = f", {c['ratio']:.1f} times as fast as the plain way" if c["ratio"] else ""
        worth = f"{c['of']} later" if later else f"{c['points']} of {c['of']}"
        lines.append(f"  {mark} {c['name']} ({worth}{speed})")
        if c["text"] and not later:
            lines.append(wrap(sentence(c["text"]) + (f" Case: {c['case']}." if c["case"] else ""), "        "))
            label = "Perhaps" if c.get("doubted") else "Likely" if c["causes"] else "Seen"
            says = c["causes"][:2] or ([c["pattern"]] if c.get("pattern") else [])
            lines += [wrap(sentence(f"{label}: {said}"), "        ") for said in says if said not in known]
            if says and known.issuperset(says):
                lines.append(f"        {label}: as above.")
            known.update(says)
    return lines


def sentence(text: str) -> str:
    """The text with an end."""
    return text if text.endswith("?") else f"{text}."


def hint_of(exercise: Exercise) -> str:
    """The first hint, as a feedback file shows it."""
    left, number = len(exercise.hints) - 1, exercise.number.partition(":")[0]
    more = f" ({left} more: ./check {number} --hint 2)" if left > 0 else ""
    return f"Hint: {exercise.hints[0]}{more}" if exercise.hints else ""


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
        "read": section(verdict.exercise),
        "hint": hint_of(verdict.exercise),
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
                "doubted": bool(c.fault and c.fault.doubted),
                "pattern": c.fault.pattern if c.fault else "",
                "ratio": c.ratio,
            }
            for c in verdict.criteria
        ],
        "printed": verdict.printed.strip()[:2000],
    }
