"""The book as an EPUB 3: one XHTML file per page, mathematics as MathML, figures as SVG."""

import datetime
import os
import re
import shutil
import subprocess
import uuid
import xml.etree.ElementTree as ET
import zipfile
from html import escape
from pathlib import Path

from cli import Failure
from jinja2 import Template
from pages import MATHML, Page, has, images, read_book, rebuild, relink, slug

HERE = Path(__file__).resolve().parent
XHTML = "http://www.w3.org/1999/xhtml"
OPS = "http://www.idpf.org/2007/ops"
TOKENS = {f"{{{MATHML}}}{name}" for name in ("mi", "mn", "mo", "mtext")}
PAIRS = {f"{{{MATHML}}}{name}" for name in ("msup", "msub", "munder", "mover", "mfrac")}
APPLIED = "\u2061"  # the invisible operator after the name of a function
START = '<?xml version="1.0" encoding="utf-8"?>\n'


def as_mathml(element: ET.Element) -> list[ET.Element] | None:
    """Keep only the MathML of what KaTeX made."""
    if has(element, "katex-html"):
        return []
    if len(element) and element.tag in TOKENS:
        element.tag = f"{{{MATHML}}}mrow"  # KaTeX puts \\underset into an operator
        for name in ("lspace", "rspace"):
            element.attrib.pop(name, None)
    if element.tag in PAIRS and len(element) == 3 and element[2].text == APPLIED:
        del element[2]  # in e^{\max}, KaTeX gives it to the exponent as an extra child
    if element.tag == f"{{{MATHML}}}math":
        tex = next(element.iter(f"{{{MATHML}}}annotation"), None)
        if tex is not None:
            element.set("alttext", " ".join((tex.text or "").split()))
    return [element] if not has(element, "katex-mathml") else list(element)


def in_xhtml(element: ET.Element) -> None:
    """Use plain names, declare each namespace where it begins, and drop attributes that EPUB does not allow."""
    for child in element.iter():
        namespace, _, name = str(child.tag).rpartition("}")
        child.tag = name
        if name in {"math", "svg"} and namespace:
            child.set("xmlns", namespace[1:])
        if namespace != f"{{{MATHML}" and name != "img":
            for attribute in ("align", "role", "width", "height"):
                child.attrib.pop(attribute, None)


def xhtml(title: str, language: str, body: ET.Element, kind: str = "") -> bytes:
    spoken = {"lang": language, "xml:lang": language}
    html = ET.Element("html", {"xmlns": XHTML, "xmlns:epub": OPS, **spoken})
    head = ET.SubElement(html, "head")
    ET.SubElement(head, "title").text = title
    ET.SubElement(head, "link", rel="stylesheet", type="text/css", href="book.css")
    outer = ET.SubElement(html, "body", {"epub:type": kind} if kind else {})
    in_xhtml(body)
    outer.append(body)
    return (START + "<!DOCTYPE html>\n" + ET.tostring(html, encoding="unicode")).encode()


def fragment(text: str) -> ET.Element:
    """Parse our own markup."""
    return ET.fromstring(f"<section>{text}</section>")


def nav(book: list[Page]) -> ET.Element:
    """The table of contents: pages, and below each its sections and the pages that belong to it."""
    contents = ET.Element("ol")
    lists = [contents]  # those that are open
    for page in book:
        for n, heading in enumerate(page.headings):
            if heading.level > 2:
                continue
            while len(lists) < page.depth + heading.level:
                lists.append(ET.SubElement(lists[-1][-1], "ol"))
            del lists[page.depth + heading.level :]
            address = f"{page.slug}.xhtml" + (f"#{heading.identifier}" if n else "")
            ET.SubElement(ET.SubElement(lists[-1], "li"), "a", href=address).text = heading.text
    section = ET.Element("section")
    toc = ET.SubElement(section, "nav", {"epub:type": "toc", "id": "toc"})
    ET.SubElement(toc, "h1").text = "Contents"
    toc.append(contents)
    return section


