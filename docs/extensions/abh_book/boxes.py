"""Directives `exercise`, `question`, `mistake`, `checked`, `derivation`, `gradients` and `fold`.

    ```{exercise} 04.1 Title
    :difficulty: 2
    :points: 10
    :kind: derive a backward
    :trains: the chain rule through a normalizer that all outputs share
    :needs: 00.2

    The statement.
    ```

Difficulty counts from one to three. The number starts with the chapter's own and is used once in
the book. The table `{list-of} skills` shows what an exercise trains, and which ones it needs first.

    ````{question} All scores of a row grow by 5. What happens to its attention weights?
    - [ ] They grow.

      No: they still sum to 1.

    - [x] Nothing.

      Each exponential grows by the same factor, and so does their sum.
    ````

Two to four answers, one of them right, each with a reply, which opens with a click; no script is needed.
In the EPUB and the PDF the replies stand at the end of the page.

    ````{mistake} Scaling after the mask
    The wrong code, what it does to the numbers, and `the name of the test that catches it`.
    ````

One of the literals in a mistake must be the name of a test in `tests/*.cpp`, or the build fails. What else
a test holds is noted beside the text, not in it, a test's name on each line:

    ```{checked}
    the worked gradient of attention is what backward computes
    ```

    ````{derivation} The softmax's gradient
    Steps from the forward equation to the gradient.

    $$ dz_i = w_i \\Big( dw_i - \\sum_j w_j\\, dw_j \\Big) $$ (04-softmax-dz)
    ````

Every displayed equality of a derivation has a label, and the label names a twin: a function in
`tests/docs/twins/*.py` that `@twin("04-softmax-dz")` decorates and that computes both sides at random
points. An equality without a label and a label without a twin fail the build. A definition is written
with `:=` and needs none.

    ````{gradients}
    A table or formulas: all gradients with their shapes.
    ````

    `````{fold} The program
    Anything; most often the listings of main.cpp.
    `````
"""

from __future__ import annotations

import html
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
from sphinx.writers.html5 import HTML5Translator

from .by_page import ByPage
from .folders import look_into
from .results import chapter_of

logger = logging.getLogger(__name__)
HARDEST = 3
TWIN = re.compile(r'^@twin\("([^"]+)"', re.MULTILINE)
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
        "trains": directives.unchanged_required,
        "needs": directives.unchanged_required,
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
        required = ("difficulty", "points", "kind", "trains")
        missing = [o for o in required if o not in self.options]
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
            logger.warning("exercise %s is in chapter %s", number, own, location=where)
        node = exercise_box(self, number, title, difficulty, points, self.options["kind"])
        needs = tuple(self.options.get("needs", "").replace(",", " ").split())
        node["facts"] |= {"trains": self.options["trains"], "needs": needs}
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        return [node]


def exercise_box(
    directive: SphinxDirective, number: str, title: str, difficulty: int, points: int, kind: str
) -> nodes.container:
    """The box of an exercise, without its statement; notes that the page has it."""
    env = directive.env
    exercises(env).setdefault(env.docname, []).append((number, directive.lineno))
    heading: list[nodes.Node] = [
        nodes.inline("", f"Exercise {number}", classes=["box-kind"]),
        nodes.Text(" "),
        nodes.inline("", title, classes=["box-name"]),
    ]
    node = box("exercise", heading, nodes.make_id(f"exercise-{number.replace('.', '-')}"))
    env.domains.standard_domain.note_object("exercise", number, node["ids"][0])  # so that the search finds it
    node["facts"] = {"number": number, "difficulty": difficulty, "points": points, "kind": kind}
    facts = nodes.paragraph(classes=["box-facts"])
    dots = "●" * difficulty + "○" * max(0, HARDEST - difficulty)
    facts += nodes.inline("", dots, classes=["difficulty"])
    worth = f"{points} {'point' if points == 1 else 'points'}"
    facts += nodes.Text(f" difficulty {difficulty} of {HARDEST} · {worth} · {kind}")
    node += facts
    return node


exercises = ByPage[list[tuple[str, int]]]("exercises")  # number and line of each exercise


