"""The command that readers call again and again."""

import argparse
import contextlib
import dataclasses
import io
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from array import array
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import check, compile, exercise, predict, sandbox, session, verdict, written
from judge.cases import Case
from judge.exercise import COMPUTED, Mistaken, load_all
from judge.report import to_text
from judge.values import Value, encode, text
from judge.verdict import Fault, Judged, Verdict


class Available(unittest.TestCase):
    def test_an_exercise_can_go_without_eigen(self):
        found = compile.Setting("g++", [], ["/usr/include/eigen3", "/opt/fmt"], [], "", {})
        loops, other = (next(e for e in load_all() if e.number == n) for n in ("00.6", "00.1"))
        self.assertEqual(["/opt/fmt"], compile.allowed(loops, found).includes)
        self.assertEqual([], compile.hidden(other))
        with tempfile.TemporaryDirectory() as name:
            answer = Path(name) / "answer.cpp"
            answer.write_text("#include <eigen3/Eigen/Core>\nEigen::MatrixXd m;\nusing namespace Eigen;\n")
            command = ["g++", *compile.allowed(loops, found).flags, "-fsyntax-only", answer]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertIn("Eigen is not available", compile.why_not_compiled("crash", done.stderr, eigen=False))
        self.assertNotIn("Eigen is not", compile.why_not_compiled("crash", "error: 'Bridge' is not a member of 'Eigen'"))
        self.assertEqual(found, compile.allowed(other, found))
        printed = "answer.cpp:1:10: fatal error: Eigen/Dense: No such file or directory"
        self.assertIn("Eigen is not available", compile.why_not_compiled("crash", printed))
        self.assertNotIn("Eigen is", compile.why_not_compiled("crash", printed.replace("Eigen/", "Igen/")))


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
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(check, "compile_answer", side_effect=AssertionError):
            file = Path(name) / target.file_name
            file.write_bytes("int a;\n".encode("utf-16-le"))
            verdict = check.judge_answer(target, file, tight=False)
        self.assertEqual(("missing", 0), (verdict.reason, verdict.points))
        self.assertRegex(verdict.problem.text, f"^{target.file_name} has zero bytes")

    def test_a_name_is_the_same_in_every_encoding(self):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            self.assertEqual("Zoë Müller", check.student_in("Zoë  Müller\r\n".encode(encoding)))


