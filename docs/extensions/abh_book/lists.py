"""Directive `list-of`: everything of one kind in the book, in the order of its pages, with links.

    ```{list-of} figures
    ```

The kinds are `figures` (the first sentence of each caption), `derivations`, `mistakes` (with the tests
that catch them) and `exercises` (a table with difficulty, points and kind).
"""

from __future__ import annotations

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

from .results import plot

logger = logging.getLogger(__name__)
KINDS = ("figures", "derivations", "mistakes", "exercises")
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


def items(env: BuildEnvironment) -> dict[str, list[Item]]:
    """The items of each page, in its order."""
    if not hasattr(env, "abh_items"):
        env.abh_items = {}  # type: ignore[attr-defined]
    return env.abh_items  # type: ignore[attr-defined]


def plain(children: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Copies that may stand inside a link: text and mathematics, no links, no targets."""
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
            caption = next(iter(node.findall(nodes.paragraph)), None)
            title = first_sentence(caption) if caption else [nodes.Text(node["alt"])]
            found.append(Item("figures", node["ids"][0], title))
        elif isinstance(node, nodes.container) and "box" in node["classes"]:
            kind = f"{node['classes'][1]}s"
            name = next((n for n in node.findall(nodes.inline) if "box-name" in n["classes"]), None)
            if kind in KINDS and name is not None:
                title = list(plain(name.children))
                found.append(Item(kind, node["ids"][0], title, dict(node.get("facts", {}))))
    if found:
        items(app.env)[app.env.docname] = found


def page_order(env: BuildEnvironment) -> list[str]:
    """All pages as their tables of contents order them; others follow by name."""
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


def table(heads: list[str], widths: list[int], rows: list[list[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup("", *(nodes.colspec(colwidth=w) for w in widths), cols=len(heads))
    group += nodes.thead("", row([nodes.Text(head) for head in heads]))
    group += nodes.tbody("", *map(row, rows))
    return nodes.table("", group, classes=["colwidths-auto"])


def fill_lists(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    env, builder = app.env, app.builder

    def link(page: str, item: Item | None) -> nodes.Node:
        words = item.title if item else [nodes.Text(env.titles[page].astext())]
        inside = nodes.inline("", "", *(word.deepcopy() for word in words))
        return make_refnode(builder, docname, page, item.identifier if item else None, inside)

    for node in list(doctree.findall(list_of)):
        found = [
            (page, wanted)
            for page in page_order(env)
            if (wanted := [i for i in items(env).get(page, []) if i.kind == node["kind"]])
        ]
        if not found:
            node.replace_self(nodes.paragraph("", "None."))
        elif node["kind"] == "exercises":
            rows: list[list[nodes.Node]] = []
            for page, wanted in found:
                for item in wanted:
                    f = item.facts
                    exercise = nodes.inline("", "", nodes.Text(f"{f['number']} "), link(page, item))
                    facts = [f["difficulty"], f["points"], f["kind"]]
                    rows.append([exercise, *(nodes.Text(str(fact)) for fact in facts)])
            heads = ["exercise", "difficulty", "points", "kind"]
            node.replace_self(table(heads, [50, 10, 10, 30], rows))
        else:
            listed = nodes.definition_list(classes=["list-of"])
            for page, wanted in found:
                bullets = nodes.bullet_list(bullet="*")
                for item in wanted:
                    said = nodes.paragraph("", "", link(page, item))
                    for test in item.facts.get("tests", []):
                        said += [nodes.Text(" · "), nodes.literal("", test)]
                    bullets += nodes.list_item("", said)
                listed += nodes.definition_list_item(
                    "", nodes.term("", "", link(page, None)), nodes.definition("", bullets)
                )
            node.replace_self(listed)


# Pages come and go --------------------------------------------------------------------------------


def pages_with_lists(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """They are written again, whichever page has changed."""
    return [page for page, found in items(env).items() if any(i.kind == LIST for i in found)]


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    items(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment) -> None:
    items(env).update({d: items(other)[d] for d in docnames if d in items(other)})


def setup(app: Sphinx) -> None:
    app.add_node(list_of)
    app.add_directive("list-of", ListOf)
    app.connect("doctree-read", note_items)
    app.connect("doctree-resolved", fill_lists)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", pages_with_lists)
