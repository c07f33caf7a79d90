"""Directive `list-of`: everything of one kind in the book, in the order of its pages, with links.

    ```{list-of} figures
    ```

The kinds are `figures` (the first sentence of each caption), `derivations`, `mistakes` (with the tests
that catch them), `exercises` (a table with difficulty, points, hours and kind) and `skills` (a table of what
each exercise trains, and which ones it needs first).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from .by_page import ByPage
from .plot import plot

logger = logging.getLogger(__name__)
KINDS = ("figures", "derivations", "mistakes", "exercises", "skills")
LIST = "lists"  # kind of the item that marks a page with a list
SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?](?=\s|$)")


class list_of(nodes.General, nodes.Element):
    """Attribute: kind."""


class ListOf(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0].strip()
        if kind not in KINDS:
            logger.warning(
                "list-of %s: expected one of %s", kind, ", ".join(KINDS), location=self.get_location()
            )
            return []
        return [list_of(kind=kind)]


# What the pages hold ------------------------------------------------------------------------------


@dataclass
class Item:
    """One figure or box: where a link to it goes, and what the link says."""

    kind: str
    identifier: str = ""
    title: list[nodes.Node] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


items = ByPage[list[Item]]("items")  # its items, in order


def plain(children: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Copies that are allowed inside a link: text and mathematics, no links, no targets."""
    for child in children:
        if isinstance(child, (nodes.reference, addnodes.pending_xref)):
            yield from plain(child.children)
        elif not isinstance(child, (nodes.target, addnodes.index)):
            yield child.deepcopy()


def first_sentence(paragraph: nodes.Element) -> list[nodes.Node]:
    out: list[nodes.Node] = []
    for child in plain(paragraph.children):
        if isinstance(child, nodes.Text) and (end := SENTENCE.search(child)):
            return [*out, nodes.Text(child[: end.start()])]
        out.append(child)
    return out


def note_items(app: Sphinx, doctree: nodes.document) -> None:
    found: list[Item] = []
    for node in doctree.findall(nodes.Element):
        if isinstance(node, list_of):
            found.append(Item(LIST))
        elif isinstance(node, plot):
            if caption := next(iter(node.findall(nodes.paragraph)), None):  # the strips below the titles have none
                found.append(Item("figures", node["ids"][0], first_sentence(caption)))
        elif isinstance(node, nodes.container) and "box" in node["classes"]:
            kind = f"{node['classes'][1]}s"
            name = next((n for n in node.findall(nodes.inline) if "box-name" in n["classes"]), None)
            if kind in KINDS and name is not None:
                title = list(plain(name.children))
                found.append(Item(kind, node["ids"][0], title, dict(node.get("facts", {}))))
    if found:
        items(app.env)[app.env.docname] = found


def page_order(env: BuildEnvironment) -> list[str]:
    """All pages in the order of the tables of contents; others follow, sorted by name."""
    order: dict[str, None] = {}

    def visit(page: str) -> None:
        if page not in order:
            order[page] = None
            for child in env.toctree_includes.get(page, []):
                visit(child)

    visit(env.config.root_doc)
    return [*order, *sorted(set(env.all_docs) - set(order))]


# What a list shows --------------------------------------------------------------------------------


