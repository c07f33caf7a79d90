"""Who is in a class, until when each may hand in, and what an instructor is told of it."""

import os
import subprocess
import tempfile
import unittest
from datetime import datetime
from pathlib import Path

from judge.answer.exercise import Mistaken, load_all
from judge.course import by_hand, copies, roster, summary
from judge.course.marks import Marks
from judge.course.roster import Deadline, Person, Roster, deadline
from judge.course.submissions import Submission, draw
from tests.judge.handed_in import TARGET

ANNA, BERT = Person("Anna Li", "anna@uni.example", "anna"), Person("Bert O'Neil", login="bert", number="4711", turn=1)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def file(self, content, name="table.csv"):
        (self.root / name).write_text(content)
        return self.root / name


class Rosters(Files):
    def test_columns_may_have_the_names_of_platforms(self):
        for content in (
            "name,email,login,number\nAnna Li,anna@uni.example,anna,\n\nBert O'Neil,,bert,4711\n",
            'name,email,login,number\n"Li, Anna",anna@uni.example,anna,\n"O\'Neil, Bert",,bert,4711\n',
            "\ufeffFirst name;Last name;Email address;GitHub;ID number\nAnna;Li;anna@uni.example;anna;\n"
            "Bert;O'Neil;;bert;4711\n",
        ):
            self.assertEqual(Roster((ANNA, BERT)), roster.read(self.file(content)))

    def test_what_says_nobody_or_two_is_refused(self):
        for content, said in (
            ("", "has nobody in it"),
            ("matriculation\n4711\n", "line 2 has neither a name nor an email nor a login"),
            ("name,login\nAnna,a\nBert,A\n", "Anna and Bert have the same email, login or number"),
            ("name,extension\nAnna,Friday\n", "'Friday' is no date"),
        ):
            with self.subTest(said), self.assertRaisesRegex(Mistaken, said):
                roster.read(self.file(content))

    def test_somebody_is_found_by_anything_that_only_one_is_called(self):
        people = Roster((ANNA, BERT, Person("Anna Li", login="anna2", turn=2)))
        for names, turn in (
            ("annali", None),
            ("anna2", 2),
            ("annali anna2", 2),
            ("bertoneil", 1),
            ("4711", 1),
            ("hugo", None),
        ):
            person = people.person(names.split())
            self.assertEqual(turn, person and person.turn)

    def test_a_row_by_which_something_was_dealt_stays(self):
        marks = Marks(self.root)
        three = "name,login\nAnna,a\nBert,b\nAnna,a2\n"
        marks.take(self.file(three), "roster.csv")
        self.assertEqual(4, len(marks.roster(self.file(f"{three}Cleo,c\n")).people))
        with self.assertRaisesRegex(Mistaken, "Bert, Anna have another row than in .*roster.csv"):
            marks.roster(self.file(three.replace("Anna,a\n", "")))

    def test_no_file_that_is_handed_in_says_for_whom_is_drawn(self):
        for said, flags in (("Hugo", ["student.txt says 'Hugo'"]), ("anna@UNI.example", []), ("", [])):
            submission = Submission("anna", known="anna", answers={"student.txt": said.encode()})
            draw(submission, Roster((BERT, ANNA)))
            self.assertEqual(
                ("Anna Li", 0, flags, []), (submission.known, submission.known.turn, submission.flags, submission.notes)
            )


class Late(Files):
    def test_a_day_that_has_begun_counts(self):
        rule, due = Deadline(deadline("2026-11-27 18:00")), deadline("2026-11-27 18:00").timestamp()
        extended = Person("Anna", extension=deadline("2026-11-29 18:00"))
        for person, handed_in, status, days in (
            (None, due, None, 0),
            (None, due + 1, None, 1),
            (None, due + 86401, None, 2),
            (extended, due + 2 * 86400, None, 0),
            (extended, due + 2 * 86400 + 1, None, 1),
            (None, 0, None, 0),  # nobody knows when
            (None, due + 10 * 86400, "Submitted for grading - ", 0),  # Moodle knows best
            (None, 0, "Submitted for grading - 2 days 3 hours late", 3),
            (extended, 0, "Submitted for grading - 2 days 3 hours late - Extension granted", 1),
            (None, 0, "Submitted for grading1 min 5 secs late", 1),
        ):
            with self.subTest(status=status, handed_in=handed_in):
                self.assertEqual(days, rule.days(person, handed_in, status))
        self.assertEqual(datetime(2026, 11, 28).astimezone(), deadline("2026-11-27"))

    def test_when_a_clone_was_committed_and_none_of_its_settings_is_used(self):
        clone = self.root / "anna"
        quiet = {
            "check": True,
            "capture_output": True,
            "env": {**os.environ, "GIT_COMMITTER_DATE": "@1700000000 +0100"},
        }
        who = ["-c", "user.name=a", "-c", "user.email=a", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "init", "--quiet", clone], **quiet)
        subprocess.run(["git", "-C", clone, *who, "commit", "--quiet", "--allow-empty", "-m", "a"], **quiet)
        started = self.root / "started"
        config = clone / ".git/config"
        config.write_text(
            config.read_text() + f"[core]\n\tfsmonitor = touch {started}\n[include]\n\tpath = /nowhere\n[broken\n"
        )
        self.assertEqual(1_700_000_000, roster.committed(clone))
        self.assertFalse(started.exists())
        (clone / ".git/HEAD").write_text("ref: refs/heads/../../config")
        self.assertEqual(0, roster.committed(clone))
        self.assertEqual(0, roster.committed(self.root))


