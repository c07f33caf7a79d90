"""Directives `exercise` and `mistake`.

    ```{exercise} 04.1 Title
    :difficulty: 2
    :points: 10
    :kind: derive a backward

    The statement.
    ```

Difficulty counts from one to three. The number starts with the chapter's own and is used once in
the book.

    ````{mistake} Scaling after the mask
    The wrong code, what it does to the numbers, and `the name of the test that catches it`.
    ````

One of the literals in a mistake must be the name of a test in `tests/*.cpp`, or the build fails.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .results import chapter_of

logger = logging.getLogger(__name__)
HARDEST = 3
TEST = re.compile(
    r"\b(?:TEMPLATE_)?(?:TEST_CASE|SCENARIO|SECTION)(?:_METHOD)?\s*\(\s*(?:\w+\s*,\s*)?"
    r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
)


def box(kind: str, title: list[nodes.Node], identifier: str) -> nodes.container:
    """A titled box that a reference can point at."""
    node = nodes.container(classes=["box", kind])
    node["ids"].append(identifier)
    paragraph = nodes.paragraph(classes=["box-title"])
    paragraph += title
    node += paragraph
    return node


class Exercise(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "difficulty": directives.positive_int,
        "points": directives.positive_int,
        "kind": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        where = self.get_location()
        found = re.fullmatch(r"(\d\d)\.(\d+)\s+(\S.*)", self.arguments[0].strip())
        if not found:
            logger.warning(
                "exercise %s: expected a number like 04.1 and a title", self.arguments[0],
                location=where,
            )
            return []
        chapter, _, title = found.groups()
        number = f"{chapter}.{found.group(2)}"
        missing = [o for o in ("difficulty", "points", "kind") if o not in self.options]
        if missing:
            logger.warning("exercise %s: no option :%s:", number, missing[0], location=where)
            return []
        difficulty, points = self.options["difficulty"], self.options["points"]
        if not 1 <= difficulty <= HARDEST:
            logger.warning(
                "exercise %s: difficulty %d, expected 1 to %d", number, difficulty, HARDEST,
                location=where,
            )
        own = chapter_of(self.env.docname)
        if own is not None and not own.startswith(chapter):
            logger.warning("exercise %s stands in chapter %s", number, own, location=where)
        exercises(self.env).setdefault(self.env.docname, []).append((number, self.lineno))
        heading: list[nodes.Node] = [
            nodes.inline("", f"Exercise {number}", classes=["box-kind"]),
            nodes.Text(" "),
            nodes.inline("", title, classes=["box-name"]),
        ]
        node = box("exercise", heading, nodes.make_id(f"exercise-{number.replace('.', '-')}"))
        facts = nodes.paragraph(classes=["box-facts"])
        dots = "●" * difficulty + "○" * max(0, HARDEST - difficulty)
        facts += nodes.inline("", dots, classes=["difficulty"])
        worth = f"{points} {'point' if points == 1 else 'points'}"
        facts += nodes.Text(f" difficulty {difficulty} of {HARDEST} · {worth} · {self.options['kind']}")
        node += facts
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        return [node]


def exercises(env: BuildEnvironment) -> dict[str, list[tuple[str, int]]]:
    """Number and line of each exercise, by page."""
    if not hasattr(env, "abh_exercises"):
        env.abh_exercises = {}  # type: ignore[attr-defined]
    return env.abh_exercises  # type: ignore[attr-defined]


@lru_cache(maxsize=64)
def _names(path: str, stamp: int) -> frozenset[str]:
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return frozenset(
        "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found)).replace('\\"', '"').replace("\\\\", "\\")
        for found in TEST.findall(text)
    )


class Mistake(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        title, messages = self.parse_inline(self.arguments[0].strip())
        heading: list[nodes.Node] = [
            nodes.inline("", "Common mistake", classes=["box-kind"]),
            nodes.Text(" "),
            nodes.inline("", "", *title, classes=["box-name"]),
        ]
        node = box("mistake", heading, nodes.make_id(f"mistake-{self.arguments[0]}"))
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        literals = {" ".join(n.astext().split()) for n in node.findall(nodes.literal)}
        known: set[str] = set()
        for path in sorted((Path(self.env.config.abh_root) / "tests").glob("*.cpp")):
            self.env.note_dependency(str(path))
            known |= _names(str(path), path.stat().st_mtime_ns)
        if not literals & known:
            logger.warning(
                "mistake %s: it names no test of tests/*.cpp in backticks; its literals: %s",
                self.arguments[0], ", ".join(sorted(literals)) or "none",
                location=self.get_location(),
            )
        return [node, *messages]


def check_numbers(app: Sphinx, env: BuildEnvironment) -> None:
    first: dict[str, str] = {}
    for page, found in sorted(exercises(env).items()):
        for number, line in found:
            place = f"{env.doc2path(page)}:{line}"
            if number in first:
                logger.warning(
                    "exercise %s stands at %s already", number, first[number], location=(page, line)
                )
            first.setdefault(number, place)


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    exercises(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment) -> None:
    for docname in docnames:
        if docname in exercises(other):
            exercises(env)[docname] = exercises(other)[docname]


def setup(app: Sphinx) -> None:
    app.add_directive("exercise", Exercise)
    app.add_directive("mistake", Mistake)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", check_numbers)
