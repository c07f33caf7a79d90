"""Make the slides and the pack of figures, from the rendered pages.

    build/venv/bin/python docs/slides --root . --build build/book

reads the chapters' pages BUILD/html/chapters/*/index.html, and those beside them that have a card, and writes BUILD/slides, with a
deck NN/index.html for each chapter, and BUILD/figures.zip. A deck says nothing of its own. It begins with the chapter's title and first sentence; then a slide shows
each figure, listing, output, table and box of the page under its section's heading; neighboring equations share one, and a
card is one.
Text goes to the speaker's notes. What the page folds away and what it asks as an exercise are left out.
"""

import argparse
import html
import pickle
import re
import shutil
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("lib/program", "docs/extensions", "docs")]

import cli
from abh_book.plot import plot
from bs4 import BeautifulSoup, NavigableString, SoupStrainer, Tag
from docutils import nodes

OUT = """.headerlink, script, noscript, details.fold, figure.listing:has(> details), .exercise, .checked, .left-out, .origin,
    .toctree-wrapper"""
SHOWN = "figure, .math.display, table, .highlight:not(figure *)"
TEXT = {"p", "ul", "ol", "dl", "blockquote"}
LINES, EQUATIONS = 30, 3  # on one slide
OF_REVEAL = ("LICENSE", "dist/reveal.js", "dist/reveal.css", "plugin/notes/notes.js")
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
{styles}
</head>
<body>
{body}
</body>
</html>
"""
INDEX = """\
<main><h1>Slides of Attention by Hand</h1>
<table><tr><th>deck</th><th>slides</th></tr>
{rows}
</table>
<p>Arrow keys or the space bar turn the slides, <b>S</b> opens the window with the notes, the next slide and a clock,
<b>O</b> shows all slides, <b>?</b> lists all keys. To print a deck or save it as PDF, open it with <code>?print-pdf</code>
after <code>index.html</code> and print; <code>?print-pdf&amp;showNotes=separate-page</code> adds the notes.</p>
<p>The text and the figures are under <a href="https://creativecommons.org/licenses/by-sa/4.0/">CC BY-SA 4.0</a>, the code
under the MIT license.</p></main>"""
README = """\
# Figures of Attention by Hand

Every figure of the book's pages as SVG, for a light background in `light` and for a dark one in `dark`. A name begins with the number
of the chapter whose program drew the figure. The table below has the captions.

