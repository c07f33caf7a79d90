"""The command that readers call again and again."""

import argparse
import contextlib
import io
import os
import resource
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.answer import judging, written
from judge.answer.exercise import load_all
from judge.answer.report import to_text
from judge.answer.student import student_in
from judge.answer.verdict import Fault, Judged, Verdict
from judge.reader import check


class Written(unittest.TestCase):
    """An answer is compiled whichever editor has saved it."""

    def test_only_what_a_compiler_cannot_read_is_copied(self):
        source = "// é\nint a;\n"
        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as copies:
            file = Path(name) / "answer.cpp"
            for content, copied in (
                (source.encode(), False),
                (source.replace("\n", "\r\n").encode(), False),
                (source.encode("latin-1"), False),
                (source.encode("utf-8-sig"), True),
                (source.encode("utf-16"), True),
                (b"\xfe\xff" + source.encode("utf-16-be"), True),
                (source.encode("utf-32"), True),
                (source.replace("\n", "\r").encode(), True),
            ):
                with self.subTest(content):
                    file.write_bytes(content)
                    readable = written.compilable(file, Path(copies))
                    self.assertEqual(copied, readable != file)
                    self.assertEqual(source.encode() if copied else content, readable.read_bytes())

    def test_what_is_no_text_is_named_and_not_compiled(self):
        target = next(e for e in load_all() if e.number == "04.2")
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(judging, "compile_answer", side_effect=AssertionError):
            file = Path(name) / target.file_name
            file.write_bytes("int a;\n".encode("utf-16-le"))
            verdict = judging.judge_answer(target, file, tight=False)
        self.assertEqual(("missing", 0), (verdict.reason, verdict.points))
        self.assertRegex(verdict.problem.text, f"^{target.file_name} has zero bytes")

    def test_a_name_is_the_same_in_every_encoding(self):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            self.assertEqual("Zoë Müller", student_in("Zoë  Müller\r\n".encode(encoding)))


class Watch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.answers = Path(folder.name)
        self.exercise = next(e for e in load_all() if e.number == "04.2")
        self.file = self.answers / self.exercise.file_name
        self.judged = []

    def watch(self, *steps):
        """Watches while `steps` happen, one at each pause, and then Ctrl-C."""
        left = iter([*steps, None])

        def pause(_):
            if (step := next(left)) is None:
                raise KeyboardInterrupt
            step()

        def judge(_, **__):
            self.judged.append(self.file.read_text() if self.file.exists() else "missing")

        with (
            unittest.mock.patch.object(check, "check", judge),
            unittest.mock.patch.object(check.time, "sleep", pause),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            self.assertRaises(KeyboardInterrupt),
        ):
            check.watch([self.exercise], self.answers)

    def save(self, text):
        """As an editor that overwrites."""

        def step():
            self.file.write_text(text)
            os.utime(self.file, ns=(0, len(self.judged) + 1))  # whatever the clock's resolution is

        return step

    def replace(self, text):
        """As an editor that writes another file and gives it the name."""

        def step():
            new = self.answers / "new"
            new.write_text(text)
            os.utime(new, ns=(0, len(self.judged) + 1))
            new.replace(self.file)

        return step

    def test_an_answer_is_judged_at_first_and_whenever_it_is_saved(self):
        nothing = lambda: None
        self.watch(nothing, self.save("a"), nothing, self.replace("b"), nothing)
        self.assertEqual([self.exercise.stub(), "a", "b"], self.judged)

    def test_a_file_that_is_away_for_a_moment_is_waited_for(self):
        self.file.write_text("a")
        self.watch(self.file.unlink, lambda: self.assertFalse(self.file.exists()), self.replace("b"))
        self.assertEqual(["a", "b"], self.judged)


