"""One description of results in the formats of learning platforms, held against samples in their documented formats."""

import csv
import io
import json
import tempfile
import unittest
import zipfile
from pathlib import Path

from judge.answer.exercise import Mistaken
from judge.course import platforms

SAMPLES = Path(__file__).parent / "samples"
WORKSHEET = (SAMPLES / "moodle.csv").read_bytes().decode()


def sheet(content=WORKSHEET, encoding="utf-8"):
    """The worksheet in a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "worksheet.csv"
        file.write_bytes(content.encode(encoding))
        return platforms.worksheet(file)


def result(number, points, of, printed=""):
    criterion = {"name": "large", "points": points, "of": of, "reason": "wrong", "text": "y[1] is 3, expected 4", "case": "", "causes": ["forgotten"], "ratio": 0.0}
    about = {"number": number, "title": "A title", "kind": "forward", "points": points, "of": of, "reason": "wrong"}
    return {**about, "problem": None, "criteria": [criterion], "remark": "", "printed": printed}


PART, NONE = result("04.1", 3, 8), result("04.3", 0, 2)


def student(name="anna", verdicts=(PART, NONE), notes=()):
    return {"student": name, "notes": list(notes), "verdicts": list(verdicts)}


def filled(*students, worksheet=None):
    """The worksheet's rows by identifier, the feedback files, and what is told."""
    worksheet = worksheet or sheet()
    text, files, notes = platforms.moodle(worksheet, list(students))
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=worksheet.delimiter)
    return {r["Identifier"]: r for r in rows}, files, notes


class Gradescope(unittest.TestCase):
    def has_the_form_of(self, sample, made):
        self.assertEqual(sample.keys(), made.keys())
        for key in made.keys():
            self.assertIsInstance(made[key], (int, float) if isinstance(sample[key], float) else type(sample[key]), key)

    def test_results(self):
        made = platforms.gradescope(student(notes=["late"]))
        sample = json.loads((SAMPLES / "gradescope.json").read_text())
        self.has_the_form_of(sample, made)
        for test in made["tests"]:
            self.has_the_form_of(sample["tests"][0], test)
        self.assertEqual((3, "late"), (made["score"], made["output"]))
        self.assertEqual([(3, 8, "failed"), (0, 2, "failed")], [(t["score"], t["max_score"], t["status"]) for t in made["tests"]])
        self.assertIn("Likely: forgotten.", made["tests"][0]["output"])


class Moodle(unittest.TestCase):
    def test_grades_and_comments_are_filled_in_and_all_else_is_kept(self):
        before = {r["Identifier"]: r for r in csv.DictReader(io.StringIO(WORKSHEET.removeprefix("\ufeff")))}
        markup = result("04.1", 0, 2, printed="</pre>")
        rows, files, notes = filled(student("Anna Li_101"), student("Bert ONeil_102", [markup]), student("emil@uni.example"))
        self.assertEqual([], notes)
        for identifier, row in rows.items():
            for column in row.keys() - {"Grade", "Feedback comments"}:
                self.assertEqual(before[identifier][column], row[column])
        self.assertEqual(["30.00", "0.00", "", "", "30.00"], [r["Grade"] for r in rows.values()])  # 3 of 10 points are 30 of 100
        self.assertIn("04.1 A title: 3 of 8 points\n", rows["Participant 101"]["Feedback comments"])
        self.assertEqual(1, rows["Participant 102"]["Feedback comments"].count("</pre>"))
        self.assertTrue(platforms.moodle(sheet(), [])[0].startswith("\ufeff"))
        for path, number in zip(files, ("101", "102", "105"), strict=True):  # fullname_userid_plugintype_pluginname_/file
            folder, name = path.split("/")
            self.assertEqual([number, "assignsubmission", "file", ""], folder.split("_")[1:])
            self.assertEqual("feedback.txt", name)
        with zipfile.ZipFile(io.BytesIO(platforms.zipped(files))) as archive:
            self.assertEqual(sorted(files), archive.namelist())

    def test_nobody_gets_the_grade_of_a_group_or_of_somebody_else_or_one_that_is_locked(self):
        rows, files, notes = filled(student("Group A_101"), student("hugo"), student("Dora Quist_999"), student("Cle\u0301o Zimmer_103"))
        self.assertEqual(["", "40.00", "", "", ""], [r["Grade"] for r in rows.values()])
        self.assertEqual({}, files)
        locked = "Cle\u0301o Zimmer_103 is left out: the worksheet says that the grade cannot be changed"
        self.assertEqual([locked, *(f"{name} is not in the worksheet" for name in ("Group A_101", "hugo", "Dora Quist_999"))], notes)

    def test_a_name_that_two_have_is_nobodys(self):
        twice = sheet(WORKSHEET.replace("Emil Roth", "Anna Li"))
        for name, email, grades in (("Anna Li", "", []), ("anna", "emil@uni.example", ["Participant 105"])):
            rows, *_ = filled({**student(name), "email": email}, worksheet=twice)
            self.assertEqual(grades, [i for i, row in rows.items() if row["Grade"] == "30.00"])

    def test_other_forms_of_a_worksheet(self):
        rows = list(csv.reader(io.StringIO(WORKSHEET.removeprefix("\ufeff"))))
        office = io.StringIO()
        csv.writer(office, delimiter=";", lineterminator="\n").writerows([*rows, [], [""] * len(rows[0])])
        for content, name, number, grade in (
            (office.getvalue(), "Anna Li_101", "101", "30.00"),
            (WORKSHEET.replace("Maximum Grade", "Maximum grade"), "Anna Li_101", "101", "30.00"),  # newer
            ("Identifier\tMaximum grade\tFull name\tGrade\nParticipant 101\t20\tanna\n", "anna", "101", "6.00"),  # a row that ends early
            ('Identifier,Status,Grade,Maximum Grade\nParticipant 104,Submitted,,"20,0"\n', "Participant_104", "104", "6.00"),  # anonymous
        ):
            with self.subTest(name=name, content=content[:40]):
                rows, files, _ = filled(student(name), worksheet=sheet(content))
                self.assertEqual((grade, 1), (rows[f"Participant {number}"]["Grade"], len(files)))

    def test_what_cannot_be_filled_in_is_refused(self):
        for content, encoding, said in (
            *((f"Identifier,Grade,Maximum grade\nParticipant 101,,{best}\n", "utf-8", f"the maximum grade of Participant 101 is '{best}', .* cannot be scaled")
              for best in ("", "A scale", "0.00", "-2.00")),
            ("", "utf-8", "no column Identifier and no column Grade"),
            ("Identifikator,Bewertung\n", "utf-8", "no column Identifier"),
            ("Identifier,Grade\n", "utf-8", "no column Maximum grade"),
            ("Identifier,Grade,Maximum grade\nCl\xe9o,,100\n", "latin-1", "not in UTF-8"),
            (WORKSHEET, "utf-16", "not in UTF-8"),
        ):  # fmt: skip
            with self.subTest(said), self.assertRaisesRegex(Mistaken, said):
                sheet(content, encoding)
