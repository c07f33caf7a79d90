"""Directives `listing`, a part of a source file with its place, and `source`, what a page leaves out.

    ```{listing} scaled_dot_product_attention.cpp
    :part: softmax
    :fold: Title of the folded box (optional)
    ```

The path counts from the page's own folder, or from the repository with a leading `/`. The element
that carries `data-file` and `data-lines` has exactly the lines of the file as its text. Its caption
links to the file's own page, which shows the whole file. After all pages are read, no part may have
been shown twice, and every part that teaches (see `weave`) must have been shown, or left to the source
by name:

    ```{source}
    main.cpp
    scaled_dot_product_attention.cpp: checks
    ```

That is one line on the page, with a link for each file, or for each of the parts after the colon (commas
separate them). A file without parts is only pointed at: what teaches in it must still be shown.

On a chapter's page a header is folded by itself, unless it stands in a fold, or `:open:` says that its code is what the page is about.

A part that another page shows can be quoted, for instance a plain way beside its fast one. A
quotation is marked as one and does not count as a second showing:

    ```{listing} softmax.cpp
    :part: softmax
    :quote:
    ```
"""

import hashlib
import html
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
left = ByPage[list[Shown]]("left")  # parts that it leaves to the source


def root_of(env: BuildEnvironment) -> Path:
    return Path(env.config.abh_root)


def page_folder(docname: str) -> str:
    """The folder of a page's source, relative to the repository."""
    return posixpath.dirname(docname) if docname.startswith("chapters/") else "docs"