class Progress(unittest.TestCase):
    def test_numbers_are_complete_only_if_every_line_holds_one(self):
        e = next(e for e in load_all() if e.kind == "predict" and len(e.criteria) > 1)
        later, missing = Fault("later", "later"), Fault("missing", "no number")
        whole = Verdict(e, [Judged(c.name, c.points, 0, later) for c in e.criteria])
        part = Verdict(e, [*whole.criteria[:-1], Judged("last", 1, 0, missing)])
        self.assertEqual(["later", "missing"], [whole.reason, part.reason])
        self.assertNotIn("complete", to_text(part))

    def test_the_best_is_kept_and_a_file_that_breaks_off_is_begun_anew(self):
        number = next(e for e in load_all() if e.number == "04.2")
        whole, nothing = (Verdict(number, [Judged(c.name, c.points, 1, fault) for c in number.criteria]) for fault in (None, Fault("wrong", "")))
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "progress.json"
            for verdict, points in ((nothing, 0), (whole, 10), (nothing, 10)):
                check.remember(verdict, file)
                self.assertEqual(points, check.best_so_far(file)["04.2"]["points"])
            file.write_text(file.read_text()[:40])
            self.assertEqual({}, check.best_so_far(file))
            check.remember(whole, file)
            self.assertEqual(10, check.best_so_far(file)["04.2"]["points"])

    def test_a_full_disk_takes_nothing_that_is_there_and_leaves_nothing_half_written(self):
        number = next(e for e in load_all() if e.number == "04.2")
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "progress.json"
            whole = Verdict(number, [Judged(c.name, c.points, 1) for c in number.criteria])
            check.remember(whole, file)
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))  # bytes, after which nothing more can be written
            try:
                self.assertRaises(OSError, check.remember, whole, file)
                self.assertRaises(OSError, check.start, number, Path(name))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            self.assertEqual(10, check.best_so_far(file)["04.2"]["points"])
            self.assertEqual([file], list(Path(name).iterdir()))

    def test_what_should_be_done_first_stands_beside_what_is_not_done(self):
        softmax, gradient = (next(e for e in load_all() if e.number == n) for n in ("04.1", "04.2"))
        whole = [Verdict(e, [Judged(c.name, c.points, 1) for c in e.criteria]) for e in (softmax, gradient)]

        def line(answers):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                check.progress([softmax, gradient], as_json=False, answers=answers)
            return said.getvalue().splitlines()[1]

        with tempfile.TemporaryDirectory() as name:
            answers = Path(name)
            self.assertTrue(line(answers).endswith("0 of  10  after 00.2, 04.1"), line(answers))
            check.remember(whole[0], answers / "progress.json")
            self.assertTrue(line(answers).endswith("0 of  10  after 00.2"), line(answers))
            check.remember(whole[1], answers / "progress.json")
            self.assertTrue(line(answers).endswith("10 of  10"), line(answers))


class Usage(unittest.TestCase):
    def run_verb(self, main, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                return main(list(arguments)), out.getvalue(), err.getvalue()
            except SystemExit as end:
                return end.code, out.getvalue(), err.getvalue()

    def test_a_list_of_what_is_done_promises_no_status_that_it_never_has(self):
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(0, self.run_verb(check.main_progress, "--answers", name)[0])
        said = " ".join(self.run_verb(check.main_progress, "--help")[1].split())
        self.assertIn("exit status: 0 if listed, whatever you have done; 2 for wrong usage", said)
        self.assertIn("1 if something is", self.run_verb(check.main, "--help")[1])

    def test_to_watch_is_not_for_programs(self):
        status, out, err = self.run_verb(check.main, "04.2", "--watch", "--json")
        self.assertEqual((2, ""), (status, out))
        self.assertEqual("book: --watch is for people and --json for programs, so they cannot be combined\n", err)

    def test_a_number_of_hints_and_an_exercise_are_not_mixed_up(self):
        self.assertEqual(2, check.number_of_hints("2"))
        with self.assertRaisesRegex(argparse.ArgumentTypeError, "03.1 is no number of hints"):
            check.number_of_hints("03.1")


if __name__ == "__main__":
    unittest.main()
