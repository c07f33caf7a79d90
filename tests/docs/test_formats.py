"""The EPUB and the PDF of a small project: complete, closed in themselves, and readable.

What they are made with is installed by `./book build --epub` or `--pdf`; without it, these tests
are skipped.
"""

import importlib.util
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

from project import CHAPTER, ROOT, Case, Project, run

from abh_book import weave
from nightly import nightly

FORMATS = ROOT / "docs" / "formats"
HAVE = all(importlib.util.find_spec(name) for name in ("tinyhtml5", "weasyprint", "pypdf"))
WITHOUT = "not installed: docs/requirements-formats.txt; ./book build --epub or --pdf installs it"


def pango() -> str:
    """Why no PDF can be made; empty when it can."""
    try:
        import weasyprint  # noqa: F401
    except OSError as error:
        return f"WeasyPrint finds no Pango: {error}"
    return ""


def make(project: Project, *kinds: str) -> subprocess.CompletedProcess[str]:
    return run(FORMATS, "--root", project.root, "--build", project.build, *kinds)


def listed(root: Path) -> list[str]:
    """All lines of code that teach."""
    return [
        line.rstrip()
        for source in (weave.read_source(root, name) for name in weave.source_names(root))
        for part in source.teaches
        for line in source.text(part).split("\n")
        if line.strip() and part.name != "shape text"  # which a page leaves to the source
    ]


class Format(Case):
    """The small project, rendered once, with a figure in two shapes that a live part holds; and the file made of it."""

    kind = ""
    good: Project | None = None

    @classmethod
    def setUpClass(cls) -> None:
        if why := pango() if cls.kind == "pdf" else "":
            raise unittest.SkipTest(why)
        if Format.good is None:
            folder = tempfile.TemporaryDirectory()
            unittest.addModuleCleanup(folder.cleanup)
            good = Format.good = Project(Path(folder.name).resolve())
            good.add_narrow_figure()
            cls.assert_succeeds(cls(), good.render())
            page = (good.html / CHAPTER).with_suffix(".html")
            live = r'<abh-attention class="live">\n\1</abh-attention>'
            text = re.sub(r'(<figure class="plot".*?</figure>)', live, page.read_text(encoding="utf-8"), flags=re.DOTALL)
            page.write_text(text, encoding="utf-8")
        cls.said = make(Format.good, f"--{cls.kind}")
        cls.path = Format.good.build / f"attention-by-hand.{cls.kind}"
        cls.assert_succeeds(cls(), cls.said)
        cls.code = listed(Format.good.root)


@unittest.skipUnless(HAVE, WITHOUT)
class Epub(Format):
    kind = "epub"

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        with zipfile.ZipFile(cls.path) as archive:
            cls.files = {name: archive.read(name) for name in archive.namelist()}
        cls.pages = {n: ET.fromstring(c) for n, c in cls.files.items() if n.endswith(".xhtml")}
        cls.chapter = "EPUB/chapters-04-small-attention-index.xhtml"

    def test_epubcheck_finds_nothing(self) -> None:
        if "not checked" in self.said.stdout:
            self.skipTest("no epubcheck here: install the package epubcheck")
        self.assertIn("checked by epubcheck", self.said.stdout)

    def test_every_link_inside_the_book_leads_somewhere(self) -> None:
        places = {name: {e.get("id") for e in page.iter()} for name, page in self.pages.items()}
        count = 0
        for name, page in self.pages.items():
            for link in page.iter("{http://www.w3.org/1999/xhtml}a"):
                file, _, place = link.get("href", "").partition("#")
                if "://" in file:
                    continue
                target = f"EPUB/{file}" if file else name
                self.assertIn(target, self.pages)
                self.assertTrue(not place or place in places[target], link.get("href"))
                count += 1
        self.assertGreater(count, 4)

    def test_mathematics_is_mathml_with_its_tex(self) -> None:
        page = self.pages[self.chapter]
        formulas = list(page.iter("{http://www.w3.org/1998/Math/MathML}math"))
        self.assertEqual(len(formulas), 11)
        self.assertEqual(formulas[2].get("display"), "block")
        self.assertTrue(all(f.get("alttext") for f in formulas))
        self.assertFalse([e for e in page.iter() if "katex-html" in e.get("class", "")])

    def test_a_live_part_is_its_light_figure_with_its_description(self) -> None:
        names = [name for name in self.files if name.endswith(".svg")]
        self.assertEqual(names, ["EPUB/images/04_small_attention-weights.light.svg"])
        self.assertIn('alt="Heat map of 8 x 8 weights', self.files[self.chapter].decode())
        self.assertNotIn(b"<abh-", b"".join(self.files.values()))

    def test_every_listing_is_whole_and_open(self) -> None:
        lines: set[str] = set()
        for page in self.pages.values():
            for block in page.iter("{http://www.w3.org/1999/xhtml}pre"):
                lines |= {line.rstrip() for line in "".join(block.itertext()).splitlines()}
        self.assertEqual([line for line in self.code if line not in lines], [])
        self.assertNotIn(b"<details", b"".join(self.files.values()))


