"""A made-up class is graded twice, with all that students and platforms do to files, to equal marks."""

import csv
import random
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from judge.answer import cases, predict, sandbox
from judge.answer.build import prepare
from judge.answer.exercise import load_all
from judge.answer.written import Dealt, known_as
from judge.hunt import faults, hunt, sheet
from tests.judge.handed_in import in_a_tar, in_a_zip
from tests.nightly import nightly

ROOT = Path(__file__).resolve().parents[2]
LINEAR, BACKWARD, PREDICTED = (next(e for e in load_all() if e.number == number) for number in ("00.1", "00.2", "03.4"))
EXERCISES = (LINEAR, BACKWARD, PREDICTED)
NAMES = ("Anna Li", "Bert O'Neil", "Cle\u0301o D\u00edaz", "Dora Quist", "Emil Roth", "Fay Wu")
ALL = {e.number: e.points for e in EXERCISES}
NONE = dict.fromkeys(ALL, 0)


def answers(turn):
    """Right ones, by file name."""
    seed = predict.seed_of(PREDICTED, Dealt.to("", turn))
    numbers = "".join(f"{c.call} = {c.results[0].number:.15g}\n" for c in cases.draw(PREDICTED, seed))
    return {LINEAR.file_name: LINEAR.solution(), BACKWARD.file_name: BACKWARD.solution(), PREDICTED.file_name: numbers}


def renamed(files, change):
    return {change(name): content for name, content in files.items()}


def with_file(files, exercise, content):
    return {**files, exercise.file_name: content}


# What becomes of right answers on their way, and the points that they lose.
FIRST = (  # six who stand for all
    (lambda f: {"pack/answers.zip": in_a_zip({f"week1/answers/{name}": text for name, text in f.items()})}, {}),
    (lambda f: renamed(f, lambda name: f"{name[:-4]} (1){name[-4:]}"), {}),
    (lambda f: {"answers.tar.gz": in_a_tar({f"answers/{name}": text.encode() for name, text in f.items()})}, {}),
    (lambda f: {name: text.encode("utf-16") for name, text in f.items()}, {}),
    (lambda f: {"answers.zip": in_a_zip({})}, ALL),
    (lambda f: with_file(f, BACKWARD, "this is not C++"), {"00.2": BACKWARD.points}),
)
OTHERS = (
    (lambda f: renamed(f, lambda name: f"{name}.txt"), {}),
    (lambda f: {name: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() for name, text in f.items()}, {}),
    (lambda f: {"a/b/" + name.upper(): text for name, text in f.items()}, {}),
    (
        lambda f: with_file(
            f,
            LINEAR,
            LINEAR.solution()
            .replace(") {\n", ') {\n    std::printf("here\\n");\n', 1)
            .replace("#include", "#include <cstdio>\n#include", 1),
        ),
        {},
    ),
    (
        lambda f: with_file(
            f, LINEAR, LINEAR.solution().replace(") {\n", ") {\n    for (volatile int i = 0;; ++i) {}\n", 1)
        ),
        {"00.1": LINEAR.points},
    ),
    (lambda f: with_file(f, LINEAR, "/" * (20 << 20)), {"00.1": LINEAR.points}),
    (lambda f: {**f, "core": bytes(20 << 20)}, {}),
    (lambda f: with_file(f, LINEAR, LINEAR.stub()), {"00.1": LINEAR.points}),
    (lambda f: {**f, "student.txt": NAMES[0]}, {}),
    (lambda f: {}, ALL),
)


