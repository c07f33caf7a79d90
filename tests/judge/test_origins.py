"""What has been judged before is judged again only if something has changed that its verdict depends on."""

import contextlib
import csv
import dataclasses
import datetime
import io
import json
import shutil
import sys
import tempfile
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge.answer.exercise import load_all
from judge.course import grade, origins
from judge.course.marks import Marks


class Again(unittest.TestCase):
    def graded(self, folder, marks, exercises):
        """Whom it judges, where nothing is compiled: an answer's length is its points."""
        judged = []

        def one(submission, exercises, seed, *, tight):
            judged.append((submission.student, [e.number for e in exercises]))
            return [
                {"number": e.number, "title": "", "kind": "", "points": len(submission.answers[e.file_name]), "of": e.points}
                | {"reason": "wrong", "problem": "SECRET", "criteria": [], "remark": "", "printed": ""}
                for e in exercises
            ]

        with (
            unittest.mock.patch.object(grade, "grade_one", one),
            unittest.mock.patch.object(grade, "workers", ThreadPoolExecutor),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            grade.grade(folder, marks, exercises, 7, tight=True, jobs=1)
        return sorted(judged)

    def place(self):
        """Folders for submissions and marks, and copies of two exercises and of the judge, which may be changed."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        exercises = [e for e in load_all() if e.number in ("04.1", "04.2")]
        for e in exercises:
            shutil.copytree(e.folder, root / e.folder.name)
        shutil.copytree(ROOT / "judge", root / "judge", ignore=shutil.ignore_patterns("__pycache__"))
        patch = unittest.mock.patch.object(origins, "__file__", str(root / "judge" / "course" / "origins.py"))
        patch.start()
        self.addCleanup(patch.stop)
        return root, [dataclasses.replace(e, folder=root / e.folder.name) for e in exercises]

    def hand_in(self, root, student, **answers):
        (root / "in" / student).mkdir(parents=True, exist_ok=True)
        for e in load_all():
            if (key := "e" + e.number.replace(".", "_")) in answers:
                (root / "in" / student / e.file_name).write_text(answers[key])

    def test_only_what_has_changed_is_judged_again(self):
        root, (first, second) = self.place()
        self.hand_in(root, "anna", e04_1="a", e04_2="a")
        both, of = [first, second], lambda *numbers: [("anna", list(numbers))]
        self.assertEqual(of("04.1", "04.2"), self.graded(root / "in", Marks(root / "out"), both))
        self.assertEqual([], self.graded(root / "in", Marks(root / "out"), both))
        self.assertEqual([], self.graded(root / "in", Marks(root / "out"), [first]))
        for file, numbers in (
            (second.folder / "cases.cpp", ["04.2"]),
            (second.folder / "exercise.json", ["04.2"]),
            (root / "in/anna" / first.file_name, ["04.1"]),
            (root / "judge/answer/verdict.py", ["04.1", "04.2"]),
            (root / "judge/answer/serve.cpp", ["04.1", "04.2"]),
        ):
            file.write_bytes(file.read_bytes() + b"\n")
            self.assertEqual(of(*numbers), self.graded(root / "in", Marks(root / "out"), both), file.name)
            self.assertEqual([], self.graded(root / "in", Marks(root / "out"), both))

    def test_what_the_judge_could_not_judge_is_tried_again(self):
        root, (first, second) = self.place()
        self.hand_in(root, "anna", e04_1="a", e04_2="a")
        self.graded(root / "in", Marks(root / "out"), [first, second])
        file = root / "out/verdicts/anna.json"
        kept = json.loads(file.read_text())
        kept["verdicts"][1]["reason"] = "judge"
        file.write_text(json.dumps(kept))
        self.assertEqual([("anna", ["04.2"])], self.graded(root / "in", Marks(root / "out"), [first, second]))

    def test_changed_points_are_listed_with_what_changed_them(self):
        root, (first, second) = self.place()
        self.hand_in(root, "anna", e04_1="a", e04_2="a")
        self.hand_in(root, "bert", e04_1="b", e04_2="b")
        self.graded(root / "in", Marks(root / "out"), [first, second])
        self.assertFalse((root / "out/changes.csv").exists())
        self.hand_in(root, "anna", e04_1="longer")  # of the student
        file = second.folder / "exercise.json"
        file.write_bytes(file.read_bytes() + b"\n")  # of the instructor
        more = tuple(dataclasses.replace(c, points=c.points + 1) for c in second.criteria)
        marks = Marks(root / "out")
        self.graded(root / "in", marks, [first, dataclasses.replace(second, criteria=more)])
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            marks.summarize()
        old, new = second.points, second.points + len(more)
        self.assertIn("3 changes of points", said.getvalue())
        for line in (
            f"anna 04.1: 1 of {first.points} before, 6 of {first.points} now: the student handed in another answer\n",
            f"anna 04.2: 1 of {old} before, 1 of {new} now: the exercise changed\n",
            f"bert 04.2: 1 of {old} before, 1 of {new} now: the exercise changed\n",
        ):
            self.assertIn(line, said.getvalue())
        self.hand_in(root, "bert", e04_1="bbb")
        self.graded(root / "in", Marks(root / "out"), [first])  # 04.2 is kept, although nobody asks for it
        rows = list(csv.DictReader((root / "out/changes.csv").read_text().splitlines()))
        self.assertEqual(["04.1", "04.1", "04.2", "04.2"], sorted(r["exercise"] for r in rows))
        self.assertEqual(("bert", "1", "3"), (rows[-1]["student"], rows[-1]["points before"], rows[-1]["points"]))
        self.assertEqual({"04.1", "04.2"}, Marks(root / "out").kept("bert").keys())

    def test_students_see_why_when_it_is_released_and_nothing_is_judged_for_that(self):
        root, exercises = self.place()
        self.hand_in(root, "anna", e04_1="a", e04_2="a")
        day = datetime.timedelta(days=1)
        now = datetime.datetime.now().astimezone()
        for release, released in ((now + day, False), (now - day, True), (None, True)):
            marks = Marks(root / "out", release)
            self.assertEqual(2 * (release == now + day), sum(len(n) for _, n in self.graded(root / "in", marks, exercises)))
            with contextlib.redirect_stdout(io.StringIO()):
                marks.summarize()
            for file in ("anna/results.json", "anna/feedback.txt"):
                self.assertEqual(released, "SECRET" in (root / "out" / file).read_text(), file)
            self.assertIn("SECRET", (root / "out/class.csv").read_text())


if __name__ == "__main__":
    unittest.main()
