"""Directives `card`, a chapter on one screen, and `cards`, the cards of all pages in the order of the book.

    ````{card} Attention
    $$ Y = \\mathrm{softmax}(Q K^\\top / \\sqrt{d_k})\\, V $$
    The shapes, one sentence, one number to check oneself, one trap.
    ````

On the page with all cards, each has a link to the page that it comes from, and its equations have no numbers.
"""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .boxes import Titled
from .by_page import ByPage
from .lists import page_order
from .results import shown
from .value import value

with_cards = ByPage[bool]("with_cards")  # whether a page has a card; False: it shows those of all others


class Card(Titled):
    def run(self) -> list[nodes.Node]:
        node, messages = self.titled("card", "Card")
        with_cards(self.env)[self.env.docname] = True
        return [node, *messages]


class cards(nodes.General, nodes.Element):
    """Where all cards stand."""


class Cards(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        with_cards(self.env)[self.env.docname] = False
        return [cards()]


class FillCards(SphinxPostTransform):
    """Copies the cards before their references are resolved, so that these lead from the page with all cards."""

    default_priority = 1

    def run(self, **kwargs: Any) -> None:
        for place in list(self.document.findall(cards)):
            made = [card for page in page_order(self.env) if with_cards(self.env).get(page) for card in self.copies(page)]
            place.replace_self(made or nodes.paragraph("", "None."))

    def copies(self, page: str) -> Iterator[nodes.Element]:
        here = self.env.docname
        address = self.app.builder.get_relative_uri(here, page)
        own = self.env.get_doctree(page).findall(lambda n: isinstance(n, nodes.container) and "card" in n["classes"])
        for number, card in enumerate(own, 1):
            copy = card.deepcopy()
            for target in list(copy.findall(nodes.target)):
                target.parent.remove(target)
            for node in copy.findall(nodes.Element):
                node["ids"] = []
                if isinstance(node, nodes.math_block):
                    node["number"] = node["label"] = None
                elif isinstance(node, value):
                    shown(self.env).setdefault(here, set()).add(node["run"])
                elif isinstance(node, addnodes.pending_xref):
                    node["refdoc"] = here
                elif isinstance(node, nodes.reference) and "refid" in node:
                    node["refuri"] = f"{address}#{node.attributes.pop('refid')}"
            copy["ids"] = [nodes.make_id(f"card-{page.removesuffix('/index')}" + (f"-{number}" if number > 1 else ""))]
            kind = next(node for node in copy.findall(nodes.inline) if "box-kind" in node["classes"])
            chapter = self.env.titles[page].astext()
            kind[:] = [nodes.reference("", chapter, internal=True, refuri=address)]
            yield copy


def pages_with_all(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The page with all cards is written again, whichever page has changed."""
    return [page for page, own in with_cards(env).items() if not own]


def setup(app: Sphinx) -> None:
    app.add_directive("card", Card)
    app.add_node(cards)
    app.add_directive("cards", Cards)
    app.add_post_transform(FillCards)
    with_cards.connect(app)
    app.connect("env-updated", pages_with_all)