@lru_cache(maxsize=None)
def _names(path: str, stamp: int) -> frozenset[str]:
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return frozenset(
        "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found)).replace('\\"', '"').replace("\\\\", "\\")
        for found in TEST.findall(text)
    )


class Titled(SphinxDirective):
    """A box whose argument is its title."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def titled(
        self, kind: str, label: str
    ) -> tuple[nodes.container, list[nodes.system_message]]:
        title, messages = self.parse_inline(self.arguments[0].strip())
        heading: list[nodes.Node] = [
            nodes.inline("", label, classes=["box-kind"]),
            nodes.Text(" "),
            nodes.inline("", "", *title, classes=["box-name"]),
        ]
        node = box(kind, heading, nodes.make_id(f"{kind}-{self.arguments[0]}"))
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        return node, messages


def tests_known(env: BuildEnvironment) -> set[str]:
    """Names of all tests. The page that asks for them then depends on their files."""
    known: set[str] = set()
    tests = Path(env.config.abh_root) / "tests"
    look_into(env, tests)
    for path in sorted(tests.glob("*.cpp")):
        env.note_dependency(str(path))
        known |= _names(str(path), path.stat().st_mtime_ns)
    return known


class Mistake(Titled):
    def run(self) -> list[nodes.Node]:
        node, messages = self.titled("mistake", "Common mistake")
        literals = {" ".join(n.astext().split()) for n in node.findall(nodes.literal)}
        known = tests_known(self.env)
        node["facts"] = {"tests": sorted(literals & known)}
        if not literals & known:
            logger.warning(
                "mistake %s: it names no test of tests/*.cpp in backticks; its literals: %s",
                self.arguments[0], ", ".join(sorted(literals)) or "none",
                location=self.get_location(),
            )
        return [node, *messages]


class Checked(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        names = [line.strip() for line in self.content if line.strip()]
        for name in sorted(set(names) - tests_known(self.env)):
            logger.warning("checked: no test of tests/*.cpp is named %r", name, location=self.get_location())
        node = nodes.paragraph(classes=["checked"])
        node += nodes.Text("Tested: ")
        for number, name in enumerate(names):
            node += nodes.Text("; " if number else "")
            node += nodes.literal("", name)
        self.set_source_info(node)
        return [node]


# Questions ----------------------------------------------------------------------------------------


class answer(nodes.General, nodes.Element):
    """Attribute: right. Children: the answer's text, and the reply."""


class answer_text(nodes.General, nodes.TextElement):
    """The text of an answer."""


class Question(Titled):
    def run(self) -> list[nodes.Node]:
        node, messages = self.titled("question", "Question")
        where = self.get_location()
        asked = next((child for child in node.children if isinstance(child, nodes.bullet_list)), None)
        items = list(asked.children) if asked is not None else []
        right = 0
        answers: list[answer] = []
        for item in items:
            said = item.children[0] if item.children else None
            mark = said.astext()[:4] if isinstance(said, nodes.paragraph) else ""
            if mark not in {"[x] ", "[ ] "} or len(item.children) < 2:
                logger.warning("question: expected an answer to begin with [x] or [ ], and its reply to follow after a blank line", location=where)
                continue
            said[0] = nodes.Text(said[0].astext()[4:])  # the mark is text, like the blank after it
            made = answer(right=mark == "[x] ")
            made += answer_text("", "", *said.children)
            made += item.children[1:]
            right += made["right"]
            answers.append(made)
        if right != 1 or not 2 <= len(answers) <= 4:
            logger.warning(
                "question: %d answers, %d of them right; expected two to four answers, one of them right", len(answers), right, location=where
            )
        if asked is not None:
            node.replace(asked, answers)
        return [node, *messages]


def visit_answer(self: HTML5Translator, node: answer) -> None:
    kind = "right" if node["right"] else "wrong"
    self.body.append(f'<details class="answer {kind}">')


def depart_answer(self: HTML5Translator, node: answer) -> None:
    self.body.append("</div></details>\n")


