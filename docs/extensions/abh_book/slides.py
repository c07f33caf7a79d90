"""Directives of the decks, chapters/NN_NAME/slides.md: what a slide takes from the chapter's page, and what to say.

    ## All gradients of a row
    One line or two of text.

    ```{page} equation 04-ds
    ```
    ```{notes} 3
    What to say, and what students often get wrong.
    ```

`{page}` copies a part of the chapter's index.md, which has been rendered before, so that nothing is written twice:

| argument                          | what                                                            |
|-----------------------------------|-----------------------------------------------------------------|
| `figure weights`                  | a figure by its name, with its description; `:caption:` shows the caption, too |
| `equation 04-ds`                  | a displayed equation by its label or by the target `(04-ds)=` in front of it |
| `listing softmax.cpp: softmax`    | a listing by file and part                                      |
| `console Score table`             | what a program printed, by section; `:head: 5` shows its first lines |
| `table the-equation`              | the first table of a section; `:small:` where it is long       |
| `gradients`                       | the table of all gradients                                      |
| `mistake Scaling after the mask`  | the wrong code of a common mistake                              |
| `question All scores of a row`    | a question by its first words; the answers' replies go to the notes |

Every slide has `{notes}` with the minutes that it takes, and every deck two questions. A slide that lacks its notes, a third
question, and a part that the page does not have are warnings, which fail the build.
"""

from __future__ import annotations

import html
import pickle
import posixpath
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator
from sphinx_revealjs.nodes import revealjs_section

from . import boxes, console, katex, listing, plot, results, value

logger = logging.getLogger(__name__)
QUESTIONS = 2  # in each deck


class notes(nodes.General, nodes.Element):
    """What the speaker sees. Attribute: minutes, or 0 where it only adds to the notes of its slide."""


class sized(nodes.General, nodes.Element):
    """Text of fixed width. Attributes: lines, columns, room (the lines of its slide); it is as large as these allow."""


# What a page has ----------------------------------------------------------------------------------


def page_of(directive: SphinxDirective) -> nodes.document:
    """The chapter's page as Sphinx has read it."""
    doctrees = Path(directive.config.abh_doctrees)
    path = next(doctrees.glob(f"chapters/{directive.env.docname[:2]}_*/index.doctree"))
    directive.env.note_dependency(str(path))
    return pickle.loads(path.read_bytes())


def name_of(node: nodes.Element, kind: str) -> str:
    """How a deck calls this part of the page; empty if it is of another kind."""
    if kind == "figure" and isinstance(node, plot.plot):
        return node["figure"]
    if kind == "equation" and isinstance(node, nodes.math_block):
        return node.get("label") or next(iter(node["names"]), "")
    if kind == "listing" and isinstance(node, listing.listing) and not node["quote"]:
        return f"{posixpath.basename(node['file'])}: {node['part']}"
    if kind == "console" and isinstance(node, console.console):
        return node["section"]
    if kind == "table" and isinstance(node, nodes.section) and any(isinstance(child, nodes.table) for child in node):
        return node["ids"][0]
    if isinstance(node, nodes.container) and kind in node["classes"]:
        return next((one.astext() for one in node.findall(nodes.inline) if "box-name" in one["classes"]), "")
    return ""


def found_on(page: nodes.document, kind: str, name: str) -> tuple[nodes.Element | None, list[str]]:
    """The part of this kind and name, and the names of all."""
    named = [(name_of(node, kind).replace("’", "'"), node) for node in page.findall(nodes.Element)]
    named = [(called, node) for called, node in named if called]
    begins = kind in {"question", "mistake", "gradients"}  # their titles are sentences, of which the first words are enough
    fits = (node for called, node in named if called == name or begins and called.startswith(name))
    return next(fits, None), [called for called, _ in named]


def copied(node: nodes.Element, page: nodes.document) -> nodes.Element:
    """A copy without identifiers, and with words instead of links that lead out of the deck."""
    numbers = {one.get("label"): one["number"] for one in page.findall(nodes.math_block)}
    copy = node.deepcopy()
    for link in [*copy.findall(addnodes.pending_xref), *copy.findall(nodes.reference)]:
        if link.get("reftype") == "eq":
            link.replace_self(nodes.Text(f"({numbers[link['reftarget']]})"))
        else:
            link.replace_self(list(link.children))
    for target in list(copy.findall(nodes.target)):
        target.parent.remove(target)
    for one in copy.findall(nodes.Element):
        one["ids"], one["names"] = [], []
    return copy


# Directives ---------------------------------------------------------------------------------------


def width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def in_size(node: nodes.Element, lines: list[str]) -> sized:
    return sized("", node, lines=len(lines), columns=max(map(width, lines)))


def code(highlighted: str) -> sized:
    block = nodes.raw("", f'<div class="highlight"><pre>{highlighted}</pre></div>', format="html")
    return in_size(block, html.unescape(re.sub(r"<[^>]+>", "", highlighted)).splitlines())