class Building(unittest.TestCase):
    def test_one_process_builds_at_a_time(self):
        with tempfile.TemporaryDirectory() as name:
            lock = Path(name) / "build" / "lock"

            def others_wait():
                return subprocess.run(["flock", "--nonblock", lock, "true"], check=False).returncode != 0

            seen = []
            with (
                unittest.mock.patch.object(compile, "ROOT", Path(name)),
                unittest.mock.patch.object(compile, "cmake", lambda *_: seen.append(others_wait())),
                unittest.mock.patch.object(compile, "copy_headers", lambda: seen.append(others_wait())),
                unittest.mock.patch.object(compile, "setting"),
            ):
                compile.prepare([])
            self.assertEqual([True, True], seen)
            self.assertFalse(others_wait())


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

    def test_a_missing_cmake_is_one_line(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.dict(os.environ, {"PATH": name}):
            with self.assertRaisesRegex(compile.Failed, "^cmake is not installed"):
                compile.cmake("--version")

    def test_to_watch_is_not_for_programs(self):
        status, out, err = self.run_verb(check.main, "04.2", "--watch", "--json")
        self.assertEqual((2, ""), (status, out))
        self.assertEqual("book: --watch is for people and --json for programs, so they cannot be combined\n", err)


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
        for line in ("n: 1234", "n＝1234", "n = １２３４", "n = 1'234", "n = 1\u202f234", "\ufeffn = 12\u200b34", "Ｎ = 1234", "　n = 1234"):
            with self.subTest(line):
                self.assertEqual([1234], list(self.read(line).values()))
        self.assertEqual({"n": -0.5}, self.read("n = \u22120.5"))
        self.assertEqual({"n": 5}, self.read("n: as many as there are pads\nn = 5\nn: 7 is wrong\n"))
        self.assertEqual({}, self.read("n: as many as there are pads\n"))
        for line in ("n = 10²", "n = ½", "n = 1,234"):
            self.assertTrue(math.isnan(self.read(line)["n"]), line)

    def test_numbers_in_any_encoding_that_names_itself(self):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "answer.txt"
            for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
                for end in ("\n", "\r\n", "\r"):
                    with self.subTest(encoding=encoding, end=end):
                        file.write_bytes(f"a = 1{end}b = 2{end}".encode(encoding))
                        self.assertEqual({"a": "1", "b": "2"}, predict.read(file))
            file.write_bytes("a = 1\n".encode("utf-16-le"))
            with self.assertRaisesRegex(Mistaken, "^answer.txt has zero bytes, .*: save it as UTF-8$"):
                predict.read(file)

    def test_a_number_that_is_off_by_more_than_a_factor_can_say(self):
        case = Case("c", "a", "", 1e-6, [], [Value("R", (), array("d", [500.0]))], [], {}, [])
        for answer, cause in (("1e-323", ()), ("250", ("off by a factor 1/2",)), ("-1500", ("off by a factor -3",))):
            with self.subTest(answer):
                self.assertEqual(cause, predict.compare(case, {"a": answer}, "").causes)

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

    def test_the_numbers_of_the_gate_stay(self):
        self.assertEqual(1, len({predict.seed_of(e, predict.GATE) for e in load_all()}))


class Race(unittest.TestCase):
    """A speed, on a machine that does other things, too."""

    def ratio(self, seconds, wanted=2.0, results=lambda which, n, arguments: [], case=None, answer=0):
        """`seconds(which, call, n)`: of the n-th request of this kind to the answer (0) or to the plain function (1)."""
        counts = {}

        def timed(which, call, arguments, most):
            n = counts[which, call] = counts.get((which, call), -1) + 1
            return seconds(which, call, n), [] if call == "nothing" else results(which, n, arguments)

        class Plain(int):
            def close(self):
                pass

            def call(self, function, arguments, *, most):
                return []

        with (
            unittest.mock.patch.object(verdict, "timed", timed),
            unittest.mock.patch.object(verdict, "Session", lambda *_, **__: Plain(1)),
        ):
            case = case or Case("c", "f", "", 0, [], [], [], {}, [])
            return verdict.race(answer, Path(), [case], None, wanted, tight=False)

    def test_the_time_of_messages_is_left_out(self):
        ratio, fault = self.ratio(lambda which, call, n: 5 + (0 if call == "nothing" else 3 if which else 1))
        self.assertAlmostEqual(3, ratio)
        self.assertIsNone(fault)

    def test_rounds_that_something_slows_count_for_nothing(self):
        for slow in ((0, "f"), (1, "f"), (0, "nothing"), (1, "nothing")):
            for every in (2, 3):
                with self.subTest(slow=slow, every=every):
                    ratio, _ = self.ratio(
                        lambda which, call, n, slow=slow, every=every: (
                            1 + (0 if call == "nothing" else 3 if which else 1) + (100 if (which, call) == slow and n % every else 0)
                        )
                    )
                    self.assertAlmostEqual(3, ratio)

    def test_what_is_slow_stays_slow(self):
        ratio, fault = self.ratio(lambda which, call, n: 1.0 if call == "nothing" else 2.0)
        self.assertAlmostEqual(1, ratio)
        self.assertEqual("slow", fault.reason)

    def test_what_is_slow_until_its_time_is_over_is_slow(self):
        class Late(int):
            def close(self):
                return sandbox.Outcome("timeout", 152, "")

        def seconds(which, call, n):
            if n == 4:
                raise session.Ended("timeout")
            return 1.0 if call == "nothing" else 2.0

        ratio, fault = self.ratio(seconds, answer=Late())
        self.assertAlmostEqual(1, ratio)
        self.assertEqual("slow", fault.reason)
        self.assertIn("the fastest of 3 rounds", fault.text)

    def test_a_plain_way_that_fails_is_not_the_answers_mistake(self):
        def seconds(which, call, n):
            if which and n == 4:
                raise session.Ended("end")
            return 1.0 if call == "nothing" else 2.0

        with self.assertRaisesRegex(compile.Failed, "the plain way failed"):
            self.ratio(seconds)

    def test_slow_messages_of_an_answer_do_not_shorten_its_work(self):
        ratio, fault = self.ratio(lambda which, call, n: 2.0 if (which, call) != (1, "nothing") else 1.0)
        self.assertAlmostEqual(1, ratio)
        self.assertEqual("slow", fault.reason)

    def raced(self, results):
        """The fault of an answer that is fast, and whose n-th result is `results(n, arguments)`: right is the sum."""
        given = Value("T", (3,), array("d", [1, 2, 3]))
        right = lambda x: [Value("R", (), array("d", [sum(x[0].elements)]))]
        case = Case("c", "f", "", 1e-9, [given], right([given]), ["x", "y"], {}, [])
        fast = lambda which, call, n: 1.0 if call == "nothing" else 9.0 if which else 2.0
        which = lambda which, n, x: right(x) if which else results(n, x, right)
        return self.ratio(fast, results=which, case=case)

    def test_a_result_that_is_right_whenever_it_is_timed(self):
        ratio, fault = self.raced(lambda n, x, right: right(x))
        self.assertAlmostEqual(8, ratio)
        self.assertIsNone(fault)

    def test_a_result_that_is_kept_or_left_out_once_it_is_timed(self):
        kept = []
        stale = lambda n, x, right: kept[0] if kept else kept.append(right(x)) or kept[0]
        for wrong in (stale, lambda n, x, right: [], lambda n, x, right: right(x) if n < verdict.ROUNDS else [x[0]]):
            ratio, fault = self.raced(wrong)
            self.assertEqual(0, ratio)
            self.assertEqual("wrong", fault.reason)
            self.assertIn("while its time was measured", fault.text)

    def test_each_round_has_numbers_that_say_nothing_of_the_next(self):
        seen = []
        self.raced(lambda n, x, right: seen.append(tuple(x[0].elements)) or right(x))
        self.assertEqual(len(seen), len({frozenset(map(abs, x)) for x in seen}))

    def test_an_answer_may_have_no_more_bytes_than_are_right(self):
        right = Value("T", (1000,), array("d", [0] * 1000))
        case = Case("c", "f", "", 0, [], [right, Value("S", text="a" * 500)], [], {}, [])
        size = len(encode([text(""), *case.results]))
        self.assertLess(size, verdict.most_of(case))
        self.assertLess(verdict.most_of(case), size + 10_000)


class HandedOut(unittest.TestCase):
    """Numbers that are predicted: a pack has the student's, and not what is right."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.answers = Path(folder.name) / "exercise", Path(folder.name) / "answers"
        self.folder.mkdir()
        self.answers.mkdir()
        whole, self.other = (next(e for e in load_all() if e.number == n) for n in ("03.4", "03.1"))
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

    def test_a_name_is_asked_for(self):
        with self.assertRaisesRegex(Mistaken, r"student\.txt"):
            check.start(self.exercise, self.answers)
        self.assertEqual([], list(self.answers.iterdir()))

    def test_the_file_has_the_numbers_of_the_name(self):
        text = self.begin().read_text()
        self.assertIn(f"Your numbers: L = {predict.seed_of(self.exercise, 'anna')}, H = 1\n", text)
        self.assertNotEqual(predict.seed_of(self.exercise, "anna"), predict.seed_of(self.exercise, "bert"))

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
            verdicts = check.check([self.exercise], as_json=False, answers=self.answers)
        self.assertEqual("later", verdicts[0].reason)
        listed = io.StringIO()
        with contextlib.redirect_stdout(listed):
            check.progress([self.exercise], as_json=False, answers=self.answers)
        self.assertIn("given 03.4", listed.getvalue())
        self.assertIn("0 of 5 points; 5 more are judged when you have handed in", listed.getvalue())

    def test_a_file_that_has_just_been_written_is_not_called_wrong(self):
        (self.answers / "student.txt").write_text("anna")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            check.check([self.exercise], as_json=False, answers=self.answers)
        self.assertEqual("", out.getvalue())
        lines, seed = len(self.exercise.criteria), predict.seed_of(self.exercise, "anna")
        self.assertIn(f"({lines} lines to fill in; your numbers: L = {seed}, H = 1) into ", err.getvalue())
        with contextlib.redirect_stdout(out):
            check.check([self.exercise], as_json=False, answers=self.answers)
        self.assertIn("wrong padding", out.getvalue())

    def test_numbers_that_are_complete_at_last_are_listed_so(self):
        verdicts = [Verdict(self.exercise, [Judged(c.name, c.points, 0, Fault(reason, "")) for c in self.exercise.criteria]) for reason in ("missing", "later")]
        for verdict in verdicts:
            check.remember(verdict, self.answers / "progress.json")
        self.assertEqual("later", check.best_so_far(self.answers / "progress.json")["03.4"]["reason"])

    def test_without_a_name_the_others_are_judged(self):
        other = self.other
        said, judged = io.StringIO(), []
        (self.answers / other.file_name).touch()  # begun
        with (
            unittest.mock.patch.object(check, "judge_answer", lambda e, *_, **__: judged.append(e.number) or Verdict(e)),
            contextlib.redirect_stderr(said),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            check.check([self.exercise, other], as_json=False, answers=self.answers)
        self.assertEqual(["03.1"], judged)
        self.assertIn("03.4 is left out: your numbers are drawn from your name", said.getvalue())

    def test_a_number_of_hints_and_an_exercise_are_not_mixed_up(self):
        self.assertEqual(2, check.number_of_hints("2"))
        with self.assertRaisesRegex(argparse.ArgumentTypeError, "03.1 is no number of hints"):
            check.number_of_hints("03.1")

    def test_the_numbers_of_another_name(self):
        self.assertIn("these are not the numbers of bert", self.said(self.begin("anna"), "bert"))


if __name__ == "__main__":
    unittest.main()