# Highlighting -------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def highlighted(source: weave.Source) -> tuple[str, ...]:
    """The file's lines as HTML, spans closed at each line's end."""
    text = "".join(source.lines)
    lexer = CudaLexer if source.name.endswith((".cu", ".cuh")) else CppLexer
    out = highlight(text, lexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    lines = [line + "\n" for line in out.split("\n")[:-1]]
    if lines and not text.endswith("\n"):
        lines[-1] = lines[-1][:-1]
    return tuple(lines)


# The directive ------------------------------------------------------------------------------------


class listing(nodes.General, nodes.Element):
    """Attributes: file, part, first, last, code (HTML), fold, open, quote."""


class Sourced(SphinxDirective):
    """A directive that reads a source file named by the page."""

    def source(self, argument: str) -> weave.Source | None:
        """The file, from the page's own folder or, with a leading `/`, from the repository; None after a warning."""
        root, where = root_of(self.env), self.get_location()
        if argument.startswith("/"):
            name = posixpath.normpath(argument.lstrip("/"))
        else:
            name = posixpath.normpath(posixpath.join(page_folder(self.env.docname), argument))
        if name.startswith("../") or not (root / name).is_file():
            logger.warning("%s: no file %s", self.name, name, location=where)
            return None
        self.env.note_dependency(str(root / name))
        try:
            return weave.read_source(root, name)
        except weave.Failure as error:
            logger.warning("%s: %s", self.name, error, location=where)
            return None

    def part(self, source: weave.Source, wanted: str) -> weave.Part | None:
        part = source.part(wanted)
        if part is None:
            there = ", ".join(f"[{p.name}]" for p in source.parts)
            logger.warning(
                "%s: %s has no part [%s]; it has %s", self.name, source.name, wanted, there,
                location=self.get_location(),
            )
        return part


class Listing(Sourced):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "part": directives.unchanged_required,
        "fold": directives.unchanged_required,
        "open": directives.flag,
        "quote": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        source = self.source(self.arguments[0].strip())
        if source is None:
            return []
        if "part" not in self.options:
            logger.warning(
                "listing %s: the option :part: is missing", source.name, location=self.get_location()
            )
            return []
        part = self.part(source, self.options["part"].strip().removeprefix("[").removesuffix("]"))
        if part is None:
            return []
        quote = "quote" in self.options
        if not quote:
            shown(self.env).setdefault(self.env.docname, []).append(
                Shown(source.name, part.name, part.first, part.last, self.lineno)
            )
        node = listing(
            file=source.name, part=part.name, first=part.first, last=part.last,
            code="".join(highlighted(source)[part.first - 1 : part.last]),
            fold=self.options.get("fold", ""), open="open" in self.options, quote=quote,
        )
        slug = f"{'quote-' if quote else ''}{posixpath.basename(source.name)}-{part.name}".lower()
        node["ids"].append(nodes.make_id(slug.replace(".", "-")))
        self.set_source_info(node)
        return [node]


def fold_headers(app: Sphinx, doctree: nodes.document) -> None:
    """Declarations are a click away: an idea is in the lines that compute."""
    for node in doctree.findall(listing) if app.env.docname.startswith("chapters/") else ():
        outer = node.parent
        while outer is not None and not (isinstance(outer, nodes.Element) and outer.tagname == "fold"):
            outer = outer.parent
        if node["file"].endswith(".hpp") and not (node["fold"] or node["open"] or outer):
            node["fold"] = f"Declaration in {posixpath.basename(node['file'])}: {node['part']}"


class left_out(nodes.General, nodes.Element):
    """Attribute files: for each file its name and the parts that are meant, each with name and line."""


class Source(Sourced):
    has_content = True

    def run(self) -> list[nodes.Node]:
        files: list[tuple[str, list[tuple[str, int]]]] = []
        for line in self.content:
            if not line.strip():
                continue
            file, _, wanted = line.partition(":")
            source = self.source(file.strip())
            if source is None:
                continue
            names = [name.strip() for name in wanted.split(",") if name.strip()]
            parts = [part for name in names if (part := self.part(source, name))]
            left(self.env).setdefault(self.env.docname, []).extend(
                Shown(source.name, part.name, part.first, part.last, self.lineno)
                for part in parts
            )
            if not names:
                left(self.env)[self.env.docname].append(Shown(source.name, "", 1, len(source.lines), self.lineno))
            files.append((source.name, [(part.name, part.first) for part in parts]))
        node = left_out(files=files)
        self.set_source_info(node)
        return [node]


def visit_left_out(self: HTML5Translator, node: left_out) -> None:
    """One line that says where to read on."""

    links: list[str] = []
    for file, parts in node["files"]:
        page = html.escape(self.builder.get_relative_uri(self.builder.current_docname, f"{SOURCE_PAGES}/{file}"))
        short = f"<code>{html.escape(posixpath.basename(file))}</code>"
        named = ", ".join(f'<a href="{page}#L{line}">{html.escape(name)}</a>' for name, line in parts)
        links.append(f"{named} in {short}" if parts else f'<a href="{page}">{short}</a>')
    self.body.append(f'<p class="left-out">In the source: {"; ".join(links)}</p>\n')
    raise nodes.SkipNode


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
    # What docs/tangle.py reads. A quotation has none of it, because only one listing may show a line.
    place = "" if node["quote"] else f' data-file="{html.escape(file)}" data-lines="{first}-{last}"'
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


# Every part that teaches, once ----------------------------------------------------------------------------------


def check_coverage(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn (which fails the build) of each part that is shown twice, or that teaches and is not shown."""
    root = root_of(env)
    places: dict[tuple[str, str], list[str]] = {}
    for page, listings in sorted(shown(env).items()):
        for one in listings:
            places.setdefault((one.file, one.part), []).append(f"{env.doc2path(page)}:{one.line}")
    left_to_source = {(one.file, one.part) for parts in left(env).values() for one in parts}
    known = weave.source_names(root)
    for name in known:
        try:
            source = weave.read_source(root, name)
        except weave.Failure as error:
            logger.warning("%s", error)
            continue
        for part in source.parts:
            where = places.get((name, part.name), [])
            lines = f"{part.first}-{part.last}" if part.last > part.first else str(part.first)
            if len(where) > 1:
                logger.warning(
                    "%s:%s: part [%s] is shown %d times: %s", name, lines, part.name, len(where), " and ".join(where)
                )
            elif not where and part in source.teaches and (name, part.name) not in left_to_source:
                logger.warning("%s:%s: no page shows part [%s] or leaves it to the source", name, lines, part.name)
            elif where and (name, part.name) in left_to_source:
                logger.warning("%s:%s: part [%s] is both shown and left to the source", name, lines, part.name)
    for name in sorted({file for file, _ in places} - set(known)):
        logger.warning("listing: %s is not one of the book's sources", name)


# Source pages -------------------------------------------------------------------------------------


def frame(app: Sphinx) -> str:
    """A digest of what surrounds the text of every source page: the list of pages, the theme, its files."""
    digest = hashlib.sha256()
    for page in page_order(app.env):
        title = app.env.titles[page].astext() if page in app.env.titles else ""
        digest.update(f"{page} {title}\n".encode())
    for path in sorted(Path(app.confdir).rglob("*")):
        if path.suffix in {".py", ".css", ".js", ".txt"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each source file, with an anchor at each line, and links to where it is explained."""
    if app.builder.format != "html":
        return
    env, root = app.env, root_of(app.env)
    explained = {
        (one.file, page) for found in (left(env), shown(env)) for page, parts in found.items() for one in parts
    }
    names = weave.source_names(root)
    around = frame(app)
    for name in names:
        pagename = f"{SOURCE_PAGES}/{name}"
        try:
            source = weave.read_source(root, name)
        except weave.Failure:
            continue  # reported by check_coverage
        pages = sorted(page for file, page in explained if file == name)
        links = ", ".join(
            f'<a href="{html.escape(app.builder.get_relative_uri(pagename, page))}">'
            f"{html.escape(env.titles[page].astext())}</a>"
            for page in pages
        )
        mark = hashlib.sha256(f"{around}{links}{source.lines}".encode()).hexdigest()
        there = Path(app.builder.get_output_path(pagename))
        if there.is_file() and f'data-made="{mark}"' in there.read_text(encoding="utf-8"):
            continue  # it would be written as it is
        code = "".join(
            f'<span id="L{n}"><a class="line-number" href="#L{n}" data-line="{n}" '
            f'aria-label="line {n}"></a>{line}</span>'
            for n, line in enumerate(highlighted(source), 1)
        )
        body = (
            f"<h1>{html.escape(name)}</h1>\n" + (f"<p>Explained in: {links}</p>\n" if links else "")
            + f'<div class="highlight source-file" data-made="{mark}"><pre data-source="{html.escape(name)}" {scrolls(name)}>'
            f"<span></span>{code}</pre></div>"
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


def setup(app: Sphinx) -> None:
    app.add_node(listing, html=(visit_listing, None))
    app.add_directive("listing", Listing)
    app.add_node(left_out, html=(visit_left_out, None))
    app.add_directive("source", Source)
    shown.connect(app)
    left.connect(app)
    app.connect("doctree-read", fold_headers)
    app.connect("env-updated", check_coverage)
    app.connect("html-collect-pages", source_pages)
