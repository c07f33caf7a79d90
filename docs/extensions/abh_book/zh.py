"""Role `zh`: Chinese words, each with its gloss, what it means in English, below it.

    {zh}`我 有 一 个 好 朋 友`

The glosses are those of lib/program/glosses.py. They are ruby text, so a reader without it sees 我 (I) 有 (have).
"""

import html

import glosses
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


class glossed(nodes.inline):
    """A word; attribute: gloss."""


def words(text: str) -> list[nodes.Node]:
    """The text, its Chinese words with glosses; one without Chinese as it is."""
    pieces = glosses.pieces(text) if glosses.HAN.search(text) else [(text, "")]
    return [glossed("", word, gloss=gloss) if gloss else nodes.Text(word) for word, gloss in pieces]


class Chinese(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        self.env.note_dependency(glosses.__file__)
        found = words(self.text)
        for word in found:
            if isinstance(word, nodes.Text) and glosses.HAN.search(word):
                logger.warning("zh `%s`: lib/program/glosses.py has no gloss for %s", self.text, word, location=self.get_location())
        return found, []


def visit_glossed(self: HTML5Translator, node: glossed) -> None:
    self.body.append('<ruby class="zh">')


def depart_glossed(self: HTML5Translator, node: glossed) -> None:
    self.body.append(f'<rp> (</rp><rt>{html.escape(node["gloss"])}</rt><rp>)</rp></ruby>')


def setup(app: Sphinx) -> None:
    app.add_node(glossed, html=(visit_glossed, depart_glossed))
    app.add_role("zh", Chinese())