@unittest.skipUnless(HAVE, WITHOUT)
class Pdf(Format):
    kind = "pdf"

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        from pypdf import PdfReader

        cls.reader: Any = PdfReader(cls.path)
        cls.texts = [page.extract_text() for page in cls.reader.pages]
        cls.bookmarks = [(str(e.title), cls.reader.get_destination_page_number(e)) for e in cls.flat(cls.reader.outline)]

    @classmethod
    def flat(cls, entries: list[Any]) -> list[Any]:
        return [each for entry in entries for each in (cls.flat(entry) if isinstance(entry, list) else [entry])]

    def test_bookmarks_and_contents_are_the_headings_in_their_order_with_their_pages(self) -> None:
        wanted = ["Contents", "About this book", "The workbench", "Small attention", "Answers", "Lists"]
        self.assertEqual([title for title, _ in self.bookmarks], wanted)
        pages = [page for _, page in self.bookmarks]
        self.assertEqual(pages, sorted(pages))
        lines = self.texts[1].splitlines()
        for title, page in self.bookmarks[1:]:
            line = next(line for line in lines if title in line)
            self.assertTrue(line.endswith(str(page + 1)), line)

    def test_pages_are_numbered_and_have_a_running_head(self) -> None:
        for number, text in enumerate(self.texts, 1):
            self.assertIn("Attention by Hand" if number == 1 else str(number), text.splitlines())
        self.assertIn(self.bookmarks[-1][0], self.texts[-1])

    def test_every_line_of_every_listing_is_there_and_keeps_its_indentation(self) -> None:
        shown = {line.rstrip() for text in self.texts for line in text.splitlines()}
        indented = [line for line in self.code if line.startswith("    ")]
        self.assertGreater(len(indented), 3)
        self.assertEqual([line for line in indented if line not in shown], [])
        closed = re.sub(r"\s+", "", "".join(self.texts))
        self.assertEqual([line for line in self.code if re.sub(r"\s+", "", line) not in closed], [])

    def test_a_gloss_stands_in_parentheses(self) -> None:
        self.assertIn("我(I)有(have)朋友(friend)", re.sub(r"\s", "", "".join(self.texts)))

    def test_the_light_figure_alone_is_printed(self) -> None:
        text = (self.path.parent / "print.html").read_text(encoding="utf-8")
        self.assertIn("weights.light.svg", text)
        self.assertNotIn(".dark.svg", text)


@nightly
@unittest.skipUnless(HAVE, WITHOUT)
class Refused(Case):
    """What a reader of the PDF would miss stops the build; wide code does not."""

    def setUp(self) -> None:
        if why := pango():
            self.skipTest(why)

    def test_a_formula_that_would_be_cut_is_named(self) -> None:
        project = self.project()
        wide = f"$\\text{{{'w' * 150}}}$ holds, {{eq}}`weights` too,"
        project.edit(CHAPTER, "Equation {eq}`weights` holds", wide)
        self.assert_succeeds(project.render())
        self.assert_refused(make(project, "--pdf"), "px too wide")

    def test_a_wide_line_of_code_is_set_smaller_or_broken(self) -> None:
        from pypdf import PdfReader

        project = self.project()
        lines = ["// " + "".join(str(n % 10) for n in range(width)) for width in (115, 300)]
        project.edit("lib/tensor.cpp", "    // [at]\n", "    // [at]\n" + "".join(f"{line}\n" for line in lines))
        self.assert_succeeds(project.render())
        self.assert_succeeds(make(project, "--pdf"))
        text = "\n".join(page.extract_text() for page in PdfReader(project.build / "attention-by-hand.pdf").pages)
        self.assertIn(lines[0].replace(" ", ""), text.replace(" ", ""))
        self.assertIn(lines[1].replace(" ", ""), re.sub(r"\s", "", text))

    def test_without_pages_it_says_how_to_make_them(self) -> None:
        self.assert_refused(make(self.project(), "--epub"), "./book build")
