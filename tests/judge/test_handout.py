"""What students get of an exercise holds no line of a solution, and judges their answers on their machine."""

import json
import platform
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from itertools import groupby
from pathlib import Path

from judge.answer import setting
from judge.answer.build import prepare
from judge.answer.exercise import Mistaken, load_all
from judge.course import autograders, handout
from judge.course.pack import given, leaks

ROOT = Path(__file__).resolve().parents[2]


class Given(unittest.TestCase):
    def test_no_chapter_gives_its_solutions_away(self):
        for chapter, members in groupby(load_all(), lambda e: e.chapter):
            exercises = list(members)
            with self.subTest(chapter=chapter):
                self.assertEqual([], leaks(exercises, {f"{e.number} {name}": text for e in exercises for name, text in given(e).items()}))

    def test_a_line_of_a_solution_is_found_wherever_it_stands_but_not_the_head_of_a_loop(self):
        exercises = [e for e in load_all() if e.number in ("01.1", "04.2")]
        line = next(x.strip() for x in exercises[1].solution_lines() if len(x.strip()) > 40)
        head = next(x.strip() for x in exercises[0].solution_lines() if x.strip().startswith("for (") and x.endswith("{"))
        (found,) = leaks(exercises, {"call.cpp": f"{head}\n\t{line.replace(' ', '  ')}\n"})
        self.assertTrue(found.startswith("call.cpp:2 has a line of 04.2's solution: "))

    def test_a_folder_that_is_no_clone_is_one_line(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(autograders, "ROOT", Path(name)):
            with self.assertRaisesRegex(Mistaken, r"^--gradescope packs the book from its git clone: fatal: not a git repository[^\n]*$"):
                autograders.book()


class Machine(unittest.TestCase):
    def test_a_pack_for_another_system_says_so(self):
        for older, newer in (("2.36", "2.39"), ("2.9", "2.10"), ("2", "2.1")):
            self.assertTrue(setting.before(older, newer))
            self.assertFalse(setting.before(newer, older))
        self.assertFalse(setting.before("", "2.39"))
        for made, said in (
            ({"machine": "pdp11"}, "libraries are for pdp11, but this machine is "),
            ({"machine": platform.machine(), "libc": "99.1"}, "made on a system with glibc 99.1, but this one has 2"),
        ):
            with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(setting, "ROOT", Path(folder)):
                (Path(folder) / "handout.json").write_text(json.dumps(made))
                with self.assertRaisesRegex(setting.Failed, said):
                    setting.setting_of_handout()


class Student(unittest.TestCase):
    """A pack on a student's machine."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.pack = Path(folder.name) / "pack"
        cls.exercise = next(e for e in load_all() if e.number == "04.2")
        prepare([cls.exercise])
        handout.make([cls.exercise], cls.pack)

    def check(self, folder, *arguments, output=""):
        """The exit status of ./check, and what it says."""
        command = ["bash", "-c", f'./check "$@" {output}; exit ${{PIPESTATUS[0]}}', "bash", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stderr

    def test_it_judges_a_stub_and_a_solution(self):
        file = self.pack / "answers" / self.exercise.file_name
        for answer, points, status in ((self.exercise.stub(), 0, 1), (self.exercise.solution(), self.exercise.points, 0)):
            file.write_text(answer)
            done = subprocess.run(["./check"], cwd=self.pack, capture_output=True, text=True, check=False)
            self.assertEqual(status, done.returncode, done.stderr)
            self.assertIn(f": {points} of {self.exercise.points} points\n", done.stdout)
        kept = {p.name for p in (self.pack / "chapters").rglob("*.*")}
        self.assertEqual({"exercise.json", "statement.md", "stub.cpp", "call.o", "cases.bin"}, kept)
        manifest = json.loads(next(self.pack.rglob("exercise.json")).read_text())
        self.assertEqual(set(), manifest.keys() & {"mutants", "given", "trains", "needs"})

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

    def test_python_3_10_is_enough(self):
        script = "import sys; sys.modules['tomllib'] = None; from judge import __main__; from judge.reader import check"  # which Python 3.11 brought
        done = subprocess.run([sys.executable, "-c", script], cwd=self.pack, capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (done.returncode, done.stderr))


class Scripts(unittest.TestCase):
    """What Gradescope and GitHub call."""

    def test_every_command_in_them_is_there(self):
        help_of = {
            verb: subprocess.run([sys.executable, "-m", "judge", verb, "--help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
            for verb in ("check", "grade")
        }
        for script in (handout.TUTORS, autograders.SETUP, autograders.RUN, autograders.WORKFLOW, handout.CHECK, handout.README, handout.NAMED, handout.OWN):
            for verb, rest in [*re.findall(r"python3 -m judge (\S+)(.*)", script), *re.findall(r"\./(check)(.*)", script)]:
                for option in re.findall(r"--[a-z-]+", rest):
                    self.assertIn(option, help_of[verb])
            for verb in re.findall(r"\./book ([a-z]+)", script):
                self.assertRegex((ROOT / "book").read_text(), rf"(?m)^([a-z| -]+ )?{verb}( [a-z| -]+)?\)$")

    def student(self, metadata):
        """The folder's name, where a stand-in grades."""
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
                "(out / 'results.json').write_text(json.dumps([student.name, sorted(p.name for p in student.iterdir())]))\n"
            )
            if metadata is not None:
                (root / "submission_metadata.json").write_text(metadata)
            script = autograders.RUN.format(numbers="04.2").replace("/autograder", name)
            subprocess.run(["bash", "-c", script], check=True, capture_output=True)
            student, files = json.loads((root / "results/results.json").read_text())
            self.assertEqual(["a.cpp"], files)
            return student

    def test_a_student_is_known_by_the_email(self):
        for user, student in (
            ({"id": 7, "email": "anna.li+1@uni.edu", "name": "Anna Li"}, "anna.li+1@uni.edu"),
            ({"email": None, "name": "Anna Li"}, "Anna_Li"),
            ({"email": "../../book"}, "book"),
            ({"email": "$(touch x); a b"}, "touch_x___a_b"),
            ({"email": "-rf"}, "rf"),
            ({"email": "", "name": ""}, "student"),
        ):
            self.assertEqual(student, self.student(json.dumps({"users": [user, {"email": "bert@uni.edu"}]})))
        self.assertEqual("student", self.student(None))
