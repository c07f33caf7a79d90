"""The command that readers call again and again."""

import argparse
import contextlib
import io
import os
import resource
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from judge.answer import judging, report
from judge.answer.exercise import Mistaken, load_all
from judge.answer.report import to_text
from judge.answer.verdict import Fault, Judged, Verdict
from judge.reader import check

EXERCISES = {e.number: e for e in load_all()}


def verdict(number, fault=None):
    return Verdict(EXERCISES[number], [Judged(c.name, c.points, 1, fault) for c in EXERCISES[number].criteria])


class Answers(unittest.TestCase):
    """A folder of answers, empty at first."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.answers = Path(folder.name)
        self.exercise = EXERCISES["04.2"]
        self.file = self.answers / self.exercise.file_name

    def test_what_is_no_text_is_named_and_not_compiled(self):
        self.file.write_bytes("int a;\n".encode("utf-16"))
        with unittest.mock.patch.object(judging, "compile_answer", side_effect=AssertionError):
            judged = judging.judge_answer(self.exercise, self.file, tight=False)
        self.assertEqual(("missing", 0), (judged.reason, judged.points))
        self.assertRegex(judged.problem.text, f"^{self.file.name} has zero bytes, .*: save it as UTF-8$")

    def test_an_answer_is_judged_at_first_and_whenever_it_is_saved(self):
        judged = []

        def save(text):
            """As an editor that writes another file and gives it the name."""
            new = self.answers / "new"
            new.write_text(text)
            os.utime(new, ns=(0, len(judged) + 1))  # whatever the clock's resolution is
            new.replace(self.file)

        steps = iter([lambda: None, lambda: save("a"), lambda: None, self.file.unlink, lambda: save("b"), lambda: None])

        def pause(_):
            if (step := next(steps, None)) is None:
                raise KeyboardInterrupt
            step()

        with (
            unittest.mock.patch.object(check, "check", lambda *_, **__: judged.append(self.file.read_text())),
            unittest.mock.patch.object(check.time, "sleep", pause),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            self.assertRaises(KeyboardInterrupt),
        ):
            check.watch([self.exercise], self.answers)
        self.assertEqual([self.exercise.stub(), "a", "b"], judged)

    def test_numbers_are_complete_only_if_every_line_holds_one(self):
        e = next(e for e in EXERCISES.values() if e.kind == "predict" and len(e.criteria) > 1)
        whole = verdict(e.number, Fault("later", "later"))
        part = Verdict(e, [*whole.criteria[:-1], Judged("last", 1, 0, Fault("missing", "no number"))])
        self.assertEqual(["later", "missing"], [whole.reason, part.reason])
        self.assertNotIn("complete", to_text(part))

    def test_feedback_says_a_cause_once_what_to_read_again_and_a_hint(self):
        fault = Fault("timeout", "does a loop never end?", ("the factor w is missing",), about="w of shape [2]")
        wrong, right = (report.feedback(report.to_dict(judged)) for judged in (verdict("04.2", fault), verdict("04.1")))
        self.assertEqual([1, 2], [wrong.count("Likely: the factor w is missing."), wrong.count("Likely: as above.")])
        self.assertIn("does a loop never end? Case: w of shape [2].\n", wrong)
        self.assertRegex(wrong, r'(?s)\n  Read again: chapter 4, "[^(]*"\.\n  Hint: Every weight depends ')
        self.assertTrue(wrong.endswith("(2 more: ./check 04.2 --hint 2)"))
        self.assertNotRegex(right, "Read again|Hint")
        fewer = {**report.to_dict(verdict("04.2")), "points": 7, "reason": "by hand"}
        self.assertNotRegex(report.feedback(fewer), "Read again|Hint")

    def test_an_answer_that_a_browser_has_renamed_is_named_and_no_stub_written(self):
        (self.answers / f"{self.file.stem} (1).cpp").write_text("mine")
        with self.assertRaisesRegex(Mistaken, rf"^there is {self.file.stem} \(1\).cpp in .*, but no {self.file.name}: rename it$"):
            check.start(self.exercise, self.answers)
        self.assertFalse(self.file.exists())

    def test_the_best_is_kept_and_a_file_that_breaks_off_is_begun_anew(self):
        file = self.answers / "progress.json"
        wrong, right = verdict("04.2", Fault("wrong", "")), verdict("04.2")
        for judged, points in ((wrong, 0), (right, 10), (wrong, 10)):
            check.remember(judged, file)
            self.assertEqual(points, check.best_so_far(file)["04.2"]["points"])
        file.write_text(file.read_text()[:40])
        self.assertEqual({}, check.best_so_far(file))

    def test_a_full_disk_takes_nothing_that_is_there_and_leaves_nothing_half_written(self):
        file = self.answers / "progress.json"
        check.remember(verdict("04.2"), file)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))  # bytes, after which nothing more can be written
        try:
            self.assertRaises(OSError, check.remember, verdict("04.2"), file)
            self.assertRaises(OSError, check.start, self.exercise, self.answers)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.assertEqual(10, check.best_so_far(file)["04.2"]["points"])
        self.assertEqual([file], list(self.answers.iterdir()))

    def test_what_should_be_done_first_stands_beside_what_is_not_done(self):
        for done, end in ((None, "0 of  10  after 00.2, 04.1"), ("04.1", "0 of  10  after 00.2"), ("04.2", "10 of  10")):
            if done:
                check.remember(verdict(done), self.answers / "progress.json")
            with contextlib.redirect_stdout(io.StringIO()) as said:
                check.progress([EXERCISES["04.1"], self.exercise], self.answers)
            self.assertTrue(said.getvalue().splitlines()[1].endswith(end), said.getvalue())

    def test_a_number_of_hints_and_an_exercise_are_not_mixed_up(self):
        self.assertEqual(2, check.number_of_hints("2"))
        with self.assertRaisesRegex(argparse.ArgumentTypeError, "03.1 is no number of hints"):
            check.number_of_hints("03.1")
