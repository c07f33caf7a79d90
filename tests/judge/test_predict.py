"""Numbers that students predict: how they may be written, and what a pack says of them."""

import contextlib
import dataclasses
import io
import json
import math
import tempfile
import unittest
import unittest.mock
from array import array
from pathlib import Path

from judge.answer import exercise, predict, written
from judge.answer.cases import Case
from judge.answer.exercise import COMPUTED, Mistaken, load_all
from judge.answer.report import to_text
from judge.answer.values import Value
from judge.answer.written import Dealt
from judge.course.roster import Person, Roster
from judge.reader import check


class Numbers(unittest.TestCase):
    """What a student writes into a file of numbers."""

    def read(self, text):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "answer.txt"
            file.write_text(text)
            return {name: predict.number(text) for name, text in predict.read(file).items()}

    def test_how_a_number_may_be_written(self):
        found = self.read(" a_1 = 5 # five\nB=1_000\n c =\t1 000 000\nd = 1e6#\ne = 1 = 2\nf =\n# g = 1\nno line\nh i = 3\n")
        self.assertEqual({"a_1": 5, "B": 1000, "c": 1e6, "d": 1e6}, {k: v for k, v in found.items() if v == v})
        self.assertEqual({"e", "f"}, {k for k, v in found.items() if v != v})

    def test_what_editors_and_keyboards_make_of_a_number(self):
        for line in ("n: 1234", "n = １２３４", "n = 1'234", "n = 1\u202f234", "\ufeffn = 1234\r"):
            with self.subTest(line):
                self.assertEqual([1234], list(self.read(line).values()))
        self.assertEqual({"n": -0.5}, self.read("n = \u22120.5"))
        self.assertEqual({"n": 5}, self.read("n: as many as there are pads\nn = 5\nn: 7 is wrong\n"))
        self.assertEqual({}, self.read("n: as many as there are pads\n"))
        for line in ("n = 10²", "n = ½", "n = 1,234"):
            self.assertTrue(math.isnan(self.read(line)["n"]), line)

    def test_a_number_that_is_off_by_more_than_a_factor_can_say(self):
        case = Case("c", "a", "", 1e-6, [], [Value("R", (), array("d", [500.0]))], [], {}, [])
        for answer, said in (
            ("1e-323", ""), ("0", ""), ("633.5", ""), ("17000", ""),
            ("250", "off by a factor 1/2"), ("-1500", "off by a factor -3"), ("-500", "it has the wrong sign"),
        ):  # fmt: skip
            with self.subTest(answer):
                fault = predict.compare(case, {"a": answer}, "")
                self.assertEqual(((), said), (fault.causes, fault.pattern))

    def test_numbers_for_somebody_else_are_told_from_wrong_ones(self):
        case = Case("c", "a", "", 1e-6, [], [Value("R", (), array("d", [500.0]))], [], {}, [])
        e = dataclasses.replace(next(e for e in load_all() if e.number == "03.4"), criteria=(exercise.Criterion("c", 1),))
        stand_ins = {"given": lambda *_: "L = 3", "IN_HANDOUT": False}
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.multiple(predict, **stand_ins):
            file = Path(name) / "answer.txt"
            for head, causes in (("# Your numbers: L = 4\n", 1), ("# Your numbers: L = 3 \n", 0), ("", 0)):
                file.write_text(f"{head}a = 700\n")
                with unittest.mock.patch.object(predict.draws, "draw", lambda *_: [case]):
                    fault = predict.judge_numbers(e, file, "anna").criteria[0].fault
                self.assertEqual(causes, len(fault.causes))
                self.assertTrue(all("the file is for L = 4, but your numbers are L = 3" in c for c in fault.causes))

    def test_a_line_of_sixty_thousand_spaces_is_not_looked_at(self):
        for line in ("a = {}x", "a = {}", "{}a = 1", "a{}= 1", "a = 1{}#", "a = {}1"):
            with self.subTest(line):
                found = self.read(line.format(" " * 60_000) + "\nb = 2\n")
                self.assertNotEqual(found["a"], found["a"])  # the line is too long
                self.assertEqual(2, found["b"])

    def test_two_names_that_share_numbers_in_one_exercise_do_not_share_all(self):
        predicted = [e for e in load_all() if e.kind not in COMPUTED]
        names = [f"student {i}" for i in range(60)]
        seeds = {n: [predict.seed_of(e, n) for e in predicted] for n in names}
        self.assertTrue(all(0 <= s < predict.VARIANTS for drawn in seeds.values() for s in drawn))
        pairs = [(a, b) for a in names for b in names if a < b]
        shared = [sum(x == y for x, y in zip(seeds[a], seeds[b], strict=True)) for a, b in pairs]
        self.assertGreater(sum(n > 0 for n in shared), 0)
        self.assertLess(max(shared), 4)


