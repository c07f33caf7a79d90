"""Makes the pages accessible to readers who use no mouse, or who do not see them.

A box may scroll sideways, because its code, table or formula may be wider than the window. Such a box takes the focus,
so that the arrow keys scroll it, and it says what it is. `_static/book.js` takes the focus away again from boxes that
fit.
"""

import html
from typing import Any

from docutils import nodes
from myst_parser.parsers.docutils_ import depart_container_html, visit_container_html
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

BLOCKS = {"cpp": "C++ code", "cuda": "CUDA code", "sh": "Commands", "console": "Commands", "python": "Python code"}


def scrolls(label: str) -> str:
    """Attributes of an element that may scroll."""
    return f'tabindex="0" role="group" aria-label="{html.escape(label)}" data-scrolls'


def visit_container(self: HTML5Translator, node: nodes.container) -> None:
    """The box that the theme puts around each table."""
    visit_container_html(self, node)
    if "table-wrapper" in node["classes"]:
        title = next((one.astext() for one in node.findall(nodes.title)), "")
        label = f"Table: {title}" if title else "Table"
        self.body[-1] = self.body[-1].replace("<div ", f"<div {scrolls(label)} ", 1)


def visit_literal_block(self: HTML5Translator, node: nodes.literal_block) -> None:
    before = len(self.body)
    label = BLOCKS.get(node.get("language", ""), "Text as it is typed")
    try:
        HTML5Translator.visit_literal_block(self, node)
    finally:  # it leaves by SkipNode if it has highlighted the code
        self.body[before] = self.body[before].replace("<pre", f"<pre {scrolls(label)}", 1)


def visit_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Make an entry of the bibliography a list item, because docutils' role for it, doc-biblioentry, is deprecated."""
    HTML5Translator.visit_citation(self, node)
    self.body[-1] = self.body[-1].replace('role="doc-biblioentry"', 'role="listitem"')


def name_captions(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """A caption above a list of chapters is not a heading of the page, although Sphinx marks it as one, without a level."""
    for name in ("body", "toc", "furo_navigation_tree"):
        if isinstance(context.get(name), str):
            context[name] = context[name].replace('<p class="caption" role="heading">', '<p class="caption">')


def setup(app: Sphinx) -> None:
    app.setup_extension("myst_parser")  # which would otherwise replace these handlers by its own
    app.add_node(nodes.container, override=True, html=(visit_container, depart_container_html))
    app.add_node(nodes.literal_block, override=True, html=(visit_literal_block, HTML5Translator.depart_literal_block))
    app.add_node(nodes.citation, override=True, html=(visit_citation, HTML5Translator.depart_citation))
    app.connect("html-page-context", name_captions, priority=900)  # after the theme has made its tree
