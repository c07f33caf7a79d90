"""What students get of an exercise holds no line of a solution."""

import contextlib
import dataclasses
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import __main__ as judge
from judge.answer import cases as draws
from judge.answer import setting
from judge.answer.build import prepare
from judge.answer.exercise import Exercise, Mistaken, load_all
from judge.course import autograders, handout, pack, tryout
from judge.course.leaks import given, leaks


def texts(exercises: list[Exercise]) -> dict[str, str]:
    return {f"{e.number} {name}": text for e in exercises for name, text in given(e).items()}


class Given(unittest.TestCase):
    def test_no_chapter_gives_its_solutions_away(self):
        for chapter, members in groupby(load_all(), lambda e: e.chapter):
            exercises = list(members)
            with self.subTest(chapter=chapter):
                self.assertEqual([], leaks(exercises, texts(exercises)))

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

        with unittest.mock.patch.object(tryout, "judged_by", judged_by):
            self.assertEqual(["04.2: part 1: dz is 1"], tryout.refused(exercises, Path()))
        self.assertEqual([["04.2", "10.6"]], [sorted(numbers) for _, numbers in asked])  # predictions are judged elsewhere

    def test_what_only_judge_and_instructor_need_stays_behind(self):
        for e in load_all():
            self.assertEqual(set(), pack.manifest(e).keys() & {"mutants", "given", "trains", "needs"}, e.number)


