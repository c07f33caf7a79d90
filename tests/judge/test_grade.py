"""A class is judged, and what fails is the fault of an answer, of the book, or of the machine."""

import contextlib
import csv
import dataclasses
import errno
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from array import array
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from judge.answer import report, sandbox
from judge.answer.build import prepare
from judge.answer.cases import Case
from judge.answer.exercise import Mistaken, load_all
from judge.answer.limits import Unfit
from judge.answer.setting import INCLUDE, Failed
from judge.answer.values import Value
from judge.answer.verdict import Fault, Judged, Verdict
from judge.course import appeal, grade
from judge.course.marks import Marks, folder_of
from judge.course.roster import Deadline, Roster
from judge.course.submissions import Submission, collect
from judge.course.tables import safe
from tests.judge.handed_in import NAME, TARGET

ROOT = Path(__file__).resolve().parents[2]
PRIVATE_MOUNTS = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0


class Judging(unittest.TestCase):
    def test_an_answer_that_the_judge_cannot_cope_with_is_one_students(self):
        def judge(exercise, *_, **__):
            if exercise is TARGET:
                raise OverflowError("intermediate overflow")
            return Verdict(exercise)

        other = next(e for e in load_all() if e is not TARGET)
        submission = Submission("anna", answers={NAME: b"a", other.file_name: b"b"})
        with unittest.mock.patch.object(grade, "judge_answer", judge):
            first, second = grade.judge_submission(submission, [TARGET, other], 1, tight=False)
        self.assertEqual(("judge", 0, "ok"), (first.reason, first.points, second.reason))
        with tempfile.TemporaryDirectory() as name:
            kept = {v.exercise.number: report.to_dict(v) for v in (first, second)}
            result = Marks(Path(name)).keep(submission, kept)
        self.assertEqual(["04.2: judge it by hand"], result["notes"])

    def test_whether_an_error_is_of_the_machine_is_asked_of_the_machine(self):
        submission = Submission("anna", answers={NAME: b"a"})
        busy = OSError(errno.ETXTBSY, "Text file busy")
        for error, unfit, free, raises in (
            (busy, "", 1 << 40, None),
            (busy, "not even an empty program runs here", 1 << 40, Unfit),
            (busy, "", 1 << 20, OSError),  # the disk is full
            (Unfit("noexec"), "", 1 << 40, Unfit),
            (Failed("no case"), "", 1 << 40, Failed),  # of the book
        ):
            judge = unittest.mock.Mock(side_effect=error)
            usage = unittest.mock.patch.object(grade.shutil, "disk_usage", lambda _, free=free: unittest.mock.Mock(free=free))
            with self.subTest(str(error), unfit=unfit), usage, unittest.mock.patch.multiple(grade, judge_answer=judge, why_unfit=lambda unfit=unfit, **_: unfit):
                if raises:
                    self.assertRaises(raises, grade.judge_submission, submission, [TARGET], 1, tight=False)
                else:
                    (verdict,) = grade.judge_submission(submission, [TARGET], 1, tight=False)
                    self.assertEqual("judge", verdict.reason)

    def test_a_machine_that_fails_is_one_line(self):
        for error, place in (
            (OSError(errno.ENOSPC, "No space left on device"), "grade"),
            (Unfit("cannot start a program"), "why_unfit"),
            (BrokenProcessPool("A process was terminated abruptly"), "grade"),
        ):
            stand_ins = {"why_unfit": lambda **_: "", "grade": unittest.mock.Mock(), "prepare": lambda *_, **__: None}
            stand_ins[place] = unittest.mock.Mock(side_effect=error)
            printed = io.StringIO()
            with (
                self.subTest(str(error)),
                tempfile.TemporaryDirectory() as out,
                unittest.mock.patch.multiple(grade, **stand_ins),
                unittest.mock.patch.object(sandbox, "why_unavailable", lambda: ""),
                contextlib.redirect_stderr(printed),
            ):
                self.assertEqual(3, grade.main(["04.2", "--submissions", out, "--out", out]))
            self.assertRegex(printed.getvalue(), f"^book: .*no student is to blame; .*{error.args[-1]}\n$")

    def test_a_worksheet_is_read_before_anybody_is_graded(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(grade, "prepare", side_effect=AssertionError):
            (Path(name) / "sheet.csv").write_text("Identifier,Grade\n")
            with self.assertRaisesRegex(Mistaken, "no column Maximum grade"):
                grade.main(["04.2", "--submissions", name, "--out", name, "--moodle", f"{name}/sheet.csv"])

    def test_ctrl_c_ends_workers_without_a_word(self):
        script = (
            "import multiprocessing, os, signal, time\n"
            "from judge.course.workers import workers\n"
            "begun = multiprocessing.get_context('fork').Barrier(2)\n"
            "def begin(_): begun.wait()\n"
            "os.setpgrp()\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "try:\n"
            "    with workers(2) as pool:\n"
            "        list(pool.map(begin, [1, 2]))\n"
            "        pool.submit(time.sleep, 1000)\n"
            "        os.killpg(0, signal.SIGINT)\n"
            "        time.sleep(1000)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n"
        )
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(("interrupted\n", ""), (done.stdout, done.stderr))

    def test_a_case_is_shown_in_full_unless_it_is_large(self):
        def shown(rows):
            tensor = Value("T", (rows, 2), array("d", range(2 * rows)))
            case = Case("large", "twice", "x [.., 2]", 0.0, [tensor], [tensor], ["x", "y"], {}, [])
            fault = Fault("wrong", "y[1, 0] is 9, expected 2", case=case, got=(tensor,))
            return appeal.case(Judged("large", 5, 1, fault))

        whole = "tensor [2, 2]\n    [0] 0  1\n    [1] 2  3\n"
        self.assertIn(f"  x: {whole}  expected y: {whole}  got y: {whole}  y[1, 0] is 9, expected 2", shown(2))
        self.assertIn("  x: tensor [50, 2]\n  expected y: tensor [50, 2]\n  got y: tensor [50, 2]\n  y[1, 0] is 9", shown(50))


class Again(unittest.TestCase):
    """What has been judged before is judged again only if something has changed that its verdict depends on."""

    def setUp(self):
        """Folders for submissions and marks, and copies of two exercises and of the judge, which may be changed."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.exercises = []
        for e in load_all():
            if e.number in ("04.1", "04.2"):
                self.exercises.append(dataclasses.replace(e, folder=shutil.copytree(e.folder, self.root / e.folder.name)))
        shutil.copytree(ROOT / "judge/answer", self.root / "judge/answer")
        patch = unittest.mock.patch.object(grade, "JUDGE", self.root / "judge")
        patch.start()
        self.addCleanup(patch.stop)

    def hand_in(self, student, *answers):
        (self.root / "in" / student).mkdir(parents=True, exist_ok=True)
        for e, answer in zip(self.exercises, answers):
            (self.root / "in" / student / f"{TARGET.chapter}_{e.folder.name}.cpp").write_text(answer)

    def graded(self, asked=None):
        """Whom it judges, where nothing is compiled and an answer's length is its points; and what it prints."""
        judged, said = [], io.StringIO()

        def one(submission, exercises, seed, *, tight):
            judged.extend((submission.student, e.number) for e in exercises)
            about = {"title": "", "kind": "", "of": 10, "reason": "wrong", "problem": "said", "criteria": [], "remark": "", "printed": ""}
            return [{"number": e.number, "points": len(submission.answers[e.file_name]), **about} for e in exercises]

        marks = Marks(self.root / "out")
        with (
            unittest.mock.patch.object(grade, "grade_one", one),
            unittest.mock.patch.object(grade, "workers", ThreadPoolExecutor),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(said),
        ):
            submissions = collect(self.root / "in", [e.file_name for e in self.exercises])
            asked = asked or self.exercises
            more = grade.lacking(submissions, marks, asked, self.exercises)
            grade.grade(submissions, marks, asked, more, 7, tight=True, jobs=1)
            marks.summarize(marks.results(self.exercises, Roster(), None, Deadline()))
        return sorted(judged), said.getvalue()

    def test_only_what_has_changed_is_judged_again_and_changed_points_are_listed(self):
        first, second = self.exercises
        self.hand_in("anna", "a", "a")
        both = [("anna", "04.1"), ("anna", "04.2")]
        self.assertEqual(both, self.graded()[0])
        for file, judged in (
            (second.folder / "cases.cpp", both[1:]),
            (second.folder / "exercise.json", both[1:]),
            (self.root / "judge/answer/verdict.py", both),
            (self.root / "judge/answer/serve.cpp", both),
        ):
            file.write_bytes(file.read_bytes() + b"\n")
            self.assertEqual(judged, self.graded()[0], file.name)
            self.assertEqual([], self.graded()[0])
        self.hand_in("anna", "longer")
        judged, said = self.graded()
        self.assertEqual(both[:1], judged)
        self.assertTrue(said.startswith("points that have changed:\n  anna 04.1: 1 of 10 before, 6 of 10 now\n"), said)

    def test_a_part_of_the_class_or_of_the_exercises_leaves_the_others_as_they_are(self):
        self.hand_in("anna", "a", "a")
        self.hand_in("bert", "b", "b")
        self.graded()
        shutil.rmtree(self.root / "in/bert")
        (self.root / "in/anna" / TARGET.file_name).unlink()  # handed in again, without 04.2
        self.hand_in("cleo", "c", "c")
        self.assertEqual([("cleo", "04.1"), ("cleo", "04.2")], self.graded(self.exercises[:1])[0])
        with (self.root / "out/class_wide.csv").open() as file:
            rows = {r["student"]: (r["04.1"], r["04.2"], r["of"]) for r in csv.DictReader(file)}
        self.assertEqual(dict.fromkeys(("anna", "bert", "cleo"), ("1", "1", "20")), rows)
        self.assertEqual([], self.graded()[0])
        self.assertIn("04.2 is not in this submission; an earlier answer counts", (self.root / "out/anna/feedback.txt").read_text())

    def test_what_the_judge_could_not_judge_is_tried_again(self):
        self.hand_in("anna", "a", "a")
        self.graded()
        file = self.root / "out/verdicts/anna.json"
        kept = json.loads(file.read_text())
        kept["verdicts"][1]["reason"] = "judge"
        file.write_text(json.dumps(kept))
        self.assertEqual([("anna", "04.2")], self.graded()[0])


class Written(unittest.TestCase):
    """What is written of a class, whatever students are called."""

    def test_results_that_have_been_damaged_are_named(self):
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "settings.json").write_text("{")
            with self.assertRaisesRegex(Mistaken, f"^{name}/settings.json has been damaged .*: restore it, or delete it"):
                Marks(Path(name)).settings()

    def test_a_name_that_would_leave_the_results_or_that_they_have_themselves(self):
        for name in ("..", "a/b", ".hidden", "x" * 500, "an\ufffdna", "\u53cd" * 85, "\U00020000" * 63, "class.csv", "Verdicts", "moodle_feedback.zip"):
            self.assertRegex(folder_of(name), r"^[\w\- ][\w\-. ]*_[0-9a-f]{8}$")
            self.assertLess(len(f"{folder_of(name)}.json.part".encode()), 256)  # the most that a file system takes

    def test_a_formula_is_text(self):
        self.assertEqual(["'=HYPERLINK(1)", "", "ok"], [safe("=HYPERLINK(1)"), safe(""), safe("ok")])


