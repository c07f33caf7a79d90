"""One description of results in the formats of learning platforms, held against samples in their documented formats."""

import csv
import io
import json
import re
import sys
import tempfile
import unittest
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

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


JOB = {
    "CLASSROOM": "transformers",
    "ASSIGNMENT": "chapter-4",
    "SUBMISSION_TAG": "submit/2026-12-01T14-32-05Z-a1b2c3d",
    "COMMIT_URL": "https://example.org/commit",
    "RELEASE_URL": "https://example.org/release",
}


def criterion(name, points, of, reason="ok", text="", case="", causes=()):
    return {"name": name, "points": points, "of": of, "reason": reason, "text": text, "case": case, "causes": list(causes), "ratio": 0.0}


def result(number, criteria, *, reason="ok", problem=None, printed=""):
    points, of = (sum(c[k] for c in criteria) for k in ("points", "of"))
    about = {"number": number, "title": "A title", "kind": "forward", "points": points, "of": of}
    return {**about, "reason": reason, "problem": problem, "criteria": criteria, "remark": "", "printed": printed}


WRONG = criterion("large", 0, 5, "wrong", "y[1] is 3, expected 4", "x of shape [7]", ["SECRET cause"])
PART = result("04.1", [criterion("small", 3, 3), WRONG], reason="wrong", printed="SECRET debugging")
UNREADABLE = result("04.3", [criterion("all", 0, 2, "compile", "SECRET message")], reason="compile", problem="SECRET message")
LATER = result("04.4", [criterion("a number", 0, 4, "later", "judged when you have handed it in")], reason="later")


def student(name="anna", verdicts=(PART, UNREADABLE), notes=()):
    return {"student": name, "notes": list(notes), "verdicts": list(verdicts)}


def filled(*students):
    """The worksheet's rows by identifier, the feedback files, and what is told."""
    text, files, notes = platforms.moodle(sheet(), list(students))
    return {r["Identifier"]: r for r in csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))}, files, notes


class Formats(unittest.TestCase):
    def has_the_form_of(self, sample, made, stamped=()):
        self.assertEqual(sample.keys() - set(stamped), made.keys())
        for key in made.keys():
            numbers = (int, float) if isinstance(sample[key], float) else type(sample[key])
            self.assertIsInstance(made[key], numbers, key)

    def test_gradescope(self):
        made = platforms.gradescope(student(notes=["late"]))
        sample = json.loads((SAMPLES / "gradescope.json").read_text())
        self.has_the_form_of(sample, made)
        for test in made["tests"]:
            self.has_the_form_of(sample["tests"][0], test)
        self.assertEqual((3, "late"), (made["score"], made["output"]))
        self.assertEqual([(3, 8, "failed"), (0, 2, "failed")], [(t["score"], t["max_score"], t["status"]) for t in made["tests"]])
        self.assertIn("Likely: SECRET cause.", made["tests"][0]["output"])

    def test_classroom50(self):
        made = platforms.classroom50(student(verdicts=[PART, LATER]), JOB)
        sample = json.loads((SAMPLES / "classroom50.json").read_text())
        self.has_the_form_of(sample, made, ("assignment_type", "owner", "graded_at"))  # which its runner writes itself
        for test in made["tests"]:
            output = test.pop("output")  # more fields are allowed here
            self.assertIn("04.", output)
            self.has_the_form_of(sample["tests"][0], test)
        self.assertEqual((3, 8), (made["score"], made["max-score"]))  # a bundle cannot judge what comes later
        self.assertEqual([(False, 3, 8), (True, 0, 0)], [(t["passed"], t["score"], t["max-score"]) for t in made["tests"]])
        self.assertEqual(JOB["COMMIT_URL"], made["review"])
        self.assertEqual("r", platforms.classroom50(student(), {**JOB, "REVIEW_URL": "r"})["review"])

    def test_nothing_that_a_program_prints_is_markup(self):
        printed = result("04.1", [WRONG], reason="wrong", printed="```\n# Full marks\n</pre>")
        body = platforms.release_body(student(verdicts=[printed]))
        self.assertEqual([], [line for line in body.splitlines()[1:] if line and not line.startswith("    ")])
        rows, _, _ = filled(student("Anna Li_101", [printed]))
        self.assertEqual(1, rows["Participant 101"]["Feedback comments"].count("</pre>"))