The figures are under the Creative Commons Attribution-ShareAlike 4.0 International license
(https://creativecommons.org/licenses/by-sa/4.0/): you may use and change them, also in what you sell, if you name the source and
share your changes of them under the same license. To name the source, "Attention by Hand, CC BY-SA 4.0" under the figure is enough;
CITATION.cff has what a bibliography needs.

| figure | caption |
|--------|---------|
"""

# What a page has ----------------------------------------------------------------------------------


def parsed(text: str, only: str | None = None) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser", parse_only=SoupStrainer(only) if only else None)


def read_page(path: Path) -> Tag:
    """The page's text, with words instead of links, and with pictures that follow the reader's choice of light and dark."""
    page = parsed(path.read_text(encoding="utf-8"), "article")
    for element in page.select(OUT):
        element.decompose()
    for element in page.select("a"):
        element.unwrap()
    for figure in page.select("figure.plot"):
        light, dark = (figure.select_one(f"img.only-{look}") for look in ("light", "dark"))
        source = f'<source media="screen and (prefers-color-scheme: dark)" srcset="{dark["src"]}">'
        caption = figure.figcaption or ""
        figure.clear()
        figure.extend([parsed(f"<picture>{source}{light}</picture>"), caption])
    for element in page.find_all(True):
        for name in ("id", "tabindex", "role"):
            element.attrs.pop(name, None)
        for name in {"src", "srcset"} & element.attrs.keys():
            element[name] = element[name].removeprefix("../")  # a deck is not as deep in its folders as the page
    return page


def first_sentence(paragraph: Tag) -> str:
    said = ""
    for child in paragraph.children:
        text = child.output_ready() if isinstance(child, NavigableString) else str(child)
        if isinstance(child, NavigableString) and (end := re.search(r"[.?!](?=\s)", text)):
            return said + text[: end.end()]
        said += text
    return said


def pieces(element: Tag) -> list[str]:
    """The element; a long text of fixed width in pieces of nearly the same length. Pygments ends all spans with their line."""
    text = element.pre.decode_contents() if element.pre else ""
    lines = text.rstrip("\n").split("\n")
    size = -(-len(lines) // -(-len(lines) // LINES))
    parts = ["\n".join(lines[start : start + size]) for start in range(0, len(lines), size)]
    return [str(element).replace(text, part) for part in parts]


# Decks --------------------------------------------------------------------------------------------


class Slide:
    def __init__(self, heading: str, kind: str, shown: str) -> None:
        self.heading, self.kind, self.shown = heading, kind, [shown]
        self.notes: list[str] = []

    def __str__(self) -> str:
        notes = parsed("\n".join(self.notes))
        for element in notes.select(".katex-html"):  # the speaker's window lacks its style sheet; MathML needs none
            element.decompose()
        shown = "\n".join(self.shown)
        slide = f'<div class="slide">{self.heading}\n<div class="body">{shown}</div></div>'
        return f'<section>{slide}\n<aside class="notes">{notes}</aside></section>\n'


class Deck:
    def __init__(self, page: Tag) -> None:
        title = page.h1
        self.title = title.get_text()
        self.current: Slide | None = Slide(str(title), "lead", f"<p>{first_sentence(page.p)}</p>")  # what the next text is about
        self.slides = [self.current]
        for section in page.select("section"):
            heading = section.find(["h1", "h2", "h3", "h4"]).decode_contents()
            self.waiting: list[str] = []  # text that comes before what it is about
            self.read(section, f"<h2>{heading}</h2>")
            if self.waiting:
                self.slides[-1].notes += [f"<p><strong>{heading}</strong></p>", *self.waiting]
            self.current = None

    def say(self, text: str) -> None:
        (self.current.notes if self.current else self.waiting).append(text)

    def show(self, heading: str, kind: str, shown: str) -> None:
        if self.current and self.current.kind == kind == "math" and len(self.current.shown) < EQUATIONS:
            self.current.shown.append(shown)
            return
        self.current = Slide(heading, kind, shown)
        self.current.notes, self.waiting = self.waiting, []
        self.slides.append(self.current)

    def read(self, part: Tag, heading: str) -> None:
        """Show what can be shown of a section or of a box, and say the rest."""
        for child in part.find_all(lambda element: element.name != "section", recursive=False):
            names = child.get("class", [])
            if {"live", "stage"} & set(names):
                self.read(child, heading)
                continue
            if "box" in names:
                self.current = None
                title = child.find(class_="box-title").extract()
                if "card" in names:
                    self.show(f"{heading}\n{title}", "card", child.decode_contents())
                else:
                    (self.ask if "question" in names else self.read)(child, f"{heading}\n{title}")
                continue
            for one in [child] if child.css.match(SHOWN) else child.select(SHOWN):
                kind = "table" if one.name == "table" else one["class"][0]
                for piece in pieces(one):
                    self.show(heading, kind, piece)
            if child.name in TEXT:
                self.say(str(child))

    def ask(self, box: Tag, heading: str) -> None:
        """A question with its answers; the replies go to the notes."""
        answers = [answer.extract() for answer in box.select("details.answer")]
        choices = "".join(f"<li>{answer.summary.decode_contents()}</li>" for answer in answers)
        self.show(heading, "question", f"{box.decode_contents()}<ol>{choices}</ol>")
        for letter, answer in zip("ABCD", answers, strict=False):
            self.say(f"<p><strong>{letter}</strong></p>{answer.div.decode_contents()}")


def document(title: str, styles: list[str], body: str) -> str:
    links = "\n".join(f'<link rel="stylesheet" href="{style}">' for style in styles)
    return PAGE.format(title=html.escape(title), styles=links, body=body)


def make_decks(build: Path, out: Path) -> None:
    """All decks, in the folder `out`, with what they load."""
    pages, static = build / "html", out / "_static"
    static.mkdir(parents=True)
    reveal = Path(find_spec("sphinx_revealjs").origin).parent / "_static" / "revealjs"
    for path in (*(reveal / name for name in OF_REVEAL), HERE / "deck.css", HERE / "deck.js", pages / "_static/pygments.css"):
        shutil.copy(path, static)
    shutil.copytree(pages / "_static/katex", static / "katex")
    shutil.copytree(pages / "_figures", out / "_figures", ignore=shutil.ignore_patterns("*.narrow.*"))
    styles = [f"../_static/{name}.css" for name in ("reveal", "pygments", "katex/katex", "deck")]
    scripts = "".join(f'<script src="../_static/{name}.js"></script>\n' for name in ("reveal", "notes", "deck"))
    rows = ""
    for path in sorted(pages.glob("chapters/*/index.html")):
        deck, folder = Deck(read_page(path)), out / path.parent.name[:2]
        for other in sorted(set(path.parent.glob("*.html")) - {path}):
            if (page := read_page(other)).select_one(".box.card"):
                deck.slides += Deck(page).slides
        folder.mkdir()
        body = f'<div class="reveal"><div class="slides">\n{"".join(map(str, deck.slides))}</div></div>\n{scripts}'
        (folder / "index.html").write_text(document(deck.title, styles, body), encoding="utf-8")
        rows += f'<tr><td><a href="{folder.name}/index.html">{html.escape(deck.title)}</a></td><td>{len(deck.slides)}</td></tr>\n'
    (out / "index.html").write_text(document("Slides", ["_static/deck.css"], INDEX.format(rows=rows)), encoding="utf-8")


# Figures ------------------------------------------------------------------------------------------


def caption(figure: nodes.Element) -> str:
    """The caption, or else the description, as text with TeX."""
    for math in list(figure.findall(nodes.math)):
        math.replace_self(nodes.Text(f"${math.astext()}$"))
    said = " ".join(one.astext() for one in figure.findall(nodes.paragraph)) or figure["alt"]
    return " ".join(said.split()).replace("|", r"\|")


def pack(root: Path, build: Path) -> None:
    """The figures of all pages, and a table with their captions."""
    figures: dict[tuple[str, str], str] = {}
    for path in sorted(build.glob("doctrees/**/*.doctree")):
        if "api" not in path.relative_to(build / "doctrees").parts:
            for figure in pickle.loads(path.read_bytes()).findall(plot):
                figures.setdefault((figure["chapter"], figure["figure"]), caption(figure))
    rows = "".join(f"| `{chapter}-{name}.svg` | {said} |\n" for (chapter, name), said in sorted(figures.items()))
    with zipfile.ZipFile(build / "figures.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        folder = "attention-by-hand-figures"
        archive.writestr(f"{folder}/README.md", README + rows)
        archive.write(root / "CITATION.cff", f"{folder}/CITATION.cff")
        for look in ("light", "dark"):
            for chapter, name in sorted(figures):
                archive.write(build / "figures" / chapter / f"{name}.{look}.svg", f"{folder}/{look}/{chapter}-{name}.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description="make the slides and the pack of figures")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the repository")
    parser.add_argument("--build", type=Path, default=Path("build/book"), help="build folder (default: build/book)")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "html" / "index.html").is_file():
        raise cli.Failure("there are no pages yet; make them with: ./book build")
    made, slides = build / "slides.new", build / "slides"
    shutil.rmtree(made, ignore_errors=True)
    make_decks(build, made)
    shutil.rmtree(slides, ignore_errors=True)
    made.rename(slides)
    pack(options.root.resolve(), build)
    print(f"book: {slides / 'index.html'}, {build / 'figures.zip'}")


if __name__ == "__main__":
    cli.run(main)