class HandedOut(unittest.TestCase):
    """Numbers that are predicted: a pack has the student's, and not what is right."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.answers = Path(folder.name) / "exercise", Path(folder.name) / "answers"
        self.folder.mkdir()
        self.answers.mkdir()
        whole = next(e for e in load_all() if e.number == "03.4")
        (self.folder / "stub.txt").write_text(whole.stub())
        drawn = {"lines": {c.name: c.name for c in whole.criteria}, "given": [f"L = {i}, H = 1" for i in range(predict.VARIANTS)]}
        (self.folder / "numbers.json").write_text(json.dumps(drawn))
        self.exercise = dataclasses.replace(whole, folder=self.folder)
        for module in (exercise, check, predict):
            patch = unittest.mock.patch.object(module, "IN_HANDOUT", True)
            patch.start()
            self.addCleanup(patch.stop)
        patch = unittest.mock.patch.multiple(check, prepare=lambda _: None, why_unfit=lambda **_: "")
        patch.start()
        self.addCleanup(patch.stop)

    def begin(self, name="anna"):
        (self.answers / "student.txt").write_text(name)
        with contextlib.redirect_stderr(io.StringIO()):
            return check.start(self.exercise, self.answers)

    def said(self, file, name="anna"):
        verdict = predict.judge_numbers(self.exercise, file, name)
        self.assertEqual(0, verdict.points)
        return to_text(verdict, more=False)

    def test_the_file_has_the_numbers_of_the_name_which_is_asked_for(self):
        with self.assertRaisesRegex(Mistaken, r"student\.txt"):
            check.start(self.exercise, self.answers)
        self.assertEqual([], list(self.answers.iterdir()))
        file = self.begin()
        self.assertIn(f"Your numbers: L = {predict.seed_of(self.exercise, 'anna')}, H = 1\n", file.read_text())
        self.assertIn("these are not the numbers of bert", self.said(file, "bert"))

    def test_a_name_on_the_command_line_is_enough(self):
        with contextlib.redirect_stderr(io.StringIO()):
            check.check([self.exercise], self.answers, "anna")
        written = (self.answers / self.exercise.file_name).read_text()
        self.assertIn(f"L = {predict.seed_of(self.exercise, 'anna')}, H = 1\n", written)

    def test_in_a_class_the_numbers_are_dealt_to_the_name_or_email_in_turn(self):
        roster = Roster((Person("Anna Li", "anna@uni.example"), Person("Bert O'Neil", login="bert", turn=1), Person("Anna Li", login="anna2", turn=2)))
        dealt = self.folder / "dealt.json"
        dealt.write_text(json.dumps(roster.dealt()))
        first = predict.seed_of(self.exercise, Dealt.to("", 0))
        with unittest.mock.patch.object(written, "DEALT", dealt):
            for name, turn in (("ANNA@uni.example", 0), ("bert oneil", 1), ("bert", 1), ("anna2", 2)):
                self.assertIn(f"Your numbers: L = {(first + turn) % predict.VARIANTS}, H = 1\n", self.begin(name).read_text())
                (self.answers / self.exercise.file_name).unlink()
            for name in ("Anna Li", "Hugo"):  # two are called so; nobody is
                with self.assertRaisesRegex(Mistaken, f"nobody in your class is '{name}'"):
                    self.begin(name)
            self.assertEqual(("", 1), (written.typed(""), written.typed("bert").turn))  # argparse asks for the default, too

    def test_a_line_that_is_missing_or_no_number(self):
        file = self.begin()
        bare = file.read_text()
        self.assertIn("there is no number after 'padding ='", self.said(file))
        file.write_text(bare.replace("padding =", ""))
        self.assertIn("there is no line 'padding = NUMBER'", self.said(file))
        for text in ("1..2", "3/4", "4*8*9", ",125", "464,697", "inf"):
            with self.subTest(text):
                file.write_text(bare.replace("padding =", f"padding = {text}  # a guess"))
                self.assertIn(f"'{text}' after 'padding =' is not a single number; write it as 540, -0.75 or 1e6", " ".join(self.said(file).split()))
        file.write_text(bare.replace("padding =", "padding = 464,697"))
        self.assertIn("or 1e6, without a comma, which may group digits or begin a fraction", " ".join(self.said(file).split()))
        file.write_text(bare.replace("padding =", "padding = 1 000"))
        self.assertIn("given padding (1 later)", self.said(file))  # and no word about what is right

    def test_all_lines(self):
        file = self.begin()
        file.write_text("".join(f"{line} 7\n" if line.endswith("=") else f"{line}\n" for line in file.read_text().splitlines()))
        said = self.said(file)
        self.assertIn("complete, 5 points to be given later", said)
        self.assertIn("every line has a number; they will be judged when you have handed them in", said)
        self.assertNotIn("wrong", said)
        with contextlib.redirect_stdout(io.StringIO()):
            verdicts = check.check([self.exercise], self.answers)
        self.assertEqual("later", verdicts[0].reason)
        listed = io.StringIO()
        with contextlib.redirect_stdout(listed):
            check.progress([self.exercise], self.answers)
        self.assertIn("given 03.4", listed.getvalue())
        self.assertIn("0 of 5 points; 5 more are judged when you have handed in", listed.getvalue())

    def test_a_file_that_has_just_been_written_is_not_called_wrong(self):
        (self.answers / "student.txt").write_text("anna")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            check.check([self.exercise], self.answers)
        self.assertEqual("", out.getvalue())
        lines, seed = len(self.exercise.criteria), predict.seed_of(self.exercise, "anna")
        self.assertIn(f"({lines} lines to fill in; your numbers: L = {seed}, H = 1) into ", err.getvalue())
        with contextlib.redirect_stdout(out):
            check.check([self.exercise], self.answers)
        self.assertIn("wrong padding", out.getvalue())
