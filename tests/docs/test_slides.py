"""The decks of slides: complete, made of what the pages have, and closed in themselves.

reveal.js, which turns the slides, is installed by `./book build --slides`; without it, these tests are skipped.
"""

import importlib.util
import runpy
import shutil
import tempfile
import unittest
import zipfile
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from project import CHAPTER, OFFLINE, ROOT, Case, Project, run

SLIDES = ROOT / "docs" / "slides"
HAVE = importlib.util.find_spec("sphinx_revealjs") is not None
SOLUTION = "`````{fold} Solution\nDivide by the sum.\n`````\n"
LONG = "\n".join(f"line {number}\n" for number in range(35))


@unittest.skipUnless(HAVE, "not installed: docs/requirements-slides.txt; ./book build --slides installs it")
class Decks(Case):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = Project(Path(folder.name).resolve())
        cls.made.edit(CHAPTER, "Leave the sum out.\n```\n", f"Leave the sum out.\n```\n\n{SOLUTION}")
        shutil.copy(ROOT / "CITATION.cff", cls.made.root)
        cls.said = [cls.made.render(), run(SLIDES, "--root", cls.made.root, "--build", cls.made.build)]

    def setUp(self) -> None:
        for done in self.said:
            self.assert_succeeds(done)
        self.deck = self.read("slides/04/index.html")
        self.notes = " ".join(note.extract().decode() for note in self.deck.select("aside.notes"))

    def read(self, name: str) -> Tag:
        return BeautifulSoup((self.made.build / name).read_text(encoding="utf-8"), "html.parser")

    def test_a_deck_has_each_figure_equation_listing_output_and_table_of_its_page(self) -> None:
        page = self.read("html/chapters/04_small_attention/index.html").article
        for element in page.select("details.fold, figure.listing:has(> details), .exercise"):
            element.decompose()
        for kind in ("figcaption", ".math.display annotation", "pre", "table", ".box-name"):
            with self.subTest(kind):
                there, wanted = ([one.get_text().strip() for one in found.select(kind)] for found in (self.deck, page))
                self.assertTrue(wanted)
                self.assertEqual([text for text in wanted if text not in there], [])
        self.assertEqual(self.deck.picture.img["src"], "../_figures/04_small_attention/weights.light.svg")
        self.assertIn("weights.dark.svg", self.deck.picture.source["srcset"])

    def test_text_and_replies_are_in_the_notes_and_what_is_folded_or_an_exercise_is_nowhere(self) -> None:
        shown = self.deck.get_text()
        for text in ("holds row by row", "grows by the same factor", "catches it"):
            self.assertIn(text, self.notes)
            self.assertNotIn(text, shown)
        for text in ("kernel once more", "quoted from", "Leave the sum out", "Divide by the sum", "Solution"):
            self.assertNotIn(text, shown + self.notes)
        self.assertIn("<math", self.notes)
        self.assertNotIn("katex-html", self.notes)

    def test_long_code_is_split_into_slides_without_losing_a_line(self) -> None:
        code = BeautifulSoup(f"<figure><pre>{LONG}</pre></figure>", "html.parser").figure
        pieces = runpy.run_path(str(SLIDES / "__main__.py"))["pieces"](code)
        parts = [BeautifulSoup(part, "html.parser").pre.get_text() for part in pieces]
        self.assertEqual("\n".join(parts), LONG.rstrip("\n"))
        self.assertEqual([part.count("\n") + 1 for part in parts], [23, 23, 23])

    def test_nothing_comes_from_another_host(self) -> None:
        self.assert_succeeds(run(OFFLINE, self.made.build / "slides"))

    def test_the_pack_has_every_figure_and_the_license(self) -> None:
        with zipfile.ZipFile(self.made.build / "figures.zip") as archive:
            files = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
        wanted = {f"{look}/04_small_attention-weights.svg" for look in ("light", "dark")}
        self.assertEqual({name for name in files if name.endswith(".svg")}, wanted)
        self.assertIn("Creative Commons Attribution-ShareAlike 4.0", files["README.md"])
        self.assertIn("| `04_small_attention-weights.svg` | Weights $A$ of the sentence, row by row. |", files["README.md"])
        self.assertIn("cff-version", files["CITATION.cff"])
