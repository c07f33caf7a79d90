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
from judge.course import autograders, handout, rendered
from judge.course.pack import PACKAGES, given, headers, leaks, statement

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

    def test_a_pack_has_the_headers_that_its_solutions_include_and_few_others(self):
        prepare([])
        for e in load_all():
            included = set(re.findall(r'#include "((?:lib|chapters)/[^"]+)"', e.solution()))
            self.assertEqual(set(), included - set(found := headers([e])), e.number)
            self.assertLess(len(found), 30, e.number)

    def test_solutions_are_written_of_the_exercises_that_are_named(self):
        exercises = [e for e in load_all() if e.number in ("04.3", "05.4")]
        with tempfile.TemporaryDirectory() as name:
            handout.solutions(exercises, Path(name) / "out")
            written = {p.name: p.read_text() for p in (Path(name) / "out").iterdir()}
        self.assertEqual({f"{e.name}.md" for e in exercises}, written.keys())
        for e in exercises:
            self.assertIn(e.solution(), written[f"{e.name}.md"])
            self.assertNotRegex(written[f"{e.name}.md"], r"\]\([\w./]+\.md")

    def test_a_pack_that_is_interrupted_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as name:
            out = Path(name) / "pack"
            interrupted = unittest.mock.patch.object(handout, "levels", side_effect=KeyboardInterrupt)
            with interrupted, unittest.mock.patch.object(handout, "prepare"), self.assertRaises(KeyboardInterrupt):
                handout.main(["03.4", "--out", str(out)])
            self.assertEqual([], list(out.iterdir()))

    def test_a_folder_that_is_no_clone_is_one_line(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(autograders, "ROOT", Path(name)):
            with self.assertRaisesRegex(Mistaken, r"^--gradescope packs the book from its git clone: fatal: not a git repository[^\n]*$"):
                autograders.book()


class Pages(unittest.TestCase):
    """The rendered book in a pack."""

    SECRET = "const Real secret = sum(of_all_that_there_is);"

    def leaks(self, text):
        return [line for line in text.splitlines() if line == self.SECRET]

    def test_solutions_are_left_out_and_so_are_listings_that_hold_lines_of_them(self):
        fold = '<details class="fold"><summary>{}</summary>{}</details>'
        inner = fold.format("More", f"<pre>\n{self.SECRET}\n</pre>")
        hint = fold.format("Hint 1", "<p>a hint</p>")
        solution = fold.format("Solution", f"<p>the way</p>{inner}<p>the end</p>")
        shown = '<pre>\n<b>const</b> Real secret = sum<b>(</b>of_all_that_there_is);\n</pre><pre>kept</pre>'
        page = rendered.without_solutions(f"<p>before</p>{hint}{solution}{solution}{shown}<p>after</p>", self.leaks)
        self.assertRegex(page, "^<p>before</p>.*<pre>// This listing is left out, [^<]*</pre><pre>kept</pre><p>after</p>$")
        self.assertEqual(hint, page.partition("<pre>")[0].removeprefix("<p>before</p>"))

    def test_links_lead_somewhere_or_are_none(self):
        aside = '<aside class="sidebar-drawer"><a href="../../o.html">o</a></aside><link rel="next" href="x.html">'
        turn = '<a class="next-page" href="{}">Next <span>page</span></a>'
        links = '<a href="#here">1</a><a href="../b/i.html#x">2</a><a class="r" href="gone.html">3</a><a href="https://a.org">4</a>'
        whole = aside + turn.format("gone.html") + turn.format("../b/i.html") + links
        page = rendered.without_dead_links(whole, "c/a/page.html", {"c/b/i.html"})
        self.assertEqual(["../b/i.html", "#here", "../b/i.html#x", "https://a.org"], re.findall('href="([^"]*)"', page))
        self.assertIn(">3</a>", page)
        self.assertNotIn("gone", page)

    def test_a_statement_links_to_pages_of_the_pack_alone(self):
        e = next(e for e in load_all() if "](post_or_pre.md)" in (e.folder / "statement.md").read_text())
        name = f"chapters/{e.folder.parent.parent.name}/post_or_pre.html"
        self.assertIn(f"[Post or pre](pages/{name})", statement(e, [name]))
        self.assertRegex(statement(e), r"numbers of Post or pre\b")


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
        html = Path(folder.name) / "html"
        shown = '<title>A page - book</title><img src="../../_figures/a.svg"><a href="gone.html">a page</a>'
        for page in ("00_workbench/tensor.html", f"{cls.exercise.folder.parent.parent.name}/index.html"):
            (html / "chapters" / page).parent.mkdir(parents=True)
            (html / "chapters" / page).write_text(shown)
        for file in ("_figures/a.svg", "_static/a.js"):
            (html / file).parent.mkdir()
            (html / file).write_text("")
        with unittest.mock.patch.object(rendered, "PAGES", html):
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
            if not points:
                self.assertIn('Read again: chapter 4, "The derivation"\n  (pages/chapters/04_', done.stdout)
        kept = {p.name for p in (self.pack / "chapters").rglob("*.*")}
        self.assertEqual({"exercise.json", "statement.md", "stub.cpp", "call.o", "cases.bin"}, kept)
        manifest = json.loads(next(self.pack.rglob("exercise.json")).read_text())
        self.assertEqual(set(), manifest.keys() & {"mutants", "given", "trains", "needs"})

    def test_it_says_where_it_runs_and_its_links_lead_somewhere(self):
        readme = (self.pack / "README.md").read_text()
        other = "arm64" if platform.machine() == "x86_64" else "x86_64"
        self.assertLess(readme.index(other), readme.index("## What to do first"))
        for file in re.findall(r"\]\(([^)#]+)", readme):
            self.assertTrue((self.pack / file).is_file(), file)
        there = sorted(p.name for p in (self.pack / "pages").iterdir())
        self.assertEqual(["_figures", "_static", "chapters", "index.html"], there)
        container = json.loads((self.pack / ".devcontainer/devcontainer.json").read_text())
        file = (self.pack / ".devcontainer/Dockerfile").read_text()
        self.assertRegex(file, rf"^FROM {container['runArgs'][0]} (debian|ubuntu):[\d.]+\n")
        for package in PACKAGES:
            self.assertIn(f" {package} ", file)

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

    def test_an_image_that_is_too_old_is_named(self):
        for version, status in (("22.04", 1), ("24.04", 0), ("26.04", 0)):
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(f'ID=ubuntu\nVERSION_ID="{version}"\nPRETTY_NAME="Ubuntu {version} LTS"\n')
                file.flush()
                script = autograders.SETUP.format(numbers="04.2").partition("apt-get")[0]
                script = script.replace("/etc/os-release", file.name)
                done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
            self.assertEqual((status, bool(status)), (done.returncode, f"not Ubuntu {version} LTS" in done.stderr))

    def submitted(self, metadata, status=0):
        """What Gradescope gets where a stand-in grades and ends with this status: the folder's name, and the files in it."""
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
                f"sys.exit({status})\n"
            )
            if metadata is not None:
                (root / "submission_metadata.json").write_text(metadata)
            script = autograders.RUN.format(numbers="04.2", roster=" --roster r").replace("/autograder", name)
            done = subprocess.run(["bash", "-c", script], check=False, capture_output=True)
            results = root / "results/results.json"
            self.assertEqual((status, status == 0), (done.returncode, results.exists()))
            return json.loads(results.read_text()) if status == 0 else None

    def student(self, metadata):
        student, files = self.submitted(metadata)
        self.assertEqual(["a.cpp"], files)
        return student

    def test_a_grader_that_fails_gives_gradescope_no_points_to_publish(self):
        self.assertIsNone(self.submitted(None, status=3))

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