def visit_answer_text(self: HTML5Translator, node: answer_text) -> None:
    words = "".join(text for text in node.findall(nodes.Text) if not isinstance(text.parent, nodes.math))
    label = "" if re.search(r"\w", words) else f' aria-label="{html.escape(node.astext())}"'  # a formula alone is no name
    self.body.append(f"<summary{label}>")


def depart_answer_text(self: HTML5Translator, node: answer_text) -> None:
    verdict = "Right." if node.parent["right"] else "No."
    self.body.append(f'</summary>\n<div class="reply"><p class="verdict">{verdict}</p>')


# Derivations --------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _twins(path: str, stamp: int) -> frozenset[str]:
    return frozenset(TWIN.findall(Path(path).read_text(encoding="utf-8")))


def twins(env: BuildEnvironment) -> set[str]:
    """Names of all twins. The page that asks for them then depends on their files."""
    known: set[str] = set()
    folder = Path(env.config.abh_root) / "tests" / "docs" / "twins"
    look_into(env, folder)
    for path in sorted(folder.glob("*.py")):
        env.note_dependency(str(path))
        known |= _twins(str(path), path.stat().st_mtime_ns)
    return known


def equality(tex: str) -> bool:
    """Whether a formula says that two things are equal; a definition by `:=` does not."""
    bare = re.sub(r"\\(text|mathrm)\{[^}]*\}|_\{[^{}]*\}|\\sum|1\[[^\]]*\]|:=", "", tex)
    return "=" in bare


class Derivation(Titled):
    def run(self) -> list[nodes.Node]:
        node, messages = self.titled("derivation", "Derivation")
        known = twins(self.env)
        for block in node.findall(nodes.math_block):
            label = block.get("label") or ""
            tex = " ".join(block.astext().split())
            if not label and equality(tex):
                logger.warning(
                    "derivation: no label on the equality %s; write $$ ... $$ (%s-name)", tex,
                    (chapter_of(self.env.docname) or "00")[:2], location=block,
                )
            elif label and label not in known:
                logger.warning(
                    'derivation: no twin of %s; write a function with @twin("%s") in tests/docs/twins',
                    label, label, location=block,
                )
        return [node, *messages]


class Gradients(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        heading: list[nodes.Node] = [
            nodes.inline("", "All gradients", classes=["box-kind"]),
            nodes.Text(" "),
            nodes.inline("", "with their shapes", classes=["box-name"]),
        ]
        node = box("gradients", heading, f"gradients-{self.env.new_serialno('gradients')}")
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        return [node]


# Folded -------------------------------------------------------------------------------------------


class fold(nodes.General, nodes.Element):
    """Attribute: title."""


class Fold(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        node = fold(title=self.arguments[0].strip())
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        return [node]


def visit_fold(self: HTML5Translator, node: fold) -> None:
    self.body.append(
        f'<details class="fold"><summary>{html.escape(node["title"])}</summary>\n<div class="folded">'
    )


def depart_fold(self: HTML5Translator, node: fold) -> None:
    self.body.append("</div></details>\n")


# Exercises of all pages ---------------------------------------------------------------------------


def check_numbers(app: Sphinx, env: BuildEnvironment) -> None:
    first: dict[str, str] = {}
    for page, found in sorted(exercises(env).items()):
        for number, line in found:
            place = f"{env.doc2path(page)}:{line}"
            if number in first:
                logger.warning(
                    "exercise %s is already at %s", number, first[number], location=(page, line)
                )
            first.setdefault(number, place)


def setup(app: Sphinx) -> None:
    app.add_directive("exercise", Exercise)
    app.add_directive("mistake", Mistake)
    app.add_directive("checked", Checked)
    app.add_node(answer, html=(visit_answer, depart_answer))
    app.add_node(answer_text, html=(visit_answer_text, depart_answer_text))
    app.add_directive("question", Question)
    app.add_directive("derivation", Derivation)
    app.add_directive("gradients", Gradients)
    app.add_node(fold, html=(visit_fold, depart_fold))
    app.add_directive("fold", Fold)
    exercises.connect(app)
    app.connect("env-updated", check_numbers)
