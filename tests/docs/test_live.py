"""The live parts of the pages: what belongs together is there, and what a reader loads is small."""

import gzip
import re
import unittest

from project import ROOT

import module
from abh_book import live

PARTS = {
    part: path
    for path in [*ROOT.glob("docs/*.md"), *ROOT.glob("chapters/*/*.md")]
    for part in re.findall(r"^`{3,}\{live\} (\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
}


class Parts(unittest.TestCase):
    def test_each_part_has_an_element_and_a_test(self) -> None:
        self.assertGreaterEqual(len(PARTS), 9)
        for part in PARTS:
            with self.subTest(part):
                script = (ROOT / f"docs/live/page/{part}.js").read_text(encoding="utf-8")
                self.assertRegex(script, rf'customElements\.define\("abh-{part}", \w+\);')
                self.assertTrue((ROOT / f"tests/browser/live/{part}.js").is_file())

    def test_what_a_page_calls_is_in_a_module(self) -> None:
        given = {
            name
            for path in (ROOT / "docs/live/module").glob("*.[ch]pp")
            for name in re.findall(r"EMSCRIPTEN_KEEPALIVE [^(]*?\blive_(\w+)\(", path.read_text(encoding="utf-8"))
        }
        for path in (ROOT / "docs/live/page").glob("*.js"):
            for name in re.findall(r'\.call\(\s*"(\w+)"', path.read_text(encoding="utf-8")):
                self.assertIn(name, given, path.name)


class Recorded(unittest.TestCase):
    def test_the_modules_are_made_from_the_sources_as_they_are_now(self) -> None:
        recorded = module.SOURCES.read_text(encoding="utf-8").strip()
        self.assertEqual(recorded, module.digest_of_sources(), "compile and record: python3 docs/live/module.py --record")

    def test_the_modules_are_small(self) -> None:
        for names, most in module.MOST.items():
            total = 0
            for name in names:
                script = (module.RECORDED / f"{name}.js").read_text(encoding="utf-8")
                glue, _, packed = script.partition(f'\nabh_{name}.packed = "')
                self.assertTrue(packed)
                total += len(gzip.compress(glue.encode(), 9)) + len(packed) * 3 // 4
            self.assertLessEqual(total, most)
        for name in live.CHECKPOINTS.values():
            self.assertLess((module.RECORDED / name).stat().st_size, 1_500_000)
