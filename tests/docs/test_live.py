"""The live parts of the pages: what belongs together is there, and what a reader loads is small."""

from __future__ import annotations

import gzip
import json
import re
import struct
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "extensions"), str(ROOT / "docs" / "live")]

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
        total = 0
        for name in ("layers", "transformer"):
            script = (module.RECORDED / f"{name}.js").read_text(encoding="utf-8")
            glue, _, packed = script.partition(f'\nabh_{name}.packed = "')
            self.assertTrue(packed)
            total += len(gzip.compress(glue.encode(), 9)) + len(packed) * 3 // 4
        self.assertLessEqual(total, module.MOST)
        self.assertLess((module.RECORDED / live.CHECKPOINT).stat().st_size, 1_500_000)


class Weights(unittest.TestCase):
    def test_half_the_bytes_keep_the_numbers(self) -> None:
        numbers = [0.0, 1.0, -0.1234567, 3.75e-5, 1000.25]
        header = {"w": {"dtype": "F32", "shape": [5], "data_offsets": [0, 20]}, "__metadata__": {"note": "朋"}}
        text = json.dumps(header, ensure_ascii=False).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.safetensors"
            path.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<5f", *numbers))
            data = live.halved(path)
        (length,) = struct.unpack("<Q", data[:8])
        self.assertEqual(length % 8, 0)
        found = json.loads(data[8 : 8 + length])
        self.assertEqual(found["w"], {"dtype": "F16", "shape": [5], "data_offsets": [0, 10]})
        self.assertEqual(found["__metadata__"], header["__metadata__"])
        for x, y in zip(numbers, struct.unpack("<5e", data[8 + length :]), strict=True):
            self.assertAlmostEqual(x, y, delta=abs(x) / 2048 + 1e-7)


if __name__ == "__main__":
    unittest.main()
