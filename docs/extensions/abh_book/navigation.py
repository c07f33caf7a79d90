"""The list of all pages beside each page, made once for the whole book.

Sphinx resolves all tables of contents anew for every page, and the theme parses the result. With hundreds of pages,
that takes longer than everything else. Here both happen once. For each page, the links then get the path up to the
book's folder, and the page itself and its parents are marked. A page of a chapter does not repeat the chapter's name.
"""

import gc
import re
from functools import lru_cache
from typing import Any

from bs4 import BeautifulSoup
from furo.navigation import get_navigation_tree
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

BEFORE_THE_THEME, AFTER_THE_THEME = 400, 600


def current(tag: str, *classes: str) -> str:
    """An opening tag, with the theme's marks for the page that is shown and for its parents."""
    if tag.startswith("<input"):
        return tag.replace("<input ", '<input checked="" ', 1)
    if tag.startswith("<a "):
        tag = re.sub(r'href="[^"]*"', 'href="#"', tag)
    said = " ".join(("current", *classes))
    return tag.replace('class="', f'class="{said} ', 1) if 'class="' in tag else f'{tag[:-1]} class="{said}">'


def short(title: str, above: str) -> str:
    """A page's title below that of its chapter: "Fast" for "4 Attention: fast"."""
    rest = title.removeprefix(f"{above}: ")
    return title if rest == title else "GPU" if rest == "gpu" else rest[0].upper() + rest[1:]


class Tree:
    """What the theme makes of the tables of contents, as seen from the first page, which none of them has."""

    def __init__(self, builder: StandaloneHTMLBuilder) -> None:
        tables = builder._get_local_toctree(
            builder.config.root_doc, collapse=False, titles_only=True, maxdepth=-1, includehidden=True
        )
        soup = BeautifulSoup(get_navigation_tree(tables), "html.parser")
        for link in soup.select("li li > a"):
            above = link.find_parent("li").find_parent("li").find("a")
            link.string = short(link.get_text(), above.get_text())
        for number, tag in enumerate(soup.find_all(["ul", "li", "a", "input"])):
            tag["data-place"] = str(number)
        # Text and opening tags in turn; a tag's number is its place among them.
        pieces = re.split(r'(<[^<>]* data-place="\d+"[^<>]*>)', str(soup))
        self._pieces = [re.sub(r' data-place="\d+"', "", piece) for piece in pieces]
        self._around: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for link in soup.find_all("a", href=True):
            tags: list[tuple[Any, tuple[str, ...]]] = [(link, ())]
            for around in link.parents:
                if around.name == "li":
                    first = all(tag.name != "li" for tag, _ in tags)
                    tags.append((around, ("current-page",) if first else ()))
                    tags += [(box, ()) for box in around.find_all("input", recursive=False)]
                elif around.name == "ul":
                    tags.append((around, ()))
            self._around[link["href"]] = [(2 * int(tag["data-place"]) + 1, classes) for tag, classes in tags]

    @lru_cache(maxsize=None)  # noqa: B019 - there is one tree
    def _from_depth(self, depth: int) -> list[str]:
        return [re.sub(r'^(<a [^>]*href=")(?!#|[a-z]+:)', rf"\g<1>{'../' * depth}", piece) for piece in self._pieces]

    def seen_from(self, address: str) -> str:
        pieces = list(self._from_depth(address.count("/")))
        for place, classes in self._around.get(address, []):
            pieces[place] = current(pieces[place], *classes)
        return "".join(pieces)


@lru_cache(maxsize=1)
def tree(builder: StandaloneHTMLBuilder) -> Tree:
    return Tree(builder)


def leave_out(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["toctree"] = lambda **options: ""


def put_in(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    assert isinstance(app.builder, StandaloneHTMLBuilder)
    context["furo_navigation_tree"] = tree(app.builder).seen_from(app.builder.get_target_uri(page))


def setup(app: Sphinx) -> None:
    # All nodes of the book are alive while it is rendered, and searching them for garbage again and again would take
    # as long as making the pages.
    gc.set_threshold(100_000, 20, 100)
    app.connect("html-page-context", leave_out, priority=BEFORE_THE_THEME)
    app.connect("html-page-context", put_in, priority=AFTER_THE_THEME)