@unittest.skipIf(sandbox.why_unavailable(), sandbox.why_unavailable())
class Class(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        prepare(list(EXERCISES))

    def grade(self, out, *options):
        place = ["--submissions", self.root / "DLCPP-Week 1.zip", "--out", self.root / out]
        done = subprocess.run(
            [sys.executable, "-m", "judge", "grade", *options, *place],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done

    def table(self, name, key, delimiter=","):
        text = (self.root / name).read_text(encoding="utf-8-sig")
        return {row[key]: row for row in csv.DictReader(text.splitlines(), delimiter=delimiter)}

    def hand_in(self, oddities):
        """Moodle's export in a folder of its own, its worksheet as an office writes it, and a roster with one more.

        :return: the points that each should get, by name
        """
        expected = {}
        roster = ["name,email,login\n"]
        sheet = ["\ufeffIdentifier;Full name;Email address;Status;Grade;Maximum grade;Feedback comments\n"]
        with zipfile.ZipFile(self.root / "DLCPP-Week 1.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for turn, (odd, lost) in enumerate(oddities):
                name = NAMES[turn % len(NAMES)] + (f" {turn}" if turn >= len(NAMES) else "")
                expected[name] = {n: ALL[n] - lost.get(n, 0) for n in ALL}
                status = "2 days 3 hours late" if turn == 1 else ""
                roster.append(f"{name},s{turn}@uni.example,login{turn}\n")
                sheet.append(
                    f"Participant {5000 + turn};{name};s{turn}@uni.example;Submitted for grading - {status};;20,00;\n"
                )
                for path, content in odd(answers(turn)).items():
                    archive.writestr(
                        f"DLCPP/{name.replace(chr(39), '')}_{5000 + turn}_assignsubmission_file/{path}", content
                    )
        roster.append("Gina Nobody,gina@uni.example,gina\n")
        (self.root / "roster.csv").write_text("".join(roster))
        (self.root / "sheet.csv").write_text("".join(sheet))
        return expected

    def is_graded_fairly(self, oddities):
        expected = self.hand_in(oddities)
        most = sum(ALL.values())
        told = ["--roster", self.root / "roster.csv", "--moodle", self.root / "sheet.csv", "--late", "10"]
        self.grade("marks", *ALL, *told)
        whole = self.table("marks/class_wide.csv", "name")
        there = {name for name, (odd, _) in zip(expected, oddities) if odd(answers(0))}
        nobody = {name: {**NONE} for name in {*expected, "Gina Nobody"} - there}
        points = {name: {n: float(row[n]) for n in ALL} for name, row in whole.items()}
        self.assertEqual({**expected, **nobody}, {name: points[name] for name in points})
        late = list(expected)[1]
        full = sum(expected[late].values())
        self.assertEqual(("3", full * 0.7), (whole[late]["days late"], float(whole[late]["total"])))
        grades = {name: row["Grade"] for name, row in self.table("marks/moodle.csv", "Full name", ";").items()}
        scaled = {
            name: f"{20 * sum(expected[name].values()) * (0.7 if name == late else 1) / most:.2f}" for name in there
        }
        self.assertEqual({**dict.fromkeys(expected, ""), **scaled}, grades)
        self.assertIn("00.1 is the published solution", whole[late]["to look at"])

        files = ("class.csv", "class_wide.csv", "summary.txt", "moodle.csv")
        before = {name: (self.root / "marks" / name).read_bytes() for name in files}
        self.grade("marks", "00.1")  # a part changes nothing else, and the worksheet is known
        self.assertEqual(before, {name: (self.root / "marks" / name).read_bytes() for name in files})
        self.grade("again", *ALL, *told)
        self.assertEqual(before["class_wide.csv"], (self.root / "again/class_wide.csv").read_bytes())

    def test_six_students_of_all_kinds(self):
        self.is_graded_fairly(FIRST)
        self.grade("marks", "00.1", "--appeal", "5001")
        said = next((self.root / "marks").glob("Bert*/appeal.txt")).read_text()
        self.assertIn(f"In the marks: {LINEAR.points} of {LINEAR.points}", said)
        (self.root / "marks/manual.csv").write_text(
            "student,exercise,points,of,comment\nlogin5,00.2,3,,nearly\n5004,derivation,7.5,8,on paper\n"
        )
        self.grade("marks", "00.1")
        rows = self.table("marks/class_wide.csv", "name")
        self.assertEqual(("3", str(sum(ALL.values()) + 8)), (rows["Fay Wu"]["00.2"], rows["Fay Wu"]["of"]))
        self.assertEqual("7.5", rows["Emil Roth"]["total"])
        grades = self.table("marks/moodle.csv", "Full name", ";")  # without --moodle
        self.assertEqual(f"{20 * (sum(ALL.values()) - 7) / (sum(ALL.values()) + 8):.2f}", grades["Fay Wu"]["Grade"])
        self.assertEqual(f"{20 * 7.5 / (sum(ALL.values()) + 8):.2f}", grades["Emil Roth"]["Grade"])
        self.assertIn("given by hand: nearly", next((self.root / "marks").glob("Fay*/feedback.txt")).read_text())

    @nightly
    def test_sixty_students_of_all_kinds(self):
        kinds = [*FIRST, *OTHERS]
        kinds += [kinds[i % len(kinds)] for i in range(60 - len(kinds))]
        random.Random(1).shuffle(kinds)
        self.is_graded_fairly([FIRST[0], FIRST[1], *kinds[2:]])

    @nightly
    def test_hunts_that_print_stop_nobody(self):
        hunted = hunt.hunt("hunt:04-06:1")
        with zipfile.ZipFile(self.root / "DLCPP-Week 1.zip", "w") as archive:
            for name in NAMES[:3]:
                fault = faults.drawn(hunted, known_as(name))
                answer = sheet.answer_of(fault, fault.finds)
                answer = answer.replace("passes() {", 'passes() {\n    std::puts("looking");', 1)
                archive.writestr(f"{name}/hunt.cpp", answer.replace("#include", "#include <cstdio>\n#include", 1))
        self.grade("marks", hunted.number)
        found = {row["points"] for row in self.table("marks/class.csv", "student").values()}
        self.assertEqual({str(hunted.points)}, found)


if __name__ == "__main__":
    unittest.main()
