"""Directives `question`, `task`, `mistake`, `checked`, `derivation`, `gradients` and `fold`.

    ````{question} All scores of a row grow by 5. What happens to its attention weights?
    - [ ] They grow.

      No: they still sum to 1.

    - [x] Nothing.

      Each exponential grows by the same factor, and so does their sum.
    ````

Two to four answers, one of them right, each with a reply, which opens with a click; no script is needed.
In the EPUB and the PDF the replies stand at the end of the page.

    ````{task} Let 一 ask instead of 好. At which word will it look most?
    :show: {"row": 2}
    - [ ] ...

      ...
    ````

is a question in a `live` part, which has the answer: with a script, opening one puts the part into the state of `:show:`, and
the reply ends with what the part then computes. Which states there are is said by `pose` in docs/live/page/PART.js.

    ````{mistake} Scaling after the mask
    The wrong code, what it does to the numbers, and `the name of the test that catches it`.
    ````

One of the literals in a mistake must be the name of a test in `tests/`, or the build fails. What else
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

import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from .results import chapter_of
from .zh import words

logger = logging.getLogger(__name__)
TWIN = re.compile(r'^@twin\("([^"]+)"', re.MULTILINE)
TEST = re.compile(r'\bTEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')


def box(kind: str, label: str, title: list[nodes.Node], identifier: str) -> nodes.container:
    """A titled box that a reference can point at."""
    node = nodes.container(classes=["box", kind])
    node["ids"].append(nodes.make_id(identifier))
    kind_of_box = nodes.inline("", label, classes=["box-kind"])
    name = nodes.inline("", "", *title, classes=["box-name"])
    node += nodes.paragraph("", "", kind_of_box, nodes.Text(" "), name, classes=["box-title"])
    return node


@cache
def _found(path: Path, pattern: re.Pattern[str]) -> frozenset[str]:
    return frozenset(pattern.findall(path.read_text(encoding="utf-8")))


def found_in(env: BuildEnvironment, folder: Path, files: str, pattern: re.Pattern[str]) -> set[str]:
    """What the pattern finds in the files of a folder. The page that asks for it then depends on them."""
    found: set[str] = set()
    for path in sorted(folder.glob(files)):
        env.note_dependency(str(path))
        found |= _found(path, pattern)
    return found


class Titled(SphinxDirective):
    """A box whose argument is its title. Chinese in it has its glosses without a role, which needs backticks."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def titled(self, kind: str, label: str) -> tuple[nodes.container, list[nodes.system_message]]:
        title, messages = self.parse_inline(self.arguments[0].strip())
        title = [piece for part in title for piece in (words(part) if isinstance(part, nodes.Text) else [part])]
        node = box(kind, label, title, f"{kind}-{self.arguments[0]}")
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        return node, messages


@cache
def joined(literals: str) -> str:
    """The text of adjacent literals of C++."""
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))
    return text.replace('\\"', '"').replace("\\\\", "\\")


def tests_known(env: BuildEnvironment) -> set[str]:
    """Names of all tests."""
    tests = Path(env.config.abh_root) / "tests"
    return {
        joined(literals)
        for folder in (tests, *sorted(tests.glob("[0-9]*")))
        for literals in found_in(env, folder, "*.cpp", TEST)
    }


class Mistake(Titled):
    def run(self) -> list[nodes.Node]:
        node, messages = self.titled("mistake", "Common mistake")
        literals = {" ".join(n.astext().split()) for n in node.findall(nodes.literal)}
        known = tests_known(self.env)
        node["facts"] = {"tests": sorted(literals & known)}
        if not literals & known:
            logger.warning(
                "mistake %s: it names no test of tests/ in backticks; its literals: %s",
                self.arguments[0], ", ".join(sorted(literals)) or "none",
                location=self.get_location(),
            )
        return [node, *messages]


class Checked(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        names = [line.strip() for line in self.content if line.strip()]
        for name in sorted(set(names) - tests_known(self.env)):
            logger.warning("checked: no test of tests/ is named %r", name, location=self.get_location())
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
    label = "Question"

    def run(self) -> list[nodes.Node]:
        node, messages = self.titled("question", self.label)
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


class task(nodes.container):
    """A question's box. Attribute: show, a state of the live part around it."""


class Task(Question):
    label = "Predict, then look"
    option_spec: ClassVar[dict[str, Any]] = {"show": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        [question, *messages] = super().run()
        try:
            state = json.loads(self.options.get("show", ""))
        except ValueError:
            state = None
        if not isinstance(state, dict):
            logger.warning('task: the option :show: must be a JSON object, such as {"row": 2}', location=self.get_location())
        node = task("", *question.children, show=json.dumps(state, ensure_ascii=False))
        node["ids"], node["classes"] = question["ids"], [*question["classes"], "task"]
        self.set_source_info(node)
        return [node, *messages]


def visit_task(self: HTML5Translator, node: task) -> None:
    self.body.append(self.starttag(node, "div", CLASS="docutils", **{"data-show": node["show"]}))


def depart_task(self: HTML5Translator, node: task) -> None:
    self.body.append("</div>\n")


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


def equality(tex: str) -> bool:
    """Whether a formula says that two things are equal; a definition by `:=` does not."""
    bare = re.sub(r"\\(text|mathrm)\{[^}]*\}|_\{[^{}]*\}|\\sum|1\[[^\]]*\]|:=", "", tex)
    return "=" in bare


class Derivation(Titled):
    def run(self) -> list[nodes.Node]:
        node, messages = self.titled("derivation", "Derivation")
        known = found_in(self.env, Path(self.env.config.abh_root) / "tests/docs/twins", "*.py", TWIN)
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
        title = [nodes.Text("with their shapes")]
        node = box("gradients", "All gradients", title, f"gradients-{self.env.new_serialno('gradients')}")
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


def number_visible_first(app: Sphinx, doctree: nodes.document) -> None:
    """Number a page's equations as a reader meets them: those in folds and replies come after all others."""
    known = app.env.get_domain("math").equations
    blocks = [block for block in doctree.findall(nodes.math_block) if block.get("number")]

    def hidden(block: nodes.Node) -> bool:
        while block.parent is not None and not isinstance(block, fold | answer):
            block = block.parent
        return isinstance(block, fold | answer)

    for number, block in enumerate(sorted(blocks, key=hidden), 1):
        block["number"] = number
        known[block["label"]] = (app.env.docname, number)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", number_visible_first)
    app.add_directive("mistake", Mistake)
    app.add_directive("checked", Checked)
    app.add_node(answer, html=(visit_answer, depart_answer))
    app.add_node(answer_text, html=(visit_answer_text, depart_answer_text))
    app.add_directive("question", Question)
    app.add_node(task, html=(visit_task, depart_task))
    app.add_directive("task", Task)
    app.add_directive("derivation", Derivation)
    app.add_directive("gradients", Gradients)
    app.add_node(fold, html=(visit_fold, depart_fold))
    app.add_directive("fold", Fold)