def row(cells: list[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def table(kind: str, heads: list[str], widths: list[int], rows: list[nodes.row]) -> nodes.container:
    """Put a table into the box that the theme has put around all other tables, so that a wide one scrolls."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=w) for w in widths), cols=len(heads))
    group += nodes.thead("", row([nodes.Text(head) for head in heads]))
    group += nodes.tbody("", *rows)
    filled = nodes.table("", group, classes=["colwidths-auto", kind])
    return nodes.container("", filled, classes=["table-wrapper"])


Found = list[tuple[str, list[Item]]]  # pages with their items


@dataclass
class Lists:
    """What the lists of one page show."""

    app: Sphinx
    docname: str

    def refer(self, page: str, item: Item | None, said: nodes.Node, title: str = "") -> nodes.Node:
        identifier = item.identifier if item else None
        return make_refnode(self.app.builder, self.docname, page, identifier, said, title)

    def link(self, page: str, item: Item | None) -> nodes.Node:
        words = item.title if item else [nodes.Text(self.app.env.titles[page].astext())]
        return self.refer(page, item, nodes.inline("", "", *(word.deepcopy() for word in words)))

    def exercise(self, page: str, item: Item) -> nodes.Node:
        return nodes.inline("", "", nodes.Text(f"{item.facts['number']} "), self.link(page, item))

    def exercises(self, found: Found) -> nodes.Node:
        rows = []
        for page, wanted in found:
            for item in wanted:
                facts = [item.facts.get(name, "") for name in ("difficulty", "points", "hours", "kind")]
                rows.append(row([self.exercise(page, item), *(nodes.Text(str(f)) for f in facts)]))
        return table("exercises", ["exercise", "difficulty", "points", "hours", "kind"], [45, 10, 10, 10, 25], rows)

    def skills(self, found: Found) -> nodes.Node:
        """Exercises grouped by page, with the numbers of those that they need as links."""
        places = {i.facts["number"]: (page, i) for page, wanted in found for i in wanted}
        rows = []
        for page, wanted in found:
            chapter = nodes.paragraph("", "", self.link(page, None))
            rows.append(nodes.row("", nodes.entry("", chapter, morecols=4, classes=["group"])))
            for item in wanted:
                f = item.facts
                trains = f["trains"].replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")  # as on the pages
                facts = [f.get("short", f["kind"]), f["difficulty"], trains]
                numbers = nodes.inline()
                for number in f.get("needs", ()):
                    if number not in places:
                        text = "exercise %s needs %s, which no page has"
                        logger.warning(text, f["number"], number, location=page)
                        continue
                    there, first = places[number]
                    title = "".join(word.astext() for word in first.title)
                    if numbers.children:
                        numbers += nodes.Text(", ")
                    numbers += self.refer(there, first, nodes.Text(number), title)
                texts = (nodes.Text(str(fact)) for fact in facts)
                needs = numbers if numbers.children else nodes.Text("")  # no element: an empty cell
                rows.append(row([self.exercise(page, item), *texts, needs]))
        heads = ["exercise", "kind", "difficulty", "trains", "needs"]
        return table("skills", heads, [30, 10, 10, 40, 10], rows)

    def bullets(self, found: Found) -> nodes.Node:
        listed = nodes.definition_list(classes=["list-of"])
        for page, wanted in found:
            bullets = nodes.bullet_list(bullet="*")
            for item in wanted:
                said = nodes.paragraph("", "", self.link(page, item))
                for test in item.facts.get("tests", []):
                    said += [nodes.Text(" · "), nodes.literal("", test)]
                bullets += nodes.list_item("", said)
            listed += nodes.definition_list_item(
                "", nodes.term("", "", self.link(page, None)), nodes.definition("", bullets)
            )
        return listed


def fill_lists(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    lists = Lists(app, docname)
    for node in list(doctree.findall(list_of)):
        kind = "exercises" if node["kind"] == "skills" else node["kind"]
        found = [
            (page, wanted)
            for page in page_order(app.env)
            if (wanted := [i for i in items(app.env).get(page, []) if i.kind == kind])
        ]
        draw = {"exercises": lists.exercises, "skills": lists.skills}.get(node["kind"], lists.bullets)
        node.replace_self(draw(found) if found else nodes.paragraph("", "None."))


# Pages come and go --------------------------------------------------------------------------------


def pages_with_lists(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Pages with lists are written again, whichever page has changed."""
    return [page for page, found in items(env).items() if any(i.kind == LIST for i in found)]


def setup(app: Sphinx) -> None:
    app.add_node(list_of)
    app.add_directive("list-of", ListOf)
    app.connect("doctree-read", note_items)
    app.connect("doctree-resolved", fill_lists)
    items.connect(app)
    app.connect("env-updated", pages_with_lists)
