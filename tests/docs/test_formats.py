"""The EPUB and the PDF of a small project: complete, closed in themselves, and readable.

What they are made with is installed by `./book build --epub` or `--pdf`; without it, these tests
are skipped.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from project import REPOSITORY, Case, Project, run

sys.path[:0] = [str(REPOSITORY / "docs" / "extensions"), str(REPOSITORY / "tests")]

from abh_book import weave
from nightly import nightly

FORMATS = REPOSITORY / "docs" / "formats"
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


def listed(root: Path, stripped: Callable[[str], str] = str.strip) -> list[str]:
    """All lines of code that teach, without space at their ends."""
    return [
        stripped(line)
        for source in (weave.read_source(root, name) for name in weave.source_names(root))
        for part in source.teaches
        for line in source.text(part).split("\n")
        if line.strip() and part.name != "shape text"  # which a page leaves to the source
    ]


@unittest.skipUnless(HAVE, WITHOUT)
class Epub(Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.good = Project(Path(cls.folder.name).resolve())
        cls.good.add_narrow_figure()
        cls.rendered = cls.good.render()
        page = cls.good.build / "html/chapters/04_small_attention/index.html"
        live = r'<abh-attention class="live">\n\1</abh-attention>'
        page.write_text(re.sub(r'(<figure class="plot".*?</figure>)', live, page.read_text(encoding="utf-8"), flags=re.DOTALL), encoding="utf-8")
        cls.said = make(cls.good, "--epub")
        cls.path = cls.good.build / "attention-by-hand.epub"

    def setUp(self) -> None:
        self.assert_succeeds(self.rendered)
        self.assert_succeeds(self.said)

    def files(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def pages(self) -> dict[str, ET.Element]:
        return {n: ET.fromstring(c) for n, c in self.files().items() if n.endswith(".xhtml")}

    def test_epubcheck_finds_nothing(self) -> None:
        if "not checked" in self.said.stdout:
            self.skipTest("no epubcheck here: install the package epubcheck")
        self.assertIn("checked by epubcheck", self.said.stdout)

    def test_the_type_comes_first_and_is_not_packed(self) -> None:
        with zipfile.ZipFile(self.path) as archive:
            first = archive.infolist()[0]
        self.assertEqual((first.filename, first.compress_type), ("mimetype", zipfile.ZIP_STORED))

    def test_every_link_inside_the_book_leads_somewhere(self) -> None:
        pages = self.pages()
        places = {name: {e.get("id") for e in page.iter()} for name, page in pages.items()}
        count = 0
        for name, page in pages.items():
            for link in page.iter("{http://www.w3.org/1999/xhtml}a"):
                file, _, place = link.get("href", "").partition("#")
                if "://" in file:
                    continue
                target = f"EPUB/{file}" if file else name
                self.assertIn(target, pages)
                self.assertTrue(not place or place in places[target], link.get("href"))
                count += 1
        self.assertGreater(count, 4)

    def test_mathematics_is_mathml_with_its_tex(self) -> None:
        page = self.pages()["EPUB/chapters-04-small-attention-index.xhtml"]
        formulas = list(page.iter("{http://www.w3.org/1998/Math/MathML}math"))
        self.assertEqual(len(formulas), 10)
        self.assertEqual(formulas[2].get("display"), "block")
        self.assertTrue(all(f.get("alttext") for f in formulas))
        self.assertFalse([e for e in page.iter() if "katex-html" in e.get("class", "")])

    def test_light_figures_alone_with_their_description(self) -> None:
        names = [name for name in self.files() if name.endswith(".svg")]
        self.assertEqual(names, ["EPUB/images/04_small_attention-weights.light.svg"])
        text = self.files()["EPUB/chapters-04-small-attention-index.xhtml"].decode()
        self.assertIn('alt="Heat map of 8 x 8 weights', text)

    def test_a_live_part_is_its_figure(self) -> None:
        self.assertIn(b"<abh-attention", (self.good.build / "html/chapters/04_small_attention/index.html").read_bytes())
        self.assertNotIn(b"<abh-", b"".join(self.files().values()))

    def test_every_listing_is_whole_and_open(self) -> None:
        lines: set[str] = set()
        for page in self.pages().values():
            for block in page.iter("{http://www.w3.org/1999/xhtml}pre"):
                lines |= {line.strip() for line in "".join(block.itertext()).splitlines()}
        self.assertEqual([line for line in listed(self.good.root) if line not in lines], [])
        self.assertNotIn(b"<details", b"".join(self.files().values()))

    def test_a_second_call_does_nothing_and_makes_the_same_bytes(self) -> None:
        self.assertIn("nothing has changed", make(self.good, "--epub").stdout)
        before = self.path.read_bytes()
        self.path.unlink()
        self.assert_succeeds(make(self.good, "--epub"))
        self.assertEqual(self.path.read_bytes(), before)


@unittest.skipUnless(HAVE, WITHOUT)
class Pdf(Case):
    reader: Any

    @classmethod
    def setUpClass(cls) -> None:
        if why := pango():
            raise unittest.SkipTest(why)
        from pypdf import PdfReader

        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.good = Project(Path(cls.folder.name).resolve())
        cls.rendered = cls.good.render()
        cls.said = make(cls.good, "--pdf")
        cls.path = cls.good.build / "attention-by-hand.pdf"
        if cls.path.is_file():
            cls.reader = PdfReader(cls.path)

    def setUp(self) -> None:
        self.assert_succeeds(self.rendered)
        self.assert_succeeds(self.said)

    def bookmarks(self) -> list[tuple[int, str, int]]:
        """Level, title and page of each."""
        out: list[tuple[int, str, int]] = []

        def walk(entries: list[Any], level: int) -> None:
            for entry in entries:
                if isinstance(entry, list):
                    walk(entry, level + 1)
                else:
                    page = self.reader.get_destination_page_number(entry)
                    out.append((level, str(entry.title), page))

        walk(self.reader.outline, 1)
        return out

    def text(self) -> str:
        return "\n".join(page.extract_text() for page in self.reader.pages)

    def test_bookmarks_are_the_headings_in_their_order(self) -> None:
        found = self.bookmarks()
        titles = [title for _, title, _ in found]
        wanted = ["Contents", "About this book", "The workbench", "Small attention", "Answers", "Lists"]
        self.assertEqual(titles, wanted)
        pages = [page for _, _, page in found]
        self.assertEqual(pages, sorted(pages))
        self.assertGreater(pages[0], 0)

    def test_pages_are_numbered_and_have_a_running_head(self) -> None:
        for number, page in enumerate(self.reader.pages, 1):
            lines = page.extract_text().splitlines()
            if number == 1:
                self.assertIn("Attention by Hand", lines)
            else:
                self.assertIn(str(number), lines)
        titles = [title for _, title, _ in self.bookmarks()]
        self.assertIn(titles[-1], self.reader.pages[-1].extract_text())

    def test_its_structure_is_tagged_and_figures_say_what_to_see(self) -> None:
        catalog = self.reader.trailer["/Root"]
        self.assertTrue(catalog["/MarkInfo"]["/Marked"])
        self.assertEqual(catalog["/Lang"], "en")
        kinds: set[str] = set()
        said: list[str] = []

        def walk(element: Any) -> None:
            element = element.get_object()
            if isinstance(element, list):
                for child in element:
                    walk(child)
            elif hasattr(element, "get"):
                kinds.add(str(element.get("/S", "")))
                said.append(str(element.get("/Alt", "")))
                if "/K" in element:
                    walk(element["/K"])

        walk(catalog["/StructTreeRoot"])
        self.assertLessEqual({"/H1", "/P", "/Table", "/TH", "/L", "/Link", "/Figure"}, kinds)
        self.assertTrue(any(text.startswith("Heat map of 8 x 8 weights") for text in said))

    def test_contents_name_the_page(self) -> None:
        lines = self.reader.pages[1].extract_text().splitlines()
        for _, title, page in self.bookmarks()[1:]:
            line = next(line for line in lines if title in line)
            self.assertTrue(line.endswith(str(page + 1)), line)

    def test_all_fonts_are_embedded(self) -> None:
        fonts: dict[str, bool] = {}

        def look(resources: Any) -> None:
            for font in (resources.get("/Font") or {}).values():
                font = font.get_object()
                for part in font.get("/DescendantFonts", [font]):
                    made = part.get_object().get("/FontDescriptor", {}).get_object()
                    files = {"/FontFile", "/FontFile2", "/FontFile3"}
                    fonts[str(font["/BaseFont"])] = bool(files & set(made))
            for inner in (resources.get("/XObject") or {}).values():
                if "/Resources" in inner.get_object():
                    look(inner.get_object()["/Resources"].get_object())

        for page in self.reader.pages:
            look(page["/Resources"].get_object())
        self.assertGreater(len(fonts), 3)
        self.assertEqual([name for name, embedded in fonts.items() if not embedded], [])

    def test_every_link_leads_to_a_page(self) -> None:
        named = self.reader.named_destinations
        inside = 0
        for page in self.reader.pages:
            for link in page.get("/Annots") or []:
                link = link.get_object()
                if link.get("/Subtype") != "/Link":
                    continue
                action = link.get("/A", {}).get_object() if "/A" in link else {}
                target = link.get("/Dest") or action.get("/D")
                if target is None:
                    self.assertRegex(str(action.get("/URI")), r"^https?://")
                elif isinstance(target, str):
                    self.assertIn(target, named)
                    inside += 1
                else:
                    self.assertIsNotNone(target[0].get_object())
                    inside += 1
        self.assertGreater(inside, 5)

    def test_every_line_of_every_listing_is_there(self) -> None:
        def closed(text: str) -> str:
            return re.sub(r"\s+", "", text)

        shown = closed(self.text())
        self.assertEqual([line for line in listed(self.good.root) if closed(line) not in shown], [])

    def test_copied_code_keeps_its_indentation(self) -> None:
        shown = {line.rstrip() for line in self.text().splitlines()}
        wanted = [line for line in listed(self.good.root, str.rstrip) if line.startswith("    ")]
        self.assertGreater(len(wanted), 3)
        self.assertEqual([line for line in wanted if line not in shown], [])

    def test_the_light_figure_alone_is_printed(self) -> None:
        text = (self.good.build / "print.html").read_text(encoding="utf-8")
        self.assertIn("weights.light.svg", text)
        self.assertNotIn(".dark.svg", text)

    def test_only_what_has_a_color_is_marked_up_in_code(self) -> None:
        rules = (FORMATS / "code.css").read_text(encoding="utf-8")
        text = (self.good.build / "print.html").read_text(encoding="utf-8")
        spans = {
            span
            for code in re.findall(r"<pre.*?</pre>", text, re.DOTALL)
            for span in re.findall(r'<span class="([^"]*)"', code)
        }
        self.assertIn("k", spans)
        self.assertLessEqual(spans, {"broken", *re.findall(r"\.(\w+)", rules)})

    def test_poppler_sees_the_same(self) -> None:
        if shutil.which("pdffonts") is None:
            self.skipTest("no pdffonts here: install the package poppler-utils")
        said = subprocess.run(["pdffonts", self.path], capture_output=True, text=True, check=True)
        rows = said.stdout.splitlines()[2:]
        self.assertTrue(rows)
        for row in rows:
            self.assertRegex(row, r"\s(yes)\s+(yes|no)\s+(yes|no)\s+\d+\s+\d+$")


@nightly
@unittest.skipUnless(HAVE, WITHOUT)
class Refused(Case):
    """What a reader of the PDF would miss stops the build; wide code does not."""

    def setUp(self) -> None:
        if why := pango():
            self.skipTest(why)

    def test_a_formula_that_would_be_cut_is_named(self) -> None:
        project = self.project()
        page = "chapters/04_small_attention/index.md"
        wide = f"$\\text{{{'w' * 150}}}$ holds, {{eq}}`weights` too,"
        project.edit(page, "Equation {eq}`weights` holds", wide)
        self.assert_succeeds(project.render())
        done = make(project, "--pdf")
        self.assert_refused(done, "px too wide")

    def test_a_box_has_room_for_less_code(self) -> None:
        project = self.project()
        line = "weights = softmax(scores) * mask;"
        page = "chapters/04_small_attention/index.md"
        project.edit(page, line, f"{line}\n// {'0123456789' * 10}")  # 103 columns would fit outside
        self.assert_succeeds(project.render())
        self.assert_succeeds(make(project, "--pdf"))

    def made_with_a_long(self, box: str) -> subprocess.CompletedProcess[str]:
        """The PDF, where this box is longer than a page and follows a heading."""
        project = self.project()
        page = "chapters/04_small_attention/index.md"
        long = "\n\n".join(["A paragraph of many."] * 120)
        project.edit(page, f"{box}\n", f"## A heading before\n\n{box}\n{long}\n\n")
        self.assert_succeeds(project.render())
        return make(project, "--pdf")

    def test_a_long_derivation_goes_on_overleaf_and_leaves_no_hole(self) -> None:
        self.assert_succeeds(self.made_with_a_long("`````{derivation} A row's gradient"))

    def test_a_heading_that_stands_alone_is_named(self) -> None:
        done = self.made_with_a_long("````{mistake} Hiding keys after the softmax")
        self.assert_refused(done, "has no content except headings")

    def test_a_wide_line_of_code_is_set_smaller_or_broken_with_a_mark(self) -> None:
        from pypdf import PdfReader

        for width in (115, 300):
            with self.subTest(width=width):
                project = self.project()
                line = "// " + "".join(str(n % 10) for n in range(width))
                project.edit("lib/tensor.cpp", "    // [at]\n", f"    // [at]\n{line}\n")
                self.assert_succeeds(project.render())
                self.assert_succeeds(make(project, "--pdf"))
                path = project.build / "attention-by-hand.pdf"
                text = "\n".join(page.extract_text() for page in PdfReader(path).pages)
                rows = [row.replace(" ", "") for row in text.splitlines()]
                self.assertEqual(any(line.replace(" ", "") in row for row in rows), width < 130)
                self.assertIn(line.replace(" ", ""), re.sub(r"[\s↩]", "", text))

    def test_without_pages_it_says_how_to_make_them(self) -> None:
        self.assert_refused(make(self.project(), "--epub"), "./book build")


if __name__ == "__main__":
    unittest.main()