class Clone(unittest.TestCase):
    """The autograder's book comes from git."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        patch = unittest.mock.patch.object(autograders, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)
        own = self.root / "chapters/04_a/exercises/2_b"
        own.mkdir(parents=True)
        (own / "answer.cpp").write_text("int a;\n")
        whole = next(e for e in load_all() if e.number == "04.2")
        self.exercise = dataclasses.replace(whole, folder=own)

    def git(self, *arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=self.root, check=True, capture_output=True)

    def said(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            autograders.require_clone([self.exercise])
        return said.getvalue()

    def test_a_folder_that_is_no_clone_is_one_line(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = judge.main(["handout", "04.2", "--out", str(self.root / "out"), "--gradescope"])
        self.assertEqual(2, status)
        one_line = r"^book: --gradescope packs the book from its git clone: fatal: not a git repository.*\n$"
        self.assertRegex(said.getvalue(), one_line)

    def test_a_clone_without_a_commit_or_around_the_book(self):
        self.git("init")
        with self.assertRaisesRegex(Mistaken, "git clone: fatal"):
            autograders.require_clone([self.exercise])
        with unittest.mock.patch.object(autograders, "ROOT", self.root / "chapters"):
            with self.assertRaisesRegex(Mistaken, "inside another clone"):
                autograders.require_clone([self.exercise])

    def test_changes_that_are_not_committed(self):
        self.git("init")
        self.git("add", ".")
        self.git("commit", "-m", "a")
        self.assertEqual("", self.said())
        (self.exercise.folder / "answer.cpp").write_text("int b;\n")
        self.assertEqual("book: 04.2: uncommitted changes are not in the autograder\n", self.said())


class Programs(unittest.TestCase):
    """Exercises that a pack judges but cannot run."""

    def test_a_pack_says_which_exercises_need_the_books_programs(self):
        def told(*numbers):
            return handout.needing_the_book([e for e in load_all() if e.number in numbers])

        self.assertEqual("", told("04.1", "04.2"))
        self.assertTrue(told("04.2", "09.7").startswith("09.7 needs runs of the book's own programs: "))
        self.assertTrue(told("04.2", "09.6", "09.7").startswith("09.6, 09.7 need "))


class Machine(unittest.TestCase):
    def test_a_pack_for_another_kind_of_processor_says_so(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(setting, "ROOT", Path(folder)):
            (Path(folder) / "handout.json").write_text('{"machine": "pdp11"}')
            with self.assertRaisesRegex(setting.Failed, "libraries are for pdp11, but this machine is "):
                setting.setting_of_handout()

    def test_a_pack_of_a_newer_system_says_so(self):
        for older, newer in (("2.36", "2.39"), ("2.9", "2.10"), ("2", "2.1")):
            self.assertTrue(setting.before(older, newer))
            self.assertFalse(setting.before(newer, older))
        self.assertFalse(setting.before("", "2.39"))
        self.assertFalse(setting.before("2.39", ""))
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(setting, "ROOT", Path(folder)):
            (Path(folder) / "handout.json").write_text(json.dumps({"machine": platform.machine(), "libc": "99.1"}))
            with self.assertRaisesRegex(setting.Failed, "made on a system with glibc 99.1, but this one has 2"):
                setting.setting_of_handout()

    def test_the_pack_is_called_where_it_lies(self):
        """As `./book handout 04 --out pack` does, with a path that is not absolute."""
        self.addCleanup(os.chdir, Path.cwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            Path("pack").mkdir()
            Path("pack/check").write_text("#!/bin/sh\necho '[{\"points\": 7}]'\n")
            Path("pack/check").chmod(0o755)
            self.assertEqual([{"points": 7}], tryout.judged_by(Path("pack"), {}, ["04.2"]))
            os.chdir("/")


class Student(unittest.TestCase):
    """A pack on a student's machine."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.pack = Path(folder.name) / "pack"
        exercise = next(e for e in load_all() if e.number == "04.2")
        prepare([exercise])
        handout.make([exercise], cls.pack, seed=1)

    def check(self, folder, *arguments, output=""):
        """The exit status of ./check, and what it says."""
        command = ["bash", "-c", f'./check "$@" {output}; exit ${{PIPESTATUS[0]}}', "bash", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stderr

    def test_git_on_windows_leaves_a_pack_as_it_is(self):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=true"]
        clone = self.pack.with_name("clone")
        for command in (["init"], ["add", "."], ["commit", "-m", "pack"], ["clone", ".", clone]):
            subprocess.run([*git, *command], cwd=self.pack, check=True, capture_output=True)
        self.addCleanup(shutil.rmtree, self.pack / ".git")
        files = [p.relative_to(self.pack) for p in self.pack.rglob("*") if p.is_file() and ".git" not in p.parts]
        self.assertIn(Path("check"), files)
        self.assertEqual([], [f for f in files if (self.pack / f).read_bytes() != (clone / f).read_bytes()])
        self.assertEqual((0, ""), self.check(clone, "--progress"))

    def test_whatever_goes_wrong_is_a_line(self):
        answers = self.pack / "answers" / "student.txt"
        answers.write_text("anna")  # a file in place of a folder
        for arguments, output, status, said in (
            (["04.2", "--answers", str(answers)], "", 1, f"check: {answers}: File exists; name another place, or move away what is there\n"),
            (["\u00b2"], "", 2, "check: there is no exercise \u00b2; ./check --progress lists all of them\n"),
            (["--progress"], ">/dev/full", 1, "check: No space left on device; make room, and give the command again\n"),
            (["--progress"], ">&-", 0, ""),
        ):
            with self.subTest(arguments, output=output):
                self.assertEqual((status, said), self.check(self.pack, *arguments, output=output))

    def test_a_pack_that_is_damaged_is_a_line(self):
        pack = shutil.copytree(self.pack, self.pack.with_name("damaged"))
        (pack / "handout.json").write_text("{")
        status, said = self.check(pack, "04.2")
        self.assertEqual(1, status)
        self.assertRegex(said, r"^check: the judge itself failed \(JSONDecodeError: .*\); put PYTHONDEVMODE=1 .*\n$")

    def test_python_3_10_is_enough(self):
        script = "import sys; sys.modules['tomllib'] = None; from judge import __main__; from judge.reader import check"  # which Python 3.11 brought
        done = subprocess.run([sys.executable, "-c", script], cwd=self.pack, capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (done.returncode, done.stderr))


class Bundle(unittest.TestCase):
    """What Classroom 50 calls."""

    def graded(self, release, answer):
        """The result, where the student has tampered with the pack in the repository."""
        job = "CLASSROOM ASSIGNMENT SUBMISSION_TAG COMMIT_URL RELEASE_URL".split()
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            root.chmod(0o755)
            autograders.classroom50([self.exercise], root / "bundle", release=release)
            (cases,) = (root / "bundle/pack/chapters").rglob("cases.bin")
            self.assertNotEqual(draws.draw_raw(self.exercise, 1), cases.read_bytes())  # those in the students' pack
            (root / "clone/judge").mkdir(parents=True)
            (root / "clone/judge/__init__.py").write_text("raise SystemExit('the judge of the repository')\n")
            (root / "clone/answers").mkdir()
            (root / "clone/answers" / self.exercise.file_name).write_text(answer)
            environment = {**os.environ, "USERNAME": "anna", **{key: key.lower() for key in job}}
            command = [sys.executable, root / "bundle/autograder.py"]
            done = subprocess.run(command, cwd=root / "clone", env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(0, done.returncode, done.stderr)
            return json.loads((root / "clone/result.json").read_text()), (root / "clone/release-body.md").read_text(), done.stdout + done.stderr

    def test_the_bundle_judges_and_not_the_repository(self):
        self.exercise = next(e for e in load_all() if e.number == "04.2")
        prepare([self.exercise])
        result, body, _ = self.graded(None, self.exercise.solution())
        self.assertEqual((10, 10), (result["score"], result["max-score"]))
        self.assertIn("04.2", body)
        wrong = self.exercise.mutated(self.exercise.mutants[0])
        result, body, printed = self.graded("2999-01-01", wrong)
        self.assertEqual((0, [False]), (result["score"], [t["passed"] for t in result["tests"]]))
        self.assertNotIn("expected", json.dumps(result) + body + printed)
        self.assertIn("expected", self.graded("1999-01-01", wrong)[1])


class Scripts(unittest.TestCase):
    """What Gradescope and GitHub call."""

    def test_tutors_may_explain_and_not_solve(self):
        for line in ("Never write, complete or repair the function", "Do not compute numbers", "offer the next smaller step"):
            self.assertIn(line, handout.TUTORS)
        for match in re.findall(r"`\./check [^`]*(--[a-z]+)`", handout.TUTORS):
            self.assertIn(match, handout.README)

    def test_every_command_in_them_is_there(self):
        for script in (handout.TUTORS, autograders.SETUP, autograders.RUN, autograders.WORKFLOW, handout.CHECK, handout.README, handout.NAMED, handout.OWN):
            for verb, rest in re.findall(r"python3 -m judge (\S+)(.*)", script):
                self.assertIn(verb, judge.VERBS)
                command = [sys.executable, "-m", "judge", verb, "--help"]
                usage = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
                for option in re.findall(r"--[a-z-]+", rest):
                    self.assertIn(option, usage)
            for option in re.findall(r"\./check.* (--[a-z]+)", script):
                command = [sys.executable, "-m", "judge", "check", "--help"]
                self.assertIn(option, subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
            for verb in re.findall(r"\./book ([a-z]+)", script):
                self.assertRegex((ROOT / "book").read_text(), rf"(?m)^([a-z| -]+ )?{verb}( [a-z| -]+)?\)$")
        self.assertIn("python3 -m judge prepare {numbers}", autograders.SETUP)

    def test_the_module_runs_as_check_does(self):
        script = handout.CHECK.splitlines()[-1]
        done = subprocess.run(["sh", "-c", script, "check", "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_a_verb_that_there_is_not(self):
        for arguments in (["bake"], []):
            command = [sys.executable, "-m", "judge", *arguments]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(2, done.returncode)
            self.assertRegex(done.stderr, r"^book: there is no verb '(bake)?'; the verbs are check, .*\n$")

    def test_prepare_takes_exercises(self):
        command = [sys.executable, "-m", "judge", "prepare", "04.99"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(2, done.returncode)
        self.assertRegex(done.stderr, r"^book: there is no exercise 04\.99")

    def student(self, metadata, release=""):
        """The folder's name, and the results, where a stand-in grades."""
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for folder in ("book/judge", "submission", "results"):
                (root / folder).mkdir(parents=True)
            (root / "submission" / "a.cpp").write_text("int a;")
            (root / "book/judge/__main__.py").write_text(
                "import json, pathlib, sys\n"
                "given = dict(zip(sys.argv[3::2], sys.argv[4::2]))\n"
                "(student,) = pathlib.Path(given['--submissions']).iterdir()\n"
                "out = pathlib.Path(given['--out']) / ('of_' + student.name)\n"
                "out.mkdir(parents=True)\n"
                "(out / 'results.json').write_text(json.dumps([student.name, sorted(p.name for p in student.iterdir()), given.get('--release')]))\n"
            )
            if metadata is not None:
                (root / "submission_metadata.json").write_text(metadata)
            script = autograders.RUN.format(numbers="04.2", release=release).replace("/autograder", name)
            subprocess.run(["bash", "-c", script], check=True, capture_output=True)
            student, files, until = json.loads((root / "results/results.json").read_text())
            self.assertEqual((["a.cpp"], release.split()[1:]), (files, [until] if until else []))
            return student

    def test_a_student_is_known_by_the_email(self):
        users = [{"id": 7, "email": "anna.li+1@uni.edu", "name": "Anna Li"}, {"email": "bert@uni.edu"}]
        self.assertEqual("anna.li+1@uni.edu", self.student(json.dumps({"users": users})))
        self.assertEqual("Anna_Li", self.student(json.dumps({"users": [{"email": None, "name": "Anna Li"}]})))

    def test_a_name_of_the_student_leaves_no_folder(self):
        for email in ("../../book", "$(touch x); a b", "-rf", "."):
            with self.subTest(email):
                self.assertRegex(self.student(json.dumps({"users": [{"email": email}]})), r"^[A-Za-z0-9][A-Za-z0-9._]*$")

    def test_a_release_date_is_passed_on(self):
        self.assertEqual("anna", self.student('{"users": [{"email": "anna"}]}', " --release 2027-02-01"))

    def test_without_metadata(self):
        for metadata in (None, "", "{}", '{"users": []}', '{"users": [{"email": "", "name": ""}]}'):
            self.assertEqual("student", self.student(metadata))


if __name__ == "__main__":
    unittest.main()
