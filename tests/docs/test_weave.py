"""Sources cut into parts, and put together again from the pages of a small project."""

import tempfile
import unittest
from pathlib import Path

from project import CHAPTER, Case

from abh_book import weave


class Tangle(Case):
    def test_notices_one_changed_byte(self) -> None:
        project = self.project()
        self.assert_succeeds(project.render())
        page = (project.html / CHAPTER).with_suffix(".html")
        good = page.read_text(encoding="utf-8")
        name = "chapters/04_small_attention/attention.cu"
        for old, new, words in (
            ("blockDim", "blockdim", (f"{name}:3", "blockdim", "blockDim")),
            ('data-lines="2-5"', 'data-lines="2-4"', (f"{name}:5", "the file None")),
            ('data-lines="2-5"', 'data-lines="1-4"', (f"{name}:1", "the book has")),
        ):
            with self.subTest(new=new):
                self.assertIn(old, good)
                page.write_text(good.replace(old, new, 1), encoding="utf-8")
                self.assert_refused(project.tangle(), *words)
        page.write_text(good, encoding="utf-8")
        self.assert_succeeds(project.tangle("--sources", project.root))
        path = project.root / "lib/tensor.cpp"
        path.write_bytes(path.read_bytes() + b"\n")
        self.assert_refused(project.tangle("--sources", project.root), "lib/tensor.cpp:15")
        (project.html / f"source/{name}.html").unlink()
        self.assert_refused(project.tangle(), name, "has no page")


class Weave(unittest.TestCase):
    def test_markers(self) -> None:
        for line, name in (
            ("// [softmax]\n", "softmax"),
            ("    // [a part: no. 2 (of 3), x_y-z]\n", "a part: no. 2 (of 3), x_y-z"),
            ("// [B, H, L]\n", None),
            ("int x;  // [shape]\n", None),
            ("//[softmax]\n", None),
            ("// [softmax] and more\n", None),
            ("/// [softmax]\n", None),
        ):
            with self.subTest(line=line):
                self.assertEqual(weave.marker(line), name)

    def test_flaws_are_named_with_their_line(self) -> None:
        for content, words in (
            (b"a\n// [x]\nb\n// [x]\nc\n", "f.cpp:4: part [x] is already in line 2"),
            (b"a\n// [x]\n// [y]\nb\n", "f.cpp:2: part [x] is empty"),
            (b"a\n// [x]\n", "f.cpp:2: part [x] is empty"),
            (b"a\n// [head]\nb\n", "f.cpp:2: part [head] is already in line 0"),
            (b"a\r\nb\n", "f.cpp:1: control character"),
            (b"a\xff\n", "f.cpp: not UTF-8"),
        ):
            with self.subTest(content=content), tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "f.cpp").write_bytes(content)
                with self.assertRaises(weave.Failure) as caught:
                    weave.read_source(Path(folder), "f.cpp")
                self.assertTrue(str(caught.exception).startswith(words), caught.exception)
