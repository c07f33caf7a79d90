"""The book as a PDF for reading and printing: one document, laid out by WeasyPrint.

Bookmarks, running heads, page numbers in the contents and links come from print.css. A line of code
that is wider than the page is set smaller, and broken if that is not enough. If anything else
does not fit, the build fails, as it does for a link that leads nowhere.
"""

import logging
import re
import unicodedata
import xml.etree.ElementTree as ET
from html import escape
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

from cli import Failure
from pages import Page, classes, has, images, read_book, rebuild, relink, slug

HERE = Path(__file__).resolve().parent
COLUMNS = 102  # of code that fit on a line at the usual size: see `pre` in print.css
IN_BOX = 6  # columns fewer in a box: see `.box`
SMALLEST = 0.82  # of the usual size
SHORT = 14  # lines of code that stay together
TOLERANCE = 1.5  # in CSS pixels
COLORED = frozenset(re.findall(r"\.(\w+)", (HERE / "code.css").read_text(encoding="utf-8")))


# What goes in -------------------------------------------------------------------------------------


def as_print(element: ET.Element) -> list[ET.Element | str] | None:
    """Keep only the HTML of what KaTeX made, and remove data for other programs."""
    if has(element, "katex-mathml"):
        return []
    for name in [name for name in element.attrib if name.startswith("data-")]:
        del element.attrib[name]
    return None


def uncolored(element: ET.Element) -> list[ET.Element | str] | None:
    """Turn code that no rule colors into text, which saves more than half of all elements, and their memory."""
    if element.tag != "span" or element.get("id") or COLORED & set(classes(element)):
        return None
    return [element.text or "", *element]


def indented(code: ET.Element) -> None:
    """Move space that stands alone into the colored text after it: WeasyPrint draws no such space, and
    code copied from the PDF would lose its indentation."""
    holder, slot = code, "text"
    for child in code:
        text = getattr(holder, slot) or ""
        start = text.rfind("\n") + 1
        if text[start:].isspace() and child.tag == "span" and "".join(child.itertext()):
            setattr(holder, slot, text[:start])
            child.text = text[start:] + (child.text or "")
        indented(child)
        holder, slot = child, "tail"


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit_code(page: Page) -> None:
    """Keep short code together, and set wide code smaller. Only code with a color stays marked up."""

    def fit(pre: ET.Element, room: int) -> int:
        """Returns the number of lines."""
        rebuild(pre, uncolored)
        indented(pre)
        lines = "".join(pre.itertext()).rstrip("\n").split("\n")
        widest = max(columns(line) for line in lines)
        if widest > room:
            pre.set("style", f"font-size: {max(room / widest, SMALLEST):.3f}em")
        return len(lines)

    def walk(element: ET.Element, room: int) -> None:
        for block in element:
            inside = room - IN_BOX if has(block, "box") else room
            pre = block.find("pre") if block.tag == "div" else None
            if pre is None:
                walk(block, inside)
            elif fit(pre, inside) <= SHORT:
                whole = element if element.tag == "figure" else block
                whole.set("class", " ".join([*classes(whole), "short"]))

    walk(page.body, COLUMNS)


def front(book: list[Page], facts: dict[str, str], note: str, cover: Path | None) -> str:
    """The title page and the contents."""
    image = f'<img src="{cover.as_uri()}" alt="A translation; lines lead from its words to where they looked">' if cover else ""
    lines: list[str] = []
    group = ""
    for page in book:
        if page.group != group:
            group = page.group
            lines.append(f'<p class="group">{escape(group)}</p>')
        for n, heading in enumerate(page.headings):
            if heading.level <= 2:
                level = page.depth + heading.level
                place = heading.identifier if n else page.slug
                text = escape(heading.text)
                lines.append(f'<p class="d{level}"><a href="#{place}">{text}</a></p>')
    return (
        f'<section class="title-page"><h1>{escape(facts["title"])}</h1>'
        f"<p>{escape(facts['author'])}</p>{image}"
        f'<p class="note">{escape(note)}</p><p class="note">{escape(facts["rights"])}</p></section>'
        f'<nav class="contents"><h1 id="contents">Contents</h1>{"".join(lines)}</nav>'
    )


