"""The rendered pages as one book, in the order of the contents; the EPUB and the PDF share this.

Both are made from BUILD/html, so they show what the pages show. They leave out the API reference,
the index and the copies of the source files; links to these lose their address but keep their text.
Only the light variant of each figure is kept. Folded boxes are open, and the replies to the answers of a
question are at the end of the page.
"""

import posixpath
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import tinyhtml5
from cli import Failure

LEFT_OUT = ("api/", "source/", "genindex", "search")
MATHML = "http://www.w3.org/1998/Math/MathML"
SVG = "http://www.w3.org/2000/svg"
ABOUT = "About this book"
HEADINGS = ("h1", "h2", "h3", "h4")


@dataclass
class Heading:
    level: int  # in its page, from 1
    text: str
    identifier: str


@dataclass
class Page:
    """One page; `depth` is 0 for a chapter and 1 for a page below it."""

    name: str  # such as chapters/04_x/index
    depth: int
    group: str  # the caption above it in the contents
    body: ET.Element  # a section
    headings: list[Heading] = field(default_factory=list)

    @property
    def slug(self) -> str:
        return slug(self.name)

    @property
    def title(self) -> str:
        return self.headings[0].text if self.headings else self.name


def slug(name: str) -> str:
    """A page's name as an identifier and as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


# Elements -----------------------------------------------------------------------------------------


def classes(element: ET.Element) -> list[str]:
    return element.get("class", "").split()


def has(element: ET.Element, name: str) -> bool:
    return name in classes(element)


def text_of(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def rebuild(
    element: ET.Element, change: Callable[[ET.Element], list[ET.Element | str] | None]
) -> None:
    """Replace each child by what `change` makes of it, innermost first; None keeps the child."""
    kept: list[ET.Element] = []

    def add_text(text: str | None) -> None:
        if not text:
            return
        if kept:
            kept[-1].tail = (kept[-1].tail or "") + text
        else:
            element.text = (element.text or "") + text

    for child in list(element):
        if not isinstance(child.tag, str):  # a comment
            add_text(child.tail)
            continue
        rebuild(child, change)
        tail, child.tail = child.tail, None
        new = change(child)
        for item in [child] if new is None else new:
            if isinstance(item, str):
                add_text(item)
            else:
                kept.append(item)
        add_text(tail)
    element[:] = kept


def first_class(element: ET.Element, name: str) -> ET.Element | None:
    return next((e for e in element.iter() if has(e, name)), None)


# Reading ------------------------------------------------------------------------------------------


def parsed(path: Path) -> ET.Element:
    with path.open("rb") as file:
        return tinyhtml5.parse(file, namespace_html_elements=False, transport_encoding="utf-8")


def contents(index: ET.Element) -> Iterator[tuple[str, int, str]]:
    """Name, depth and group of each page in the navigation list."""
    tree = first_class(index, "sidebar-tree")
    if tree is None:
        raise Failure("index.html has no navigation list of the pages")
    group = ""

    def entries(items: ET.Element, depth: int) -> Iterator[tuple[str, int, str]]:
        for item in items.findall("li"):
            link = item.find("a")
            address = link.get("href", "") if link is not None else ""
            if address.endswith(".html") and not address.startswith(LEFT_OUT):
                yield address.removesuffix(".html"), depth, group
            for below in item.findall("ul"):
                yield from entries(below, depth + 1)

    for child in tree:
        if has(child, "caption"):
            group = text_of(child)
        elif child.tag == "ul":
            yield from entries(child, 0)


def replies_last(body: ET.Element) -> None:
    """Leave a question its answers, as a list with letters, and move the replies to a section at the end."""
    section = ET.Element("section", {"id": "answers", "class": "answers"})
    ET.SubElement(section, "h2").text = "Answers"
    for number, question in enumerate((e for e in body.iter("div") if has(e, "question")), 1):
        answers = [child for child in question if child.tag == "details" and has(child, "answer")]
        choices = ET.Element("ol", {"type": "a"})
        replies = ET.Element("ol", {"type": "a"})
        for answer in answers:
            said, reply = answer
            choices.append(said)
            said.tag, said.tail = "li", None
            replies.append(reply)
            reply.tag, reply.tail = "li", None
            question.remove(answer)
        question.append(choices)
        kind = first_class(question, "box-kind")
        if kind is not None:
            kind.text = f"Question {number}"
        ET.SubElement(ET.SubElement(section, "p"), "strong").text = f"Question {number}"
        section.append(replies)
    if len(section) > 1:
        body.append(section)


def cleaned(element: ET.Element) -> list[ET.Element] | None:
    """Remove what only a screen needs, and open what is folded."""
    tag = element.tag
    if tag in {"script", "noscript", "button", "input"} or has(element, "headerlink"):
        return []
    if has(element, "only-dark") or has(element, "toctree-wrapper") or tag == "source":
        return []
    if tag == "picture" or has(element, "live"):  # its other shapes are for narrow screens; a figure stands for what moves
        return list(element)
    if tag == "details":
        element.tag = "div"
        element.set("class", " ".join([*classes(element), "fold"]))
        element.attrib.pop("open", None)
    elif tag == "summary":
        element.tag = "p"
        element.attrib.clear()
        element.set("class", "fold-title")
    elif has(element, "value"):
        element.attrib.pop("title", None)
    elif tag == "figure" and len(element) == 1 and has(element[0], "fold"):
        title, caption, code = element[0]
        title.tag, title.tail = "span", " "
        caption.insert(0, title)
        element[:] = [caption, code]
    for name in [name for name in element.attrib if name.endswith("xmlns")]:
        del element.attrib[name]  # the element's own name contains it
    return None


def read_page(html: Path, name: str, depth: int, group: str) -> Page:
    document = parsed(html / f"{name}.html")
    article = next(document.iter("article"), None)
    body = article.find("section") if article is not None else None
    if body is None:
        raise Failure(f"{name}.html has no text")
    for math in body.iter(f"{{{MATHML}}}math"):
        for element in math.iter():  # inside an operator, the HTML parser makes HTML elements
            if not str(element.tag).startswith("{"):
                element.tag = f"{{{MATHML}}}{element.tag}"
    replies_last(body)
    rebuild(body, cleaned)
    body.tail = None
    return Page(name, depth, group, body)


def read_book(html: Path) -> list[Page]:
    """All pages, with identifiers that are unique in the book. Links are left as they are."""
    if not (html / "index.html").is_file():
        raise Failure("there are no pages yet; make them with: ./book build")
    names = [("index", 0, ""), *contents(parsed(html / "index.html"))]
    book = [read_page(html, *name) for name in names]
    for heading in book[0].body.iter("h1"):  # its own heading is the title of the book
        heading.clear()
        heading.text = ABOUT
    for page in book:
        for element in page.body.iter():
            if "id" in element.attrib:
                element.set("id", anchor(page.name, element.get("id", "")))
        for section in page.body.iter("section"):
            for element in section:
                if element.tag in HEADINGS:
                    # An anchor on the heading itself, so that a bookmark leads to the line of text.
                    place = f"{section.get('id') or page.slug}--h"
                    element.set("id", place)
                    level = int(str(element.tag)[1])
                    page.headings.append(Heading(level, text_of(element), place))
        if not page.headings or page.headings[0].level != 1:
            raise Failure(f"{page.name}.html does not start with a heading")
    return book


def anchor(name: str, identifier: str) -> str:
    """The identifier in the book for one in a page."""
    return f"{slug(name)}--{re.sub(r'[^A-Za-z0-9_.-]', '-', unquote(identifier))}"


def resolve(page: Page, address: str, names: set[str]) -> tuple[str, str] | None:
    """The page and identifier that a link leads to; None if it leads out of the book."""
    path, _, fragment = address.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page.name), unquote(path)))
    name = target.removesuffix(".html") if path else page.name
    if name not in names:
        return None
    return name, anchor(name, fragment) if fragment else ""


def relink(book: list[Page], address: Callable[[str, str], str]) -> None:
    """Give links inside the book the address that `address(page, identifier)` returns."""
    names = {page.name for page in book}
    for page in book:
        for link in page.body.iter("a"):
            href = link.get("href")
            if href is None or re.match(r"(?:[a-z][a-z0-9+.-]*:|//)", href, re.IGNORECASE):
                continue
            found = resolve(page, href, names)
            if found is None:
                del link.attrib["href"]
                link.tag = "span"
            else:
                link.set("href", address(*found))
            for name in ("rel", "title", "target"):
                link.attrib.pop(name, None)


def images(page: Page, html: Path) -> Iterator[tuple[ET.Element, Path]]:
    """Each picture and its file."""
    for image in page.body.iter("img"):
        source = unquote(image.get("src", ""))
        yield image, (html / posixpath.dirname(page.name) / source).resolve()
