"""What students get of an exercise holds no line of a solution."""

import sys
import tempfile
import unittest
import unittest.mock
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import compile, handout
from judge.exercise import Exercise, load_all
from judge.handout import given, leaks


def pack(exercises: list[Exercise]) -> dict[str, str]:
    return {f"{e.number} {name}": text for e in exercises for name, text in given(e).items()}


class Given(unittest.TestCase):
    def test_no_chapter_gives_its_solutions_away(self):
        for chapter, members in groupby(load_all(), lambda e: e.chapter):
            exercises = list(members)
            with self.subTest(chapter=chapter):
                self.assertEqual([], leaks(exercises, pack(exercises)))

    def test_a_line_of_a_solution_is_found_wherever_it_stands(self):
        exercises = [e for e in load_all() if e.number == "04.2"]
        line = next(x for x in exercises[0].solution_lines() if len(x.strip()) > 40)
        (found,) = leaks(exercises, {"call.cpp": f"int i;\n\t{line.strip().replace(' ', '  ')}\n"})
        self.assertTrue(found.startswith("call.cpp:2 has a line of 04.2's solution: "))

    def test_the_head_of_a_loop_gives_nothing_away(self):
        exercises = [e for e in load_all() if e.number == "01.1"]
        heads = [x for x in exercises[0].solution_lines() if x.strip().startswith("for (") and x.rstrip().endswith("{")]
        self.assertTrue(heads)
        self.assertEqual([], leaks(exercises, {"call.cpp": heads[0]}))

    def test_a_right_answer_that_the_pack_takes_for_wrong_is_named(self):
        exercises = [e for e in load_all() if e.number in ("04.2", "10.6", "03.4")]
        said = {"04.2": ("ok", "wrong"), "10.6": ("ok", "slow")}
        asked = []

        def judged_by(out, answers, numbers):
            asked.append((sorted(answers), numbers))
            return [
                {"number": n, "criteria": [{"name": f"part {i}", "reason": r, "text": "dz is 1"} for i, r in enumerate(said[n])]}
                for n in numbers
            ]

        with unittest.mock.patch.object(handout, "judged_by", judged_by):
            self.assertEqual(["04.2: part 1: dz is 1"], handout.refused(exercises, Path()))
        self.assertEqual([["04.2", "10.6"]], [sorted(numbers) for _, numbers in asked])  # predictions are judged elsewhere


class Machine(unittest.TestCase):
    def test_a_pack_for_another_kind_of_processor_says_so(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(compile, "ROOT", Path(folder)):
            (Path(folder) / "handout.json").write_text('{"machine": "pdp11"}')
            with self.assertRaisesRegex(compile.Failed, "libraries are for pdp11, and this machine is "):
                compile.setting_of_handout()


if __name__ == "__main__":
    unittest.main()
