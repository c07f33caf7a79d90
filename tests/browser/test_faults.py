"""Each check of reader.py refuses a page that has its fault, and none refuses a good one.

    python tests/browser/run.py faults
"""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

import chromium
import pages
import reader

GOOD = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>A page</title><link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) { .dark-grey { background: #222; color: #555; } }
.box { overflow: auto; max-width: 200px; white-space: pre; }
</style></head>
<body><main><h1>A page</h1>
<p>我 有 一 个 好 朋 友 costs <code>$5</code>, and <code>\\frac</code> is code.</p>
<div class="box" tabindex="0" role="group" aria-label="Code">a line that is much longer than the box in which it stands</div>
<details><summary>More</summary><p>Folded text</p></details>
<!-- fault -->
</main></body></html>
"""
# The fault, and words of the complaint. One look finds them, but those that another theme or no JavaScript shows.
FAULTS = {
    "low contrast": ('<p style="background: #fff; color: #999">Pale</p>', "color-contrast"),
    "low contrast in the dark": ('<p class="dark-grey">Pale</p>', "dark, 1400 px): color-contrast"),
    "low contrast in a fold": ('<details><summary>a</summary><p style="color: #777; background: #888">Folded</p></details>', "color-contrast"),
    "low contrast in code": ('<pre><span>good</span> <span style="color: #999">=</span> <span style="color: #999">bad</span></pre>', "color-contrast"),
    "picture without a text": ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "image-alt"),
    "level left out": ("<h3>Too deep</h3>", "heading-order"),
    "fold whose name is a formula alone": ("<details><summary><math><mn>3</mn></math></summary>Folded</details>", "summary-name"),
    "TeX": ("<p>The half, $\\frac{1}{2}$, is raw</p>", "raw TeX"),
    "TeX block": ("<p>$$ a $$</p>", "raw TeX"),
    "no glyph": ("<p>\u0530</p>", "U+0530"),
    "wide page": ('<div style="width: 1000px">wide</div>', "390 px): the page scrolls sideways"),
    "text cut off": ('<style>body { overflow-x: clip; }</style><div style="width: 1000px">wide</div>', "reach beyond the window"),
    "box without focus": ('<div class="box">a box that scrolls, which no key of the keyboard gets to</div>', "cannot be reached by keyboard"),
    "box without label": ('<div class="box" tabindex="0">a box that scrolls, and who hears it knows not what it is</div>', "no label"),
    "console": ('<script>console.error("oh dear")</script>', "the console says: oh dear"),
    "script": ('<script>nobody.knows()</script>', "a script fails: nobody is not defined"),
    "foreign request": ('<img alt="a" src="https://example.org/a.png">', "asks for https://example.org/a.png"),
    "no picture": ('<img alt="a" src="nowhere.png">', "a picture is missing: nowhere.png"),
    "script only": ('<p id="a"></p><script>a.textContent = "Written by script"</script>', "without JavaScript, 390 px): does not show"),
}


IN_EVERY_WAY = {"low contrast in the dark", "script only"}


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.html = Path(folder.name).resolve()
        address = cls.enterClassContext(chromium.served(cls.html))
        cls.reader = reader.Reader(cls.html, None, address, os.environ["ABH_CHROMIUM"])
        cls.addClassCleanup(cls.reader.close)

    def write(self, name: str, fault: str) -> None:
        (self.html / name).write_text(GOOD.replace("<!-- fault -->", fault), encoding="utf-8")

    def test_a_good_page_is_good(self) -> None:
        self.reader.out = self.html / "out"
        self.write("good.html", "")
        seen = self.reader.whole("good.html")
        self.assertEqual(seen.complaints, [])
        self.assertEqual(seen.counts["looks"], 6)
        self.assertEqual(seen.counts["axe"], 4)
        self.assertGreater(seen.counts["contrasts"], 0)
        self.assertGreater(seen.counts["headings"], 0)
        self.assertEqual(seen.counts["boxes"], 6)
        pictures = sorted(path.name for path in (self.html / "out/screenshots").glob("good.*"))
        looks = [f"good.{theme}.{width}.jpg" for theme in ("dark", "light") for width in (1400, 390)]
        self.assertEqual(pictures, looks)

    def test_each_fault_is_named(self) -> None:
        self.reader.out = None  # no screenshots
        for number, (what, (fault, words)) in enumerate(FAULTS.items()):
            with self.subTest(what):
                name = f"fault{number}.html"
                self.write(name, fault)
                if what in IN_EVERY_WAY:
                    complaints = self.reader.whole(name).complaints
                else:
                    complaints = self.reader.some(name, reader.FIRST, True).complaints
                self.assertTrue(any(words in line for line in complaints), f"no {words!r} in {complaints}")
                self.assertTrue(all(line.startswith(name) for line in complaints))

    def test_a_search_that_finds_nothing_or_the_wrong_page_is_named(self) -> None:
        (self.html / "wrong.html").write_text("好", encoding="utf-8")
        self.write("search.html", "<p>Your search did not match any documents.</p>")
        self.assertIn("finds nothing", "\n".join(self.reader.search("女", judged=True).complaints))
        self.write("search.html", '<p>Search finished.</p><ul class="search"><li><a href="wrong.html">a</a></li></ul>')
        self.assertIn("finds wrong.html, which has it not", "\n".join(self.reader.search("女", judged=True).complaints))
        self.assertEqual(self.reader.search("好", judged=True).complaints, [])
        self.assertIn("wrong.html first", "\n".join(self.reader.search("04.2", judged=True).complaints))


class ByDay(unittest.TestCase):
    def test_each_written_page_is_looked_at_and_one_in_twenty_in_every_way(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            html = Path(folder)
            for i in range(100):
                for name in (f"{i}.html", f"api/{i}.html", f"source/{i}.html"):
                    (html / name).parent.mkdir(exist_ok=True)
                    (html / name).touch()
            day, night = pages.tasks(html, False), pages.tasks(html, True)
        written = {f"{i}.html" for i in range(100)}
        names = {task.name for task in day}
        self.assertEqual({name for name in names if name[0].isdigit()}, written)
        self.assertTrue(30 < len(names - written) < 100, len(names))
        self.assertEqual(len({task.name for task in night}), 300)
        self.assertTrue(all(task.looks for task in day))
        self.assertTrue(all(task.whole == task.name[0].isdigit() for task in night))
        whole = sum(task.whole for task in day)
        self.assertTrue(0 < whole < 15, whole)
        self.assertTrue(all(task.judged for task in night if not task.name.startswith("source/")))


if __name__ == "__main__":
    unittest.main()
