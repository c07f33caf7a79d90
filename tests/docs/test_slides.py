"""The decks of slides: complete, made of what the pages have, and closed in themselves.

What they are made with is installed by `./book build --slides`; without it, the tests that render a deck are skipped.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from project import OFFLINE, REPOSITORY, Case, Project, run

SLIDES = REPOSITORY / "docs" / "slides"
HAVE = importlib.util.find_spec("sphinx_revealjs") is not None
WITHOUT = "not installed: docs/requirements-slides.txt; ./book build --slides installs it"
CHAPTERS = [next(REPOSITORY.glob(f"chapters/{number:02}_*")) for number in range(11)]

DECK = """\
# Small attention
```{notes} 1
Begin.
```

## Weights

The deviation is {value}`04/main/score_std:.3f`.

```{page} figure weights
```
```{notes} 2
Say that $x < y$.
```

## Gradient
```{page} equation 04-softmax-dz
```
```{page} listing attention.cu: kernel
```
```{page} console Score table
```
```{page} mistake Hiding keys
```
```{page} gradients
```
```{notes} 3
Derive it.
```

## First
```{page} question All scores grow
```
```{notes} 4
Vote.
```

## Second
```{page} question All scores grow
```
```{notes} 4
Vote again.
```
"""


class Decks(unittest.TestCase):
    """What can be seen without rendering: nothing here needs the tools."""

    def test_each_chapter_up_to_10_has_a_deck_with_two_questions_and_notes_on_every_slide(self) -> None:
        for chapter in CHAPTERS:
            slides = re.split(r"^(?=##? )", (chapter / "slides.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
            with self.subTest(chapter.name):
                self.assertTrue(15 <= len(slides) <= 25, len(slides))
                asked = sum(len(re.findall(r"^```\{page\} question ", slide, re.MULTILINE)) for slide in slides)
                self.assertEqual(asked, 2)
                notes = [len(re.findall(r"^```\{notes\} \d+\n\S", slide, re.MULTILINE)) for slide in slides]
                self.assertEqual([slide.splitlines()[0] for slide, n in zip(slides, notes, strict=True) if n != 1], [])

    def test_what_a_deck_names_stands_on_its_page(self) -> None:
        forms = {
            "figure": r"\{{plot\}} (\S+/)?{}\n",
            "equation": r"(\$\$ \({0}\)|^\({0}\)=)$",
            "listing": r"\{{listing\}} \S*{}$",
            "console": r"^:section: {}$",
        }
        for chapter in CHAPTERS:
            page = (chapter / "index.md").read_text(encoding="utf-8")
            for kind, name in re.findall(r"^```\{page\} (\w+) (.+)$", (chapter / "slides.md").read_text(encoding="utf-8"), re.MULTILINE):
                name = "\n:part: ".join(map(re.escape, name.split(": ", 1))) if kind == "listing" else re.escape(name)
                if kind in forms:
                    found = re.search(forms[kind].format(name), page, re.MULTILINE)
                    self.assertTrue(found, f"{chapter.name}: no {kind} {name}")


@unittest.skipUnless(HAVE, WITHOUT)
class Made(Case):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.good = Project(Path(folder.name).resolve())
        shutil.copy(REPOSITORY / "CITATION.cff", cls.good.root)
        (cls.good.root / "chapters/04_small_attention/slides.md").write_text(DECK, encoding="utf-8")
        cls.rendered = cls.good.render()
        cls.said = cls.make(cls.good)

    @staticmethod
    def make(project: Project) -> subprocess.CompletedProcess[str]:
        return run(SLIDES, "--root", project.root, "--build", project.build)

    def setUp(self) -> None:
        self.assert_succeeds(self.rendered)
        self.assert_succeeds(self.said)
        self.page = (self.good.build / "slides/04/index.html").read_text(encoding="utf-8")

    def test_a_slide_shows_what_the_page_has(self) -> None:
        for shown in ("1.003", "../_figures/04_small_attention/weights.light.svg", 'alt="Heat map of 8 x 8 weights',
                      "attention.cu, from line 2", "0.55", '<span class="n">scores</span>', 'class="katex-display"', "<table"):
            self.assertIn(shown, self.page)
        self.assertFalse((self.good.html / "chapters/04_small_attention/slides.html").exists())

    def test_notes_have_times_answers_and_mathematics_that_needs_no_style_sheet(self) -> None:
        self.assertEqual(re.findall(r'data-timing="(\d+)"', self.page), ["60", "120", "180", "240", "240"])
        notes = re.findall(r'<aside class="notes">(.*?)</aside>', self.page, re.DOTALL)
        self.assertEqual(len(notes), 7)  # those of two questions come in two parts
        self.assertIn("<math", notes[1])
        self.assertNotIn("katex-html", "".join(notes))
        self.assertIn("B, right. ", notes[4])
        self.assertNotIn("same factor", re.sub(r"<aside.*?</aside>", "", self.page, flags=re.DOTALL))

    def test_nothing_comes_from_another_host(self) -> None:
        self.assert_succeeds(run(OFFLINE, self.good.build / "slides"))

    def test_the_pack_has_every_figure_and_the_license(self) -> None:
        with zipfile.ZipFile(self.good.build / "figures.zip") as archive:
            files = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
        shown = {path.relative_to(self.good.html / "_figures") for path in self.good.html.glob("_figures/*/*.svg")}
        wanted = {f"{path.suffixes[0][1:]}/{path.parent}-{path.name.split('.')[0]}.svg" for path in shown}
        self.assertEqual({name for name in files if name.endswith(".svg")}, wanted)
        self.assertEqual(len(wanted), 2)
        self.assertIn("Creative Commons Attribution-ShareAlike 4.0", files["README.md"])
        self.assertIn("| `04_small_attention-weights.svg` | Weights $A$ of the sentence, row by row. |", files["README.md"])
        self.assertIn("cff-version", files["CITATION.cff"])

    def test_a_deck_that_names_what_is_gone_or_lacks_something_is_refused(self) -> None:
        spoilt = Project.__new__(Project)
        folders = (self.good.root, self.good.build)
        spoilt.root, spoilt.build = (Path(shutil.copytree(path, path.parent / f"spoilt-{path.name}")) for path in folders)
        (spoilt.build / "slides.stamp").unlink()
        faults = (
            ("figure weights", "figure no-such", "no figure 'no-such'; it has: weights"),
            ("04-softmax-dz", "04-dz", "no equation '04-dz'"),
            ("attention.cu: kernel", "attention.cu: grid", "no listing 'attention.cu: grid'"),
            ("Score table", "Scores", "no console 'Scores'"),
            ("```{notes} 2\nSay that $x < y$.\n```\n", "", "slide 'Weights': 0 notes"),
            ("```{page} question All scores grow\n```\n", "", "1 questions, expected 2"),
        )
        for old, new, _ in faults:
            spoilt.edit("chapters/04_small_attention/slides.md", old, new)
        done = self.make(spoilt)
        for _, _, said in faults:
            with self.subTest(said):
                self.assert_refused(done, "chapters/04_small_attention/slides.md", said)


if __name__ == "__main__":
    unittest.main()