def assembled(
    book: list[Page], html: Path, facts: dict[str, str], note: str, cover: Path | None
) -> str:
    """The whole book as one page of HTML."""
    relink(book, lambda name, place: f"#{place or slug(name)}")
    parts: list[str] = []
    for page in book:
        rebuild(page.body, as_print)
        fit_code(page)
        for image, path in images(page, html):
            image.set("src", path.as_uri())
        for element in page.body.iter():
            name = str(element.tag)
            if name.startswith("{"):  # KaTeX's drawings
                namespace, _, element.tag = name[1:].partition("}")
                if element.tag == "svg":
                    element.set("xmlns", namespace)
        text = ET.tostring(page.body, encoding="unicode", method="html")
        parts.append(f'<div class="page depth{page.depth}" id="{page.slug}">{text}</div>')
    styles = [html / "_static" / "katex" / "katex.css", HERE / "code.css", HERE / "print.css"]
    links = "".join(f'<link rel="stylesheet" href="{path.resolve().as_uri()}">' for path in styles)
    return (
        f'<!doctype html><html lang="{facts["language"]}"><head><meta charset="utf-8">'
        f"<title>{escape(facts['title'])}</title>"
        f'<meta name="author" content="{escape(facts["author"])}">'
        f'<meta name="dcterms.modified" content="{facts["modified"]}">'
        f'<meta name="description" content="{escape(facts["rights"])}">{links}</head>'
        f"<body>{front(book, facts, note, cover)}{''.join(parts)}</body></html>"
    )


# What comes out -----------------------------------------------------------------------------------


def too_wide(document: Any) -> list[str]:
    """Text and figures that would be cut off at the right margin."""
    wrong: list[str] = []
    for number, page in enumerate(document.pages, 1):
        box = page._page_box
        for child in box.children:
            if type(child).__name__ == "MarginBox":
                continue
            edge = box.content_box_x() + box.width + TOLERANCE
            for inner in child.descendants():
                kind = type(inner).__name__
                if kind not in {"TextBox", "InlineReplacedBox", "BlockReplacedBox"}:
                    continue
                text = getattr(inner, "text", "a figure").strip()
                if text and inner.position_x + inner.width > edge:
                    over = inner.position_x + inner.width - edge
                    wrong.append(f"page {number}: {over:.0f} px too wide: {text[:60]}")
    return wrong


def make(html: Path, out: Path, facts: dict[str, str], note: str, cover: Path | None) -> str:
    """Write the PDF. Returns a summary for the user."""
    try:
        import weasyprint
    except OSError as error:  # it is installed, but does not find Pango
        wanted = "install libpango-1.0-0 and libpangoft2-1.0-0"
        raise Failure(f"WeasyPrint: {error}; {wanted}") from None
    book = read_book(html)
    text = assembled(book, html, facts, note, cover)
    (out.parent / "print.html").write_text(text, encoding="utf-8")
    complaints = BufferingHandler(1000)
    complaints.setLevel(logging.ERROR)  # its warnings are about unknown CSS
    logger = logging.getLogger("weasyprint")
    logger.addHandler(complaints)
    document = weasyprint.HTML(string=text, base_url=html.as_uri()).render()
    if wrong := too_wide(document):
        raise Failure("the PDF would be cut off at the margin:\n" + "\n".join(wrong))
    part = out.with_suffix(".part")
    document.write_pdf(part, pdf_tags=True)
    logger.removeHandler(complaints)
    if complaints.buffer:
        raise Failure("WeasyPrint:\n" + "\n".join(sorted({said.getMessage() for said in complaints.buffer})))
    part.replace(out)
    return f"{len(document.pages)} pages, {out.stat().st_size / 1e6:.1f} MB"