class Moodle(unittest.TestCase):
    def test_grades_and_comments_are_filled_in_and_all_else_is_kept(self):
        before = {r["Identifier"]: r for r in csv.DictReader(io.StringIO(WORKSHEET.removeprefix("\ufeff")))}
        rows, files, notes = filled(student("Anna Li_101"), student("Bert O'Neil_102", [UNREADABLE]))
        self.assertEqual([], notes)
        for identifier, row in rows.items():
            for column in row.keys() - {"Grade", "Feedback comments"}:
                self.assertEqual(before[identifier][column], row[column])
        self.assertEqual(["30.00", "0.00", "", "", ""], [r["Grade"] for r in rows.values()])  # 3 of 10 points are 30 of 100
        self.assertIn("04.1 A title: 3 of 8 points\n", rows["Participant 101"]["Feedback comments"])
        text, _, _ = platforms.moodle(sheet(), [])
        self.assertEqual(list(csv.reader(io.StringIO(WORKSHEET))), list(csv.reader(io.StringIO(text))))
        self.assertEqual(WORKSHEET.count("\r\n"), text.count("\r\n"))

    def test_feedback_files_lie_where_moodle_looks_for_them(self):
        _, files, _ = filled(student("Anna Li_101"), student("emil@uni.example"))
        self.assertEqual(2, len(files))
        for path, number in zip(files, ("101", "105"), strict=True):  # fullname_userid_plugintype_pluginname_/file
            folder, name = path.split("/")
            self.assertEqual([number, "assignsubmission", "file", ""], folder.split("_")[1:])
            self.assertEqual("feedback.txt", name)
        with zipfile.ZipFile(io.BytesIO(platforms.zipped(files))) as archive:
            self.assertEqual(sorted(files), archive.namelist())

    def test_names_that_moodle_writes_otherwise_in_file_names(self):
        rows, _, notes = filled(student("Bert ONeil_102"), student("Cle\u0301o Zimmer_103"))
        self.assertEqual("30.00", rows["Participant 102"]["Grade"])
        self.assertEqual(["Cle\u0301o Zimmer_103 is left out: the worksheet says that the grade cannot be changed"], notes)

    def test_nobody_gets_the_grade_of_a_group_or_of_somebody_else(self):
        rows, files, notes = filled(student("Group A_101"), student("hugo"), student("Dora Quist_999"))
        self.assertEqual(["", "40.00", "", "", ""], [r["Grade"] for r in rows.values()])
        self.assertEqual({}, files)
        self.assertEqual([f"{name} is not in the worksheet" for name in ("Group A_101", "hugo", "Dora Quist_999")], notes)

    def test_an_anonymous_worksheet(self):
        table = "Identifier,Status,Grade,Maximum Grade\nParticipant 104,Submitted,,\"20,0\"\n"
        text, files, _ = platforms.moodle(sheet(table), [student("Participant_104", [PART])])
        self.assertIn("Participant 104,Submitted,7.50,", text)
        self.assertEqual(["Participant_104_assignsubmission_file_/feedback.txt"], list(files))

    def test_columns_of_any_version_of_moodle_are_found(self):
        newer = WORKSHEET.replace("Maximum Grade", "Maximum grade")
        self.assertNotEqual(WORKSHEET, newer)
        text, _, _ = platforms.moodle(sheet(newer), [student("Anna Li_101")])
        self.assertIn(",30.00,100.00,", text)

    def test_a_worksheet_that_an_office_program_has_saved(self):
        rows = list(csv.reader(io.StringIO(WORKSHEET.removeprefix("\ufeff"))))
        for delimiter, encoding in ((";", "utf-8"), ("\t", "utf-16"), (";", "utf-8-sig")):
            saved = io.StringIO()
            csv.writer(saved, delimiter=delimiter, lineterminator="\n").writerows([*rows, [], [""] * len(rows[0])])
            with self.subTest(delimiter=delimiter, encoding=encoding):
                text, files, _ = platforms.moodle(sheet(saved.getvalue(), encoding), [student("Anna Li_101")])
                found = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter))
                self.assertEqual(["30.00", "40.00", "", "", "", ""], [r["Grade"] for r in found])
                self.assertEqual((1, encoding != "utf-8"), (len(files), text.startswith("\ufeff")))

    def test_a_row_that_ends_early_has_a_grade(self):
        text, _, _ = platforms.moodle(sheet("Identifier,Maximum grade,Full name,Grade\nParticipant 101,20,anna\n"), [student("anna")])
        self.assertIn("Participant 101,20,anna,6.00\n", text)

    def test_points_that_cannot_be_scaled_are_refused(self):
        for best in ("", "-", "A scale", "0.00", "-2.00"):
            with self.assertRaisesRegex(Mistaken, f"the maximum grade of Participant 101 is '{best}', .* points cannot be scaled to it"):
                sheet(f"Identifier,Grade,Maximum grade\nParticipant 101,,{best}\n")

    def test_another_table_is_refused(self):
        for table, missing in (("", "Identifier and no column Grade"), ("Identifikator,Bewertung\n", "Identifier"), ("Grade\n", "Identifier"), ("Identifier,Grade\n", "Maximum grade")):
            with self.assertRaisesRegex(Mistaken, f"no column {missing}"):
                sheet(table)
        with self.assertRaisesRegex(Mistaken, "neither in UTF-8, .* nor in UTF-16"):
            sheet("Identifier,Grade,Maximum grade\nCl\xe9o,,100\n", "latin-1")


class Release(unittest.TestCase):
    def test_until_then_students_see_points_only(self):
        now = datetime.now().astimezone()
        full = student(notes=["2 submissions"])
        seen = platforms.until(now + timedelta(hours=1), full)
        text, _, _ = platforms.moodle(sheet(), [{**seen, "student": "Anna Li_101"}])
        shown = [platforms.gradescope(seen), platforms.classroom50(seen, JOB), platforms.text(seen), platforms.release_body(seen), text]
        for form in map(json.dumps, shown):
            self.assertNotRegex(form, r"SECRET|expected|y\[1\]|shape|compile")
            self.assertIn("3 of 8", form)
        self.assertEqual(platforms.total(full), platforms.total(seen))
        self.assertIn("2 submissions", seen["notes"])
        for released in (now - timedelta(hours=1), None):
            self.assertEqual(full, platforms.until(released, full))

    def test_a_date_is_of_this_machine_unless_it_names_another_zone(self):
        self.assertEqual(datetime(2027, 2, 1).astimezone(), platforms.moment("2027-02-01"))
        self.assertEqual(datetime(2027, 2, 1, 18).astimezone(), platforms.moment(platforms.date("2027-02-01T18:00")))
        self.assertEqual(platforms.moment("2027-02-01T18:00+02:00"), platforms.moment("2027-02-01T16:00+00:00"))
        self.assertTrue(re.search(r"[+-]\d\d:\d\d$", platforms.date("2027-02-01")))
        with self.assertRaisesRegex(Exception, "'tomorrow' is no date"):
            platforms.date("tomorrow")


if __name__ == "__main__":
    unittest.main()
