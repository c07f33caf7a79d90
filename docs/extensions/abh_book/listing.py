"""Directive `listing`: a part of a source file, with its place.

    ```{listing} scaled_dot_product_attention.cpp
    :part: softmax
    :fold: Title of the folded box (optional)
    ```

The path counts from the page's own folder, or from the repository with a leading `/`. The element
that carries `data-file` and `data-lines` has exactly the lines of the file as its text. After all
pages are read, every line of every source file must have been shown by one listing.

A part that another page shows can be quoted, for instance a plain way beside its fast one. A
quotation is marked as one and does not count as a second showing:

    ```{listing} softmax.cpp
    :part: softmax
    :quote:
    ```
"""

from __future__ import annotations

import hashlib
import html
import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer, CudaLexer
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from . import weave
from .access import scrolls
from .by_page import ByPage
from .lists import page_order

logger = logging.getLogger(__name__)
SOURCE_PAGES = "source"


@dataclass(frozen=True)
class Shown:
    """One listing on a page."""

    file: str
    part: str
    first: int
    last: int
    line: int  # in the page


shown = ByPage[list[Shown]]("shown")  # its listings


def root_of(env: BuildEnvironment) -> Path:
    return Path(env.config.abh_root)


def page_folder(docname: str) -> str:
    """Folder, seen from the repository, in which a page's source lies."""
    return posixpath.dirname(docname) if docname.startswith("chapters/") else "docs"


