"""Each page of a chapter can be read in one sitting: what it shows before anything is unfolded is not too long.

A word is anything between blanks that contains a letter or a digit. Code, tables and console output count, and a formula
counts as its symbols.
"""

import html
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from .boxes import answer, fold
from .console import console
from .katex import formula, rendered
from .listing import listing

logger = logging.getLogger(__name__)
LIMIT = 5500
INDEX_LIMIT = 4000  # for a chapter's first page
BUILDING = 3500  # for that of chapters 0 to 11, and of 15


def text_of(code: str) -> str:
    """The text of some HTML."""
    return html.unescape(re.sub("<[^>]*>", " ", re.sub("<math.*?</math>", "", code, flags=re.DOTALL)))


def shown(env: BuildEnvironment, node: nodes.Node) -> str:
    """The text that is not folded."""
    if isinstance(node, (fold, answer, nodes.comment)) or (isinstance(node, listing) and node["fold"]):
        return ""
    if isinstance(node, console):
        return " ".join(line for line in node["lines"] if line)
    if isinstance(node, listing):
        return text_of(node["code"])
    if isinstance(node, (nodes.math, nodes.math_block)):
        return text_of(rendered(env).get(formula(node), ""))
    if isinstance(node, nodes.raw):
        return text_of(node.astext())
    return node.astext() if isinstance(node, nodes.Text) else " ".join(shown(env, child) for child in node.children)


def check_length(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if not docname.startswith("chapters/"):
        return
    words = sum(1 for word in shown(app.env, doctree).split() if re.search(r"\w", word))
    limit = LIMIT
    if docname.endswith("/index"):
        limit = BUILDING if re.match(r"chapters/(0|1[015])", docname) else INDEX_LIMIT
    if words > limit:
        text = "the page shows %d words, but one sitting is at most %d: move or fold what its idea does not need"
        logger.warning(text, words, limit, location=docname)


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", check_length, priority=400)  # before it is said where the numbers are from