class Page(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"caption": directives.flag, "head": directives.positive_int, "small": directives.flag}

    def run(self) -> list[nodes.Node]:
        kind, _, name = self.arguments[0].partition(" ")
        draw = getattr(self, f"draw_{kind}", None)
        if draw is None:
            logger.warning("page: %s is not a part of a page", kind, location=self.get_location())
            return []
        page = page_of(self)
        found, there = found_on(page, kind, name)
        if found is None:
            said = "the chapter's page has no %s %r; it has: %s"
            logger.warning(said, kind, name, "; ".join(there) or "none", location=self.get_location())
            return []
        drawn = draw(copied(found, page))
        if "small" in self.options:
            drawn[0]["classes"].append("small")
        return drawn

    def draw_figure(self, node: plot.plot) -> list[nodes.Node]:
        shown = plot.figures(self.env).setdefault(self.env.docname, set())
        shown.add((node["chapter"], node["figure"]))
        node["narrow"] = False
        if "caption" not in self.options:
            node.clear()
        return [node]

    def draw_equation(self, node: nodes.math_block) -> list[nodes.Node]:
        return [node]

    def draw_listing(self, node: listing.listing) -> list[nodes.Node]:
        place = nodes.paragraph("", f"{node['file']}, from line {node['first']}", classes=["place"])
        return [code(node["code"]), place]

    def draw_console(self, node: console.console) -> list[nodes.Node]:
        node["lines"] = [line for line in node["lines"] if line is not None][: self.options.get("head")]
        return [in_size(node, node["lines"])]

    def draw_table(self, node: nodes.section) -> list[nodes.Node]:
        return [next(child for child in node if isinstance(child, nodes.table))]

    def draw_gradients(self, node: nodes.container) -> list[nodes.Node]:
        return [next(node.findall(nodes.table))]

    def draw_mistake(self, node: nodes.container) -> list[nodes.Node]:
        wrong = next(node.findall(nodes.literal_block)).astext()
        return [code(highlight(wrong, CppLexer(), HtmlFormatter(nowrap=True)))]

    def draw_question(self, node: nodes.container) -> list[nodes.Node]:
        title = next(one for one in node.findall(nodes.inline) if "box-name" in one["classes"])
        choices = nodes.enumerated_list(enumtype="upperalpha", prefix="", suffix="")
        replies = notes(minutes=0)
        for letter, given in zip("ABCD", node.findall(boxes.answer), strict=False):
            said, *reply = given.children
            choices += nodes.list_item("", nodes.paragraph("", "", *said.children))
            verdict = nodes.strong("", f"{letter}, {'right' if given['right'] else 'wrong'}. ")
            replies += nodes.paragraph("", "", verdict)
            replies += reply
        asked = [child for child in node.children[1:] if isinstance(child, nodes.paragraph)]
        title_line = nodes.paragraph("", "", *title.children, classes=["asked"])
        return [nodes.container("", title_line, *asked, choices, classes=["question"]), replies]


class Notes(SphinxDirective):
    required_arguments = 1  # minutes
    has_content = True

    def run(self) -> list[nodes.Node]:
        minutes = directives.positive_int(self.arguments[0])
        timing = revealjs_section()
        timing["data-timing"] = 60 * minutes
        return [timing, notes("", *self.parse_content_to_nodes(), minutes=minutes)]


# Slides -------------------------------------------------------------------------------------------


def parts(slide: nodes.section) -> Iterator[nodes.Node]:
    """What is shown on the slide below its title."""
    for child in slide.children:
        if not isinstance(child, (nodes.title, nodes.section, notes, revealjs_section)):
            yield child


def lay_out(app: Sphinx, deck: nodes.document) -> None:
    """Check the deck, and put what each slide shows into one box, which the style sheet fills."""
    if app.env.docname == app.config.root_doc:
        return
    for slide in deck.findall(nodes.section):
        said = [child for child in slide.children if isinstance(child, notes) and child["minutes"]]
        if len(said) != 1:
            logger.warning("slide %r: %d notes, expected one", slide[0].astext(), len(said), location=slide)
        for replies in [child for child in slide.children if isinstance(child, notes) and not child["minutes"]]:
            slide.remove(replies)
            slide.insert(slide.index(said[0]) + 1 if said else len(slide), replies)
        shown = list(parts(slide))
        for child in shown:
            slide.remove(child)
        body = nodes.container("", *shown, classes=["body"])
        slide.insert(1, body)
        texts = list(body.findall(sized))
        for text in texts:  # all of a slide have one size, and together they fit
            text["room"] = sum(one["lines"] for one in texts) + 5 * (len(texts) - 1)
    questions = sum(1 for one in deck.findall(nodes.container) if "question" in one["classes"])
    if questions != QUESTIONS:
        logger.warning("%d questions, expected %d", questions, QUESTIONS, location=(app.env.docname, 1))


def visit_notes(self: HTML5Translator, node: notes) -> None:
    """The window of the speaker has no style sheet for mathematics, but browsers know MathML."""
    for math in [*node.findall(nodes.math), *node.findall(nodes.math_block)]:
        found = re.search(r"<math.*</math>", katex.to_html(self, math), re.DOTALL)
        math.replace_self(nodes.raw("", found.group() if found else html.escape(math.astext()), format="html"))
    self.body.append('<aside class="notes">')


def depart_notes(self: HTML5Translator, node: notes) -> None:
    self.body.append("</aside>\n")


def visit_sized(self: HTML5Translator, node: sized) -> None:
    self.body.append(f'<div class="sized" style="--lines: {node["room"]}; --columns: {node["columns"]}">')


def depart_sized(self: HTML5Translator, node: sized) -> None:
    self.body.append("</div>\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension of docs/slides/conf.py. Of the pages' extensions it takes what draws the parts that are copied."""
    for name in ("root", "results", "figures", "doctrees"):
        app.add_config_value(f"abh_{name}", "", "env", str)
    for module in (results, value, console, plot, boxes, katex):
        module.setup(app)
    app.add_node(notes, html=(visit_notes, depart_notes))
    app.add_node(sized, html=(visit_sized, depart_sized))
    app.add_directive("page", Page)
    app.add_directive("notes", Notes)
    app.connect("doctree-read", lay_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