def result(student, points, cause="", mark=""):
    criterion = {
        "name": "small",
        "reason": "wrong" if cause else "ok",
        "causes": [cause] if cause else [],
        "text": cause,
    }
    verdict = {
        "number": "04.2",
        "title": "Softmax",
        "points": points,
        "of": 10,
        "reason": "wrong" if cause else "ok",
        "criteria": [criterion, {**criterion, "name": "large"}],
    }
    about = {"problem": None, "remark": "", "fingerprint": mark}
    return {
        "student": student,
        "called": [student],
        "verdicts": [{**verdict, **about}],
        "notes": [],
        "flags": [],
        "absent": False,
        "late": 0,
        "taken": 0,
    }


class Told(Files):
    def test_a_page_has_means_and_the_commonest_causes(self):
        page = summary.text(
            [
                result("anna", 10),
                result("bert", 4, "a sign"),
                {**result("cleo", 0, "a sign"), "flags": ["alike"]},
                {**result("dora", 0), "absent": True, "flags": ["alike", "late"]},
            ]
        )
        for line in (
            "3 of 4 students have handed in",
            "points: mean 4.7, median 4, of 10",
            "04.2 Softmax: mean 4.7 of 10, all points 1 of 3 times",
            "  met: small 1, large 1",
            "    2 x a sign",
            "nothing handed in: dora",
            "  alike: cleo, dora",
        ):
            self.assertIn(f"{line}\n", page)

    def test_two_submissions_of_one_person_or_with_one_draw_are_flagged(self):
        for personal, turns, said in (
            (True, (None, None), "the same draw as "),
            (False, (None, None), ""),
            (False, (ANNA, ANNA), "the same person as "),
            (True, (ANNA, BERT), ""),
        ):
            exercise = next(e for e in load_all() if e.number == ("03.4" if personal else "04.2"))
            results = [
                {**result(name, 1), "known": "Anna Li", "person": turn} for name, turn in zip(("anna", "kim"), turns)
            ]
            Marks(self.root).flag(results, [exercise])
            self.assertEqual([[said + "kim"], [said + "anna"]] if said else [[], []], [r["flags"] for r in results])

    def test_points_by_hand_take_the_place_of_the_judges(self):
        results = [result("anna", 10), result("bert", 4)]
        more = by_hand.give(
            self.file("student;exercise;points;of;comment\nbert;04.2;9,5;;right by another way\nANNA;essay;3;5;\n"),
            results,
        )
        self.assertEqual({"essay": 5}, more)
        found = {r["student"]: {v["number"]: (v["points"], v["of"]) for v in r["verdicts"]} for r in results}
        self.assertEqual(
            {"anna": {"04.2": (10, 10), "essay": (3, 5)}, "bert": {"04.2": (9.5, 10), "essay": (0, 5)}}, found
        )
        for row, said in (
            ("bert,04.2,many,,", "line 5: 'many' are no points"),
            ("hugo,04.2,1,,", "line 5: no submission is hugo's; there are anna, bert"),
            ("bert,essay,1,,", "line 5: say for how many points essay is"),
            ("bert,,1,,", "line 5: there is no exercise"),
            ("bert,04.22,1,2,", "line 5: nobody has been graded in 04.22 here, only in 04.2"),
        ):
            with self.subTest(said), self.assertRaisesRegex(Mistaken, said):
                by_hand.give(
                    self.file(f'student,exercise,points,of,comment\n\nbert,04.2,1,,"a\nb"\n{row}\n'),
                    [result("anna", 10), result("bert", 4)],
                )

    def test_answers_are_alike_if_only_names_spaces_and_comments_differ(self):
        code = '#include "a.hpp"\nTensor f(const Tensor& x) { Tensor y = g(x); return y.rows() + y.first; }'
        other = "Tensor f(const Tensor& in) {\n    Tensor out = g(in);  // mine\n    return out.rows() + out.first;\n}"
        self.assertEqual(copies.alike(code), copies.alike(other))
        for changed in (
            ("g(in)", "h(in)"),
            ("rows", "cols"),
            ("first", "second"),
            ("= g(in)", "= g(out)"),
            ("return", "return -"),
        ):
            self.assertNotEqual(copies.alike(code), copies.alike(other.replace(*changed)), changed)
        self.assertEqual("", copies.fingerprint(TARGET, TARGET.stub().encode()))
        published = copies.fingerprint(TARGET, TARGET.solution().encode())
        marks = {"anna": published, "bert": "m", "cleo": "m", "dora": "other", "emil": ""}
        flags = copies.flags([result(name, 1, mark=mark) for name, mark in marks.items()], [TARGET])
        self.assertEqual(
            {
                "anna": ["04.2 is the published solution but for names"],
                "bert": ["04.2 is that of cleo but for names"],
                "cleo": ["04.2 is that of bert but for names"],
            },
            dict(flags),
        )


if __name__ == "__main__":
    unittest.main()
