"""A chapter's program with the reader's own function in it computes with that function."""

import json
import math
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from judge.answer.exercise import Mistaken, load_all
from judge.answer.setting import BUILD
from judge.reader import mine

EXERCISE = next(e for e in load_all() if e.number == "04.2")
PROGRAM = BUILD / "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention"
TERM = "softmax_backward"  # what the exercise writes


def near(a: object, b: object) -> bool:
    """Numbers up to round-off: the reader's function is compiled apart, and may round otherwise."""
    return math.isclose(a, b, rel_tol=1e-5) if isinstance(a, float) else a == b


@unittest.skipUnless(PROGRAM.is_file(), "the program of chapter 4 is not built")
class TakingPart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def linked(self, answer: str) -> Path:
        (self.folder / EXERCISE.file_name).write_text(answer)
        with unittest.mock.patch.object(mine, "ANSWERS", self.folder):
            return mine.link(BUILD, PROGRAM, [EXERCISE.number])

    def numbers(self, program: Path) -> dict[str, object]:
        """What the program records, its times left out."""
        command = [program, "--way", "plain", "--threads", "1", "--out", self.folder]
        subprocess.run(command, check=True, capture_output=True)
        found = json.loads((self.folder / "results.json").read_text())
        return {name: entry["value"] for name, entry in found.items() if entry.get("unit") != "ms" and "gain" not in name}

    def test_a_right_answer_gives_the_books_numbers_and_a_wrong_one_others(self):
        right = EXERCISE.solution()
        book, own = self.numbers(PROGRAM), self.numbers(self.linked(right))
        self.assertEqual(book.keys(), own.keys())
        wrong = EXERCISE.mutated(EXERCISE.mutants[0])
        changed = self.numbers(self.linked(wrong))
        same = [name for name in book if near(book[name], own[name])]
        differing = [name for name in same if not near(changed[name], own[name])]
        self.assertGreater(len(same), len(book) // 2)
        self.assertNotEqual([], differing)

    def test_other_parameters_are_refused(self):
        with self.assertRaisesRegex(Mistaken, f"mine::{TERM} is missing, or its parameters differ"):
            self.linked(EXERCISE.solution().replace("const Tensor& dw, const Tensor& w)", "const Tensor& dw, Tensor w)"))