@unittest.skipIf(sandbox.why_unavailable(), sandbox.why_unavailable())
class Class(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.folder, self.out = self.root / "submissions", self.root / "out"
        self.folder.mkdir()

    def hand_in(self, student, answer):
        (self.folder / student).mkdir()
        (self.folder / student / NAME).write_text(answer)

    def run_judge(self, *options, verb=("grade", "04.2"), before=(), **more):
        where = ["--submissions", self.folder, "--out", self.out] if verb[0] == "grade" else []
        command = [*before, sys.executable, "-m", "judge", *verb, *where, *options]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **more)

    def test_a_class_is_graded_resumed_and_left_alone_by_one_bad_submission(self):
        """From a clone that is private, where root has answers compiled by another user."""
        prepare([TARGET])
        mode = INCLUDE.stat().st_mode
        INCLUDE.chmod(0o700)
        self.addCleanup(INCLUDE.chmod, mode & 0o777)
        self.hand_in("anna", TARGET.solution())
        self.hand_in("bert", TARGET.stub())
        self.hand_in("cleo", TARGET.mutated(TARGET.mutants[0]))
        self.hand_in("dora", "this is not C++")
        self.hand_in("eve", (ROOT / "judge" / "attacks" / "fork_bomb.cpp").read_text())
        (self.folder / "finn").mkdir()
        (self.folder / "gina.zip").write_text("no zip")
        run = self.run_judge("--gradescope", umask=0o077)
        self.assertEqual(0, run.returncode, run.stderr)
        rows = {r["student"]: r for r in csv.DictReader((self.out / "class.csv").read_text().splitlines())}
        self.assertEqual({"anna": 10, "bert": 0, "cleo": 0, "dora": 0, "eve": 0, "finn": 0, "gina": 0}, {s: int(r["points"]) for s, r in rows.items()})
        reasons = {s: r["reason"] for s, r in rows.items() if s != "eve"}
        self.assertEqual({"anna": "ok", "bert": "missing", "cleo": "wrong", "dora": "compile", "finn": "missing", "gina": "missing"}, reasons)
        self.assertIn("not a zip", rows["gina"]["note"])
        results = json.loads((self.out / "anna" / "results.json").read_text())
        self.assertEqual((10, {"passed"}), (results["score"], {t["status"] for t in results["tests"]}))
        sheet = self.root / "sheet.csv"
        sheet.write_text("Identifier,Full name,Grade,Maximum Grade\nParticipant 5,cleo,,20.00\nParticipant 6,anna,,20.00\n")
        self.assertIn("7 of 7 submissions have already been graded", self.run_judge("--moodle", sheet).stderr)
        filled = list(csv.DictReader((self.out / "moodle.csv").read_text().splitlines()))
        self.assertEqual(["0.00", "20.00"], [r["Grade"] for r in filled])
        appeal = self.run_judge("--appeal", "cleo").stdout
        self.assertRegex(appeal, r"(?s)04\.2 .*: 0 of 10 points.*: a case of softmax_backward.*expected dz: tensor.*got dz: tensor.*In the marks: 0 of 10")
        nobody = self.run_judge("--appeal", "hugo")
        self.assertEqual((2, "book: no submission is hugo's; there are anna, bert, cleo, dora, eve, finn, gina\n"), (nobody.returncode, nobody.stderr))

    @unittest.skipUnless(PRIVATE_MOUNTS, "only root may mount here")
    def test_a_place_where_no_answer_runs_is_refused_before_anybody_is_judged(self):
        private = self.run_judge(env={**os.environ, "TMPDIR": str(self.root)})
        self.assertEqual(4, private.returncode)
        self.assertIn("is closed to other users", private.stderr)
        self.root.chmod(0o755)
        temporary = self.root / "tmp"
        temporary.mkdir()
        self.hand_in("anna", TARGET.solution())
        mounted = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs -o noexec,mode=1777 none {temporary} && exec \"$@\"", "sh"]
        for verb, options, status in ((["grade", "04.2"], [], 3), (["check", "04.2"], ["--answers", self.folder / "anna"], 2)):
            run = self.run_judge(*options, verb=verb, before=mounted, env={**os.environ, "TMPDIR": str(temporary)})
            self.assertEqual((status, ""), (run.returncode, run.stdout), verb)
            self.assertRegex(run.stderr, f"(?m)^book: (.*: )?{temporary}, where answers are compiled, is mounted noexec")
            self.assertFalse(self.out.exists())
