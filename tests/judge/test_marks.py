"""What is written of a class, whatever students and their answers are called."""

import contextlib
import io
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.answer import report
from judge.answer.exercise import Mistaken
from judge.answer.verdict import Fault, Verdict, refused
from judge.course.marks import Marks, folder_of, junit, safe
from judge.course.submissions import Submission
from tests.judge.handed_in import TARGET


class Written(unittest.TestCase):
    def test_a_name_with_characters_that_xml_cannot_hold(self):
        verdict = {"number": "04.2", "title": "a\x01b", "points": 0, "of": 1, "reason": "wrong\x02"}
        verdict |= {"problem": None, "criteria": []}
        text = junit({"an\x00na\x1b\ufffe": {"verdicts": [verdict]}})
        (suite,) = ElementTree.fromstring(text)
        self.assertEqual("an?na??", suite.get("name"))
        self.assertEqual({"an?na??"}, {case.get("classname") for case in suite})

    def test_results_that_have_been_damaged_are_named(self):
        with tempfile.TemporaryDirectory() as name:
            for file in ("settings.json", "verdicts/anna.json"):
                (Path(name) / file).parent.mkdir(exist_ok=True)
                (Path(name) / file).write_text("{")
            marks = Marks(Path(name))
            for read, file in ((marks.settings, "settings.json"), (lambda: marks.kept("anna"), "verdicts/anna.json")):
                with self.assertRaisesRegex(Mistaken, f"^{name}/{file} has been damaged .*: restore it, or delete it"):
                    read()

    def test_what_is_written_has_no_colors(self):
        verdict = report.to_dict(Verdict(TARGET, refused(TARGET, Fault("wrong", "x")).criteria))
        with unittest.mock.patch.object(report, "colored", lambda: True), tempfile.TemporaryDirectory() as out:
            Marks(Path(out)).keep(Submission("anna"), {"04.2": verdict})
            for file in Path(out).rglob("*.*"):
                self.assertNotRegex(file.read_text(), r"\x1b|\\u001b", file.name)

    def test_a_name_that_would_leave_the_results(self):
        for name in ("..", "a/b", "", ".hidden", "x" * 500, "=cmd()", "an\ufffdna", "\u53cd" * 85, "\U00020000" * 63):
            self.assertRegex(folder_of(name), r"^[\w\- ][\w\-. ]*$")
            self.assertLess(len(f"{folder_of(name)}.json.part".encode()), 256)  # the most that a file system takes

    def test_a_name_that_the_results_have_themselves(self):
        with tempfile.TemporaryDirectory() as name:
            marks = Marks(Path(name))
            for student in ("class.csv", "class.csv.part", "verdicts", "settings.json", "JUnit.xml", "moodle_feedback.zip"):
                marks.keep(Submission(student), {})
            with contextlib.redirect_stdout(io.StringIO()):
                marks.summarize()
            self.assertEqual(6, len(marks.results))
            self.assertEqual(6, len(list((Path(name) / "verdicts").iterdir())))

    def test_a_formula_is_text(self):
        self.assertEqual("'=HYPERLINK(1)", safe("=HYPERLINK(1)"))
        self.assertEqual(["", "ok"], [safe(""), safe("ok")])


if __name__ == "__main__":
    unittest.main()