def package(facts: dict[str, str], files: dict[str, bytes]) -> bytes:
    """content.opf, which must declare mathematics for each file that has some."""
    items = [
        {
            "name": name,
            "id": re.sub(r"[^A-Za-z0-9]", "-", name),
            "kind": "image/svg+xml" if name.endswith(".svg") else "application/xhtml+xml",
            "properties": "nav" if name == "nav.xhtml" else "mathml" if MATHML.encode() in content else "",
        }
        for name, content in files.items()
    ]
    template = Template((HERE / "package.opf").read_text(encoding="utf-8"), autoescape=True)
    return template.render(facts=facts, items=items, identifier=uuid.uuid5(uuid.NAMESPACE_URL, facts["title"])).encode()


def picture(path: Path) -> bytes:
    """An SVG file as EPUB requires it: no document type, no metadata, no path without a shape."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<!DOCTYPE[^>]*>\s*", "", text)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    return re.sub(r"<path(?![^>]*\sd=)", '<path d="M 0 0"', text).encode()


def check(path: Path) -> str:
    """Has epubcheck read it, which is a Java archive on Debian. Returns what there is to say; without it, that."""
    program = shutil.which("epubcheck")
    if program is None or not (java := shutil.which("java")):
        return "not checked, because epubcheck is not installed"
    archive = [java, "-jar", os.path.realpath(program)] if Path(program).read_bytes()[:2] == b"PK" else [program]
    run = subprocess.run([*archive, "--failonwarnings", "--quiet", path], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failure(f"epubcheck:\n{(run.stdout + run.stderr).strip()}")
    return "checked by epubcheck"


def make(html: Path, out: Path, facts: dict[str, str], note: str, cover: Path | None) -> str:
    """Write the EPUB. Returns a summary for the user."""
    book = read_book(html)
    relink(book, lambda name, place: f"{slug(name)}.xhtml{'#' + place if place else ''}")
    files: dict[str, bytes] = {}
    front = f'<h1 class="title">{escape(facts["title"])}</h1>'
    front += f'<p class="note">{escape(facts["author"])}</p>'
    if cover:
        files["images/cover.svg"] = picture(cover)
        front += '<p class="cover"><img src="images/cover.svg" alt="A translation; lines lead from its words to where they looked"/></p>'
    front += f'<p class="note">{escape(note)}</p><p class="note">{escape(facts["rights"])}</p>'
    files["title.xhtml"] = xhtml(facts["title"], facts["language"], fragment(front), "titlepage")
    files["nav.xhtml"] = xhtml("Contents", facts["language"], nav(book))
    for page in book:
        rebuild(page.body, as_mathml)
        for image, path in images(page, html):
            name = f"images/{path.parent.name}-{path.name}"
            files[name] = picture(path)
            image.set("src", name)
            image.attrib.pop("class", None)
        files[f"{page.slug}.xhtml"] = xhtml(page.title, facts["language"], page.body)
    package_file = package(facts, files)
    style = (HERE / "epub.css").read_bytes() + b"\n" + (HERE / "code.css").read_bytes()
    container = (
        f'{START}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        "<rootfiles>"
        '<rootfile full-path="EPUB/content.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>\n"
    ).encode()
    moment = datetime.datetime.fromisoformat(facts["modified"].rstrip("Z")).timetuple()[:6]
    part = out.with_suffix(".part.epub")  # epubcheck requires the suffix
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name: str, content: bytes, how: int = zipfile.ZIP_DEFLATED) -> None:
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = how
            archive.writestr(entry, content)

        put("mimetype", b"application/epub+zip", zipfile.ZIP_STORED)
        put("META-INF/container.xml", container)
        put("EPUB/content.opf", package_file)
        put("EPUB/book.css", style)
        for name, content in files.items():
            put(f"EPUB/{name}", content)
    checked = check(part)
    part.replace(out)
    return f"{len(book)} pages, {out.stat().st_size / 1e6:.1f} MB, {checked}"