# Highlighting -------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _highlighted(name: str, text: str) -> tuple[str, ...]:
    """The file's lines as HTML, spans closed at each line's end."""
    lexer = CudaLexer if name.endswith((".cu", ".cuh")) else CppLexer
    out = highlight(text, lexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    lines = [line + "\n" for line in out.split("\n")[:-1]]
    if lines and not text.endswith("\n"):
        lines[-1] = lines[-1][:-1]
    return tuple(lines)


def highlighted(source: weave.Source) -> tuple[str, ...]:
    lines = _highlighted(source.name, "".join(source.lines))
    if len(lines) != len(source.lines):
        lines = tuple(html.escape(line, quote=False) for line in source.lines)
    return lines


# The directive ------------------------------------------------------------------------------------


class listing(nodes.General, nodes.Element):
    """Attributes: file, part, first, last, code (HTML), fold, quote."""


class Listing(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "part": directives.unchanged_required,
        "fold": directives.unchanged_required,
        "quote": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        root = root_of(self.env)
        path = self.arguments[0].strip()
        if path.startswith("/"):
            name = posixpath.normpath(path.lstrip("/"))
        else:
            name = posixpath.normpath(posixpath.join(page_folder(self.env.docname), path))
        where = self.get_location()
        if "part" not in self.options:
            logger.warning("listing %s: the option :part: is missing", name, location=where)
            return []
        if name.startswith("../") or not (root / name).is_file():
            logger.warning("listing: no file %s", name, location=where)
            return []
        self.env.note_dependency(str(root / name))
        try:
            source = weave.read_source(root, name)
        except weave.WeaveError as error:
            logger.warning("listing: %s", error, location=where)
            return []
        wanted = self.options["part"].strip().removeprefix("[").removesuffix("]")
        part = source.part(wanted)
        if part is None:
            there = ", ".join(f"[{p.name}]" for p in source.parts)
            logger.warning(
                "listing: %s has no part [%s]; it has %s", name, wanted, there, location=where
            )
            return []
        quote = "quote" in self.options
        if not quote:
            shown(self.env).setdefault(self.env.docname, []).append(
                Shown(name, part.name, part.first, part.last, self.lineno)
            )
        node = listing(
            file=name, part=part.name, first=part.first, last=part.last,
            code="".join(highlighted(source)[part.first - 1 : part.last]),
            fold=self.options.get("fold", ""), quote=quote,
        )
        slug = f"{'quote-' if quote else ''}{posixpath.basename(name)}-{part.name}".lower()
        node["ids"].append(nodes.make_id(slug.replace(".", "-")))
        self.set_source_info(node)
        return [node]


def visit_listing(self: HTML5Translator, node: listing) -> None:
    file, first, last = node["file"], node["first"], node["last"]
    target = self.builder.get_relative_uri(
        self.builder.current_docname, f"{SOURCE_PAGES}/{file}"
    )
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    quoted = '<span class="listing-quote">quoted from</span> ' if node["quote"] else ""
    caption = (
        f'<a class="listing-place" href="{html.escape(target)}#L{first}">'
        f'{quoted}<span class="listing-file">{html.escape(file)}</span> '
        f'<span class="listing-lines">{lines}</span></a>'
    )
    # What the tangle reads. A quotation has none of it: each line is shown by one listing.
    place = "" if node["quote"] else (
        f' data-file="{html.escape(file)}" data-lines="{first}-{last}"'
        f' data-part="{html.escape(node["part"])}"'
    )
    # The empty span keeps a leading blank line: HTML drops a line end right after <pre>.
    reached = scrolls(f"{file}, {lines}")
    code = f'<div class="highlight"><pre{place} {reached}><span></span>{node["code"]}</pre></div>'
    classes = "listing quotation" if node["quote"] else "listing"
    self.body.append(self.starttag(node, "figure", CLASS=classes))
    if node["fold"]:
        self.body.append(
            f'<details><summary>{html.escape(node["fold"])}</summary>'
            f'<figcaption class="listing-caption">{caption}</figcaption>{code}</details>'
        )
    else:
        self.body.append(f'<figcaption class="listing-caption">{caption}</figcaption>{code}')
    self.body.append("</figure>\n")
    raise nodes.SkipNode


# Every line once ----------------------------------------------------------------------------------


def ranges(numbers: list[int]) -> str:
    """`3-5, 9` for 3, 4, 5, 9."""
    out: list[list[int]] = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def check_coverage(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn (which fails the build) of each source line that is not shown exactly once."""
    root = root_of(env)
    by_file: dict[str, list[tuple[str, Shown]]] = {}
    for page, listings in sorted(shown(env).items()):
        for one in listings:
            by_file.setdefault(one.file, []).append((page, one))
    for name in weave.source_names(root):
        try:
            source = weave.read_source(root, name)
        except weave.WeaveError as error:
            logger.warning("%s", error)
            continue
        for part in source.parts:
            places = [(page, one) for page, one in by_file.get(name, []) if one.part == part.name]
            if not places:
                lines = ranges(list(range(part.first, part.last + 1)))
                logger.warning("%s:%s: no page shows part [%s]", name, lines, part.name)
            elif len(places) > 1:
                where = " and ".join(f"{env.doc2path(page)}:{one.line}" for page, one in places)
                lines = ranges(list(range(part.first, part.last + 1)))
                logger.warning(
                    "%s:%s: part [%s] is shown %d times: %s",
                    name, lines, part.name, len(places), where,
                )
    known = set(weave.source_names(root))
    for name in sorted(set(by_file) - known):
        page, one = by_file[name][0]
        logger.warning(
            "listing: %s is not one of the book's sources", name, location=(page, one.line)
        )


# Source pages -------------------------------------------------------------------------------------


def frame(app: Sphinx) -> str:
    """A digest of what stands around the text of every source page: the list of pages, the theme, its files."""
    digest = hashlib.sha256()
    for page in page_order(app.env):
        title = app.env.titles[page].astext() if page in app.env.titles else ""
        digest.update(f"{page} {title}\n".encode())
    for path in sorted(Path(app.confdir).rglob("*")):
        if path.suffix in {".py", ".css", ".js", ".txt"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()


class Written:
    """Which source pages stand in the output as they would be written now: these are not written again."""

    def __init__(self, app: Sphinx) -> None:
        self._app = app
        self._file = Path(app.doctreedir) / "source_pages.json"
        self._frame = frame(app)
        old = json.loads(self._file.read_text()) if self._file.is_file() else {}
        self._old: dict[str, str] = old if isinstance(old, dict) else {}
        self._new: dict[str, str] = {}

    def still(self, pagename: str, body: str) -> bool:
        now = hashlib.sha256(f"{self._frame}{body}".encode()).hexdigest()
        self._new[pagename] = now
        there = Path(self._app.builder.get_output_path(pagename))
        return self._old.get(pagename) == now and there.is_file()

    def remember(self) -> None:
        self._file.write_text(json.dumps(self._new))


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each source file, with an anchor at each line, and links to where it is explained."""
    if app.builder.format != "html":
        return
    env, root = app.env, root_of(app.env)
    explained = {
        (one.file, one.part): page for page, listings in shown(env).items() for one in listings
    }
    names = weave.source_names(root)
    written = Written(app)
    for name in names:
        pagename = f"{SOURCE_PAGES}/{name}"
        try:
            source = weave.read_source(root, name)
        except weave.WeaveError:
            continue  # reported by check_coverage
        pages = sorted({page for (file, _), page in explained.items() if file == name})
        links = ", ".join(
            f'<a href="{html.escape(app.builder.get_relative_uri(pagename, page))}">'
            f"{html.escape(env.titles[page].astext())}</a>"
            for page in pages
        )
        if written.still(pagename, "".join(source.lines) + links):
            continue
        code = "".join(
            f'<span id="L{n}"><a class="line-number" href="#L{n}" data-line="{n}" '
            f'aria-label="line {n}"></a>{line}</span>'
            for n, line in enumerate(highlighted(source), 1)
        )
        body = (
            f"<h1>{html.escape(name)}</h1>\n<p>Explained in: {links}</p>\n"
            f'<div class="highlight source-file"><pre {scrolls(name)}><span></span>{code}</pre></div>'
        )
        yield pagename, {"title": name, "body": body, "parents": []}, "page.html"
    if names:
        pagename = f"{SOURCE_PAGES}/index"
        items = "\n".join(
            f'<li><a href="{html.escape(app.builder.get_relative_uri(pagename, f"{SOURCE_PAGES}/{n}"))}">'
            f"<code>{html.escape(n)}</code></a></li>"
            for n in names
        )
        body = f"<h1>Source files</h1>\n<ul>\n{items}\n</ul>"
        yield pagename, {"title": "Source files", "body": body, "parents": []}, "page.html"
    written.remember()


def setup(app: Sphinx) -> None:
    app.add_node(listing, html=(visit_listing, None))
    app.add_directive("listing", Listing)
    shown.connect(app)
    app.connect("env-updated", check_coverage)
    app.connect("html-collect-pages", source_pages)
