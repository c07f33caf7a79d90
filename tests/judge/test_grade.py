"""What is handed in is read as data: nothing of it is followed, unpacked or believed."""

import argparse
import contextlib
import csv
import dataclasses
import datetime
import errno
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import warnings
import zipfile
from array import array
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import appeal, check, compile, grade, report, sandbox, submissions
from judge.cases import Case
from judge.exercise import Mistaken, load_all
from judge.report import to_text
from judge.values import Value
from judge.verdict import Judged
from tests.nightly import nightly

NAME = "04_2_softmax_backward.cpp"
TARGET = next(e for e in load_all() if e.file_name == NAME)


PRIVATE_MOUNTS = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def in_a_zip(files):
    """The bytes of one."""
    raw = io.BytesIO()
    zipped(raw, files)
    return raw.getvalue()


class Collecting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "submissions"
        self.folder.mkdir()

    def only(self):
        (submission,) = submissions.collect(self.folder, [NAME])
        return submission

    def test_a_folder_and_a_zip(self):
        (self.folder / "anna").mkdir()
        (self.folder / "anna" / NAME).write_text("a")
        zipped(self.folder / "bert.zip", {f"answers/{NAME}": "b", "holiday.jpg": "c"})
        found = {s.student: s.answers for s in submissions.collect(self.folder, [NAME])}
        self.assertEqual({"anna": {NAME: b"a"}, "bert": {NAME: b"b"}}, found)

    def test_the_whole_pack_and_a_folder_around_it(self):
        students = {"anna": "pack/answers", "bert": "04", "cleo": "answers", "dora": "a/b/c/d"}
        for student, place in students.items():
            (self.folder / student / place).mkdir(parents=True)
            (self.folder / student / place / NAME).write_text(student)
        found = {s.student: s.answers for s in submissions.collect(self.folder, [NAME])}
        self.assertEqual({student: {NAME: student.encode()} for student in students}, found)

    def test_zips_of_other_systems(self):
        zipped(self.folder / "anna.zip", {f"__MACOSX/answers/._{NAME}": "x", f"__MACOSX/{NAME}": "x", f"my answers/{NAME}": "a"})
        zipped(self.folder / "bert.zip", {f"pack\\answers\\{NAME}": "b"})
        zipped(self.folder / "Cleo.ZIP", {NAME: "c"})
        found = {s.student: s.answers for s in submissions.collect(self.folder, [NAME])}
        self.assertEqual({"anna": {NAME: b"a"}, "bert": {NAME: b"b"}, "Cleo": {NAME: b"c"}}, found)

    def test_what_a_system_leaves_in_a_folder_is_nobodys(self):
        (self.folder / ".DS_Store").write_bytes(bytes(9))
        (self.folder / "__MACOSX").mkdir()
        (self.folder / "Thumbs.db").write_bytes(bytes(9))
        self.assertEqual([], submissions.collect(self.folder, [NAME]))

    def test_a_name_from_any_editor(self):
        for content in (b"anna", b"anna\r\n", b"\xef\xbb\xbfanna\n", b" anna "):
            self.assertEqual("anna", check.student_in(content))

    def test_a_zip_that_asks_for_a_password(self):
        zipped(self.folder / "anna.zip", {NAME: "a"})
        raw = bytearray((self.folder / "anna.zip").read_bytes())
        raw[6] |= 1
        raw[raw.rindex(b"PK\1\2") + 8] |= 1
        (self.folder / "anna.zip").write_bytes(raw)
        self.assertIn("password", self.only().refused[NAME])

    def test_a_zip_with_damaged_contents(self):
        path = self.folder / "anna.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(NAME, os.urandom(300).hex())
        raw = bytearray(path.read_bytes())
        for at in range(70, 200):
            raw[at] ^= 0x55
        path.write_bytes(raw)
        submission = self.only()
        self.assertEqual({}, submission.answers)
        self.assertIn("cannot be read", submission.refused[NAME])

    def test_a_compression_that_could_fill_the_memory(self):
        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            with zipfile.ZipFile(self.folder / "anna.zip", "w", method) as archive:
                archive.writestr(NAME, "a")
            with unittest.mock.patch.object(zipfile.ZipFile, "open", side_effect=AssertionError):
                self.assertIn("compression is not the usual one", self.only().refused[NAME])

    def test_a_linked_folder_around_answers(self):
        (self.folder / "anna").mkdir()
        (self.folder / "anna" / "pack").symlink_to(TARGET.folder.parent)
        self.assertEqual({}, self.only().answers)

    def test_a_full_disk_is_nobodys_mistake(self):
        grade.require_room()
        with unittest.mock.patch.object(grade.shutil, "disk_usage", lambda _: unittest.mock.Mock(free=1 << 20)), self.assertRaises(OSError) as full:
            grade.require_room()
        self.assertEqual(errno.ENOSPC, full.exception.errno)

    def test_no_zip(self):
        (self.folder / "anna.zip").write_text("I am no zip")
        self.assertIn("cannot be read as a zip", self.only().notes[0])

    def test_a_zip_that_breaks_off(self):
        zipped(self.folder / "anna.zip", {NAME: "a" * 1000})
        raw = (self.folder / "anna.zip").read_bytes()
        (self.folder / "anna.zip").write_bytes(raw[: len(raw) // 2])
        self.assertIn("cannot be read as a zip", self.only().notes[0])

    def test_a_path_that_leaves_its_folder(self):
        zipped(self.folder / "anna.zip", {f"../../{NAME}": "a", f"/{NAME}": "b"})
        submission = self.only()
        self.assertEqual({}, submission.answers)
        self.assertIn("leaves its folder", submission.notes[0])

    def test_a_link_in_a_folder(self):
        (self.folder / "anna").mkdir()
        (self.folder / "anna" / NAME).symlink_to(TARGET.source)
        submission = self.only()
        self.assertEqual({}, submission.answers)
        self.assertIn("link", submission.refused[NAME])

    def test_a_linked_folder_of_answers(self):
        (self.folder / "anna").mkdir()
        (self.folder / "anna" / "answers").symlink_to(TARGET.folder)
        self.assertEqual({}, self.only().answers)

    def test_a_link_in_a_zip(self):
        about = zipfile.ZipInfo(NAME)
        about.external_attr = 0o120777 << 16
        with zipfile.ZipFile(self.folder / "anna.zip", "w") as archive:
            archive.writestr(about, str(TARGET.source))
        submission = self.only()
        self.assertEqual({}, submission.answers)
        self.assertIn("link", submission.refused[NAME])

    def test_a_submission_that_is_a_link(self):
        (self.folder / "anna").symlink_to(TARGET.folder)
        self.assertIn("link", self.only().notes[0])

    def test_a_pipe_does_not_stop_the_grader(self):
        (self.folder / "anna").mkdir()
        os.mkfifo(self.folder / "anna" / NAME)
        os.mkfifo(self.folder / "bert")
        anna, bert = submissions.collect(self.folder, [NAME])
        self.assertIn("is not a file", anna.refused[NAME])
        self.assertIn("is not a file", bert.notes[0])

    def test_a_folder_that_cannot_be_read(self):
        for student in ("anna", "bert"):
            (self.folder / student / "answers").mkdir(parents=True)
            (self.folder / student / NAME).write_text(student)
        scan = os.scandir

        def closed(path):
            if Path(path).parts[-1] == "anna" or Path(path).parts[-2:] == ("bert", "answers"):
                raise PermissionError(errno.EACCES, "Permission denied")
            return scan(path)

        with unittest.mock.patch.object(submissions.os, "scandir", closed):
            anna, bert = submissions.collect(self.folder, [NAME])
        self.assertEqual(({}, ["the submission cannot be read: Permission denied"]), (anna.answers, anna.notes))
        self.assertEqual(({NAME: b"bert"}, ["answers cannot be read: Permission denied"]), (bert.answers, bert.notes))

    def test_a_machine_that_opens_no_more_files_is_not_the_students_fault(self):
        (self.folder / "anna").mkdir()
        (self.folder / "anna" / NAME).write_text("a")
        for place in ("open", "scandir"):
            with unittest.mock.patch.object(submissions.os, place, side_effect=OSError(errno.EMFILE, "Too many open files")):
                self.assertRaises(OSError, self.only)

    def test_folders_in_folders_without_end(self):
        def nested(depth):
            return "d/" * depth + NAME

        for depth, noted in ((submissions.DEEPEST, []), (submissions.DEEPEST + 1, [submissions.TOO_DEEP])):
            with self.subTest(depth):
                (self.folder / "anna" / nested(depth)).parent.mkdir(parents=True)
                (self.folder / "anna" / nested(depth)).write_text("a")
                zipped(self.folder / "bert.zip", {nested(depth): "a"})
                for submission in submissions.collect(self.folder, [NAME]):
                    self.assertEqual((noted, not noted), (submission.notes, NAME in submission.answers))
                shutil.rmtree(self.folder / "anna")

    def test_a_hundred_thousand_files(self):
        with zipfile.ZipFile(self.folder / "anna.zip", "w") as archive:
            for i in range(100_000):
                archive.writestr(f"f{i}", "")
            archive.writestr(f"a/{NAME}", "a")
        self.assertEqual({}, self.only().answers)
        self.assertIn("more than 10000 files", self.only().notes[0])

    def test_ten_sparse_gigabytes(self):
        (self.folder / "anna").mkdir()
        for path in (self.folder / "anna" / NAME, self.folder / "bert.zip"):
            with path.open("wb") as file:
                file.truncate(10 << 30)
        anna, bert = submissions.collect(self.folder, [NAME])
        self.assertIn("10737418240 bytes", anna.refused[NAME])
        self.assertIn("10737418240 bytes", bert.notes[0])

    def test_a_zip_that_swells(self):
        with zipfile.ZipFile(self.folder / "anna.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(NAME, bytes(50 << 20))
        self.assertIn(f"has {50 << 20} bytes, but the limit is {submissions.LARGEST_ANSWER}", self.only().refused[NAME])

    def test_clones_beside_a_table_of_scores(self):
        for student in ("anna", "bert"):
            (self.folder / student / "answers").mkdir(parents=True)
            (self.folder / student / ".git").mkdir()
            (self.folder / student / ".git" / NAME).write_text("older")
            (self.folder / student / "answers" / NAME).write_text(student)
        (self.folder / "scores.csv").write_text("username,score\n")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = {s.student: s.answers for s in submissions.collect(self.folder, [NAME])}
        self.assertEqual({"anna": {NAME: b"anna"}, "bert": {NAME: b"bert"}}, found)
        self.assertEqual("book: scores.csv is neither a folder nor a zip, so it is nobody's submission\n", said.getvalue())

    def test_moodle_exports_folders_or_files(self):
        exported = {
            "Anna Li_101_assignsubmission_file": f"answers/{NAME}",  # Moodle 4.1 and later
            "Anna Li_102_assignsubmission_file_": NAME,  # before
            "Bert O'Neil_103_assignsubmission_file_" + NAME: "",  # not in folders
            "Participant_104_assignsubmission_file": "answers.zip",  # anonymous
        }
        for place, name in exported.items():
            content = in_a_zip({NAME: place}) if name == "answers.zip" else place.encode()
            (self.folder / place / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place / name).write_bytes(content)
        (self.folder / "Anna Li_101_assignsubmission_onlinetext").mkdir()
        (self.folder / "Anna Li_101_assignsubmission_onlinetext" / "onlinetext.html").write_text("done")
        (self.folder / "Anna Li_102_assignsubmission_file_" / "student.txt").write_text("Anna Li")
        wanted = [NAME, "student.txt"]
        zipped(self.folder.parent / "all.zip", {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()})
        for place in (self.folder, self.folder.parent / "all.zip"):
            found = {s.student: s for s in submissions.collect(place, wanted)}
            students = {"Anna Li_101", "Anna Li_102", "Bert O'Neil_103", "Participant_104"}
            self.assertEqual(dict(zip(sorted(students), exported)), {s: found[s].answers[NAME].decode() for s in sorted(found)})
            self.assertEqual({}, {s: f.notes for s, f in found.items() if f.notes})
            self.assertEqual("Anna Li", found["Anna Li_101"].known)

    def test_what_one_student_has_packed_is_left_to_that_student(self):
        """In a learning platform's zip, where no name is a file's of this machine."""
        anna, bert, cleo = (f"{name}_{i}_assignsubmission_file_/" for i, name in enumerate(("Anna", "Bert", "Cleo")))
        for added, noted in (
            ({bert + "\u53cd\u5411\u4f20\u64ad" * 22 + ".txt": ""}, []),  # 268 bytes
            ({bert + "notes": "", bert + "notes/more.txt": ""}, []),
            ({bert.strip("/"): ""}, ["the submission cannot be read as a zip: File is not a zip file"]),
            ({bert + "d/" * 2100 + "x.txt": ""}, [submissions.TOO_DEEP]),
            ({bert + "../" + anna + "x": "not Anna's"}, [f"the zip has a path that leaves its folder: '{bert}../{anna}x'"]),
            ({bert + "./x/../../y": "", bert + "/etc/x": ""}, [f"the zip has a path that leaves its folder: '{bert}{p}'" for p in ("./x/../../y", "/etc/x")]),
            ({bert + NAME.upper(): "b"}, []),
            ({bert + "a.zip": "no zip"}, ["a.zip: cannot be read as a zip: File is not a zip file"]),
            ({bert + "a.zip": in_a_zip({"b.zip": in_a_zip({"x": ""})[:-9]})}, ["a.zip/b.zip: cannot be read as a zip: File is not a zip file"]),
            ({"/etc/x": "", "../x": "", "..": ""}, []),
        ):
            with self.subTest(noted=noted, added=[name[-60:] for name in added]), contextlib.redirect_stderr(io.StringIO()):
                zipped(self.folder / "all.zip", {anna + NAME: "a", **added, bert + NAME: "b", cleo + NAME: "c"})
                found = submissions.collect(self.folder / "all.zip", [NAME])
                pickle.dumps(found)  # for the processes that judge them
                self.assertEqual({"Anna_0": b"a", "Bert_1": b"b", "Cleo_2": b"c"}, {s.student: s.answers.get(NAME) for s in found})
                self.assertEqual({"Anna_0": [], "Bert_1": noted, "Cleo_2": []}, {s.student: s.notes for s in found})

    def test_a_member_of_the_platforms_zip_that_cannot_be_read_is_one_students(self):
        with zipfile.ZipFile(self.folder / "all.zip", "w") as archive:
            for student in ("anna", "bert"):
                archive.writestr(f"{student}/{NAME}", student)
        raw = (self.folder / "all.zip").read_bytes()
        (self.folder / "all.zip").write_bytes(raw.replace(b"bert", b"bart", 2).replace(b"bart/", b"bert/", 1))
        anna, bert = submissions.collect(self.folder / "all.zip", [NAME])
        self.assertEqual({NAME: b"anna"}, anna.answers)
        self.assertEqual(({}, "cannot be read: Bad CRC"), (bert.answers, bert.refused[NAME][:23]))

    def test_zips_in_the_platforms_zip(self):
        zipped(self.folder / "all.zip", {"anna.zip": in_a_zip({f"answers/{NAME}": "a"}), "bert": in_a_zip({NAME: "b"}), "cleo/": "", "scores.csv": ""})
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = {s.student: s.answers for s in submissions.collect(self.folder / "all.zip", [NAME])}
        self.assertEqual({"anna": {NAME: b"a"}, "bert": {NAME: b"b"}, "cleo": {}}, found)
        self.assertEqual("book: scores.csv is neither a folder nor a zip, so it is nobody's submission\n", said.getvalue())

    def test_a_zip_with_ten_thousand_faults_has_a_few_notes(self):
        zipped(self.folder / "anna.zip", {f"../{i}": "" for i in range(10_000)})
        self.assertEqual((submissions.MOST_NOTES, "and more"), (len(self.only().notes), self.only().notes[-1]))

    def test_a_name_that_is_not_utf8(self):
        folder = os.fsencode(self.folder) + b"/an\xffna"
        os.mkdir(folder)
        with open(folder + b"/" + NAME.encode(), "wb") as file:
            file.write(b"a")
        submission = self.only()
        self.assertEqual({NAME: b"a"}, submission.answers)
        submission.student.encode()  # can be written
        self.assertNotIn("/", grade.folder_of(submission.student))

    def test_a_name_that_would_leave_the_results(self):
        for name in ("..", "a/b", "", ".hidden", "x" * 500, "=cmd()", "\u53cd" * 85, "\U00020000" * 63):
            self.assertRegex(grade.folder_of(name), r"^[\w\- ][\w\-. ]*$")
            self.assertLess(len(f"{grade.folder_of(name)}.json.part".encode()), 256)  # the most that a file system takes

    def test_a_name_that_the_results_have_themselves(self):
        with tempfile.TemporaryDirectory() as name:
            marks = grade.Marks(Path(name))
            for student in ("class.csv", "class.csv.part", "verdicts", "settings.json", "JUnit.xml", "moodle_feedback.zip"):
                marks.keep(submissions.Submission(student), {})
            with contextlib.redirect_stdout(io.StringIO()):
                marks.summarize()
            self.assertEqual(6, len(marks.results))
            self.assertEqual(6, len(list((Path(name) / "verdicts").iterdir())))

    def test_two_submissions_of_one_student(self):
        (self.folder / "anna").mkdir()
        (self.folder / "anna" / NAME).write_text("old")
        os.utime(self.folder / "anna", (1, 1))
        zipped(self.folder / "anna.zip", {NAME: "new"})
        submission = self.only()
        self.assertEqual({NAME: b"new"}, submission.answers)
        self.assertIn("2 submissions", submission.notes[0])

    def test_a_name_is_one_student_however_it_is_written(self):
        for name in ("Andr\u00e9 Li", "Andre\u0301 Li", "Andr\u00e9  Li "):
            (self.folder / name).mkdir()
            (self.folder / name / NAME).write_text(name)
        zipped(self.folder / "Andre\u0301 Li.zip", {NAME: "newest"})
        os.utime(self.folder / "Andre\u0301 Li.zip", (4e9, 4e9))
        submission = self.only()
        self.assertEqual(("Andr\u00e9 Li", {NAME: b"newest"}), (submission.student, submission.answers))
        self.assertIn("4 submissions", submission.notes[0])
        self.assertEqual(submission.student, check.student_in("\ufeffAndre\u0301\tLi\r\n".encode()))

    def test_names_that_differ_by_capitals_are_two_students_and_noted(self):
        for name in ("Anna@uni.edu", "anna@uni.edu"):
            (self.folder / name).mkdir()
        found = {s.student: s.notes for s in submissions.collect(self.folder, [NAME])}
        self.assertEqual({"Anna@uni.edu", "anna@uni.edu"}, found.keys())
        self.assertEqual(["anna@uni.edu also handed in: is that the same student?"], found["Anna@uni.edu"])

    def test_a_formula_is_text(self):
        self.assertEqual("'=HYPERLINK(1)", grade.safe("=HYPERLINK(1)"))
        self.assertEqual(["", "ok"], [grade.safe(""), grade.safe("ok")])


class Packings(unittest.TestCase):
    """One content gives one result and the same notes, in a folder, in a zip, and as learning platforms pack it."""

    def collected(self, files, order=sorted):
        """The same from a folder, a zip, a folder with a zip in it and a zip with a zip in it, if they agree."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for path, content in files.items():
                place = folder / "in a folder" / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            packed = {path: files[path] for path in order(files)}
            zipped(folder / "in a zip.zip", packed)
            found = {s.student: s for s in submissions.collect(folder, [NAME])}
            kinds = [(s.answers, s.refused, s.notes) for s in found.values()]
        self.assertEqual(kinds[0], kinds[1])
        return kinds[0]

    def test_answers_come_first_then_the_nearest(self):
        for order in (sorted, lambda files: sorted(files, reverse=True)):
            for first, second in (
                (f"answers/{NAME}", f"Copy/{NAME}"),
                (f"a/b/Answers/{NAME}", f"a/{NAME}"),
                (f"answers/{NAME}", NAME),
                (f"b/{NAME}", f"a/c/{NAME}"),
                (NAME, f"a/{NAME}"),
                (f"a/{NAME}", f"b/{NAME}"),
            ):
                with self.subTest(first=first, second=second):
                    answers, _, notes = self.collected({first: b"first", second: b"second"}, order)
                    self.assertEqual({NAME: b"first"}, answers)
                    self.assertEqual([f"{NAME} was taken from {first}; {second} differs"], notes)
                    self.assertEqual(({NAME: b"same"}, {}, []), self.collected({first: b"same", second: b"same"}, order))

    def test_however_many_folders_are_around_it(self):
        self.assertEqual(({NAME: b"a"}, {}, []), self.collected({f"homework/pack/answers/{NAME}": b"a", "a/holiday.jpg": b"b"}))

    def test_a_zip_in_a_folder_or_in_a_zip_counts_as_a_folder(self):
        whole = {f"answers.zip": in_a_zip({NAME: "a"}), f"Copy/{NAME}": b"older"}
        answers, _, notes = self.collected(whole)
        self.assertEqual({NAME: b"a"}, answers)
        self.assertEqual([f"{NAME} was taken from answers.zip/{NAME}; Copy/{NAME} differs"], notes)
        twice = in_a_zip({"inner.zip": in_a_zip({f"answers/{NAME}": "a"})})
        self.assertEqual({}, self.collected({"b/deeper.zip": in_a_zip({"outer.zip": twice})})[0])
        self.assertIn("outer.zip/inner.zip was not opened", self.collected({"b/deeper.zip": in_a_zip({"outer.zip": twice})})[2][0])
        self.assertEqual({NAME: b"a"}, self.collected({"outer.zip": twice})[0])

    def test_what_is_passed_over_is_named(self):
        for path, said in (
            ("answers.tar.gz", "answers.tar.gz was not opened: hand in a folder or a zip"),
            ("answers.7z", "answers.7z was not opened"),
            ("no.zip", "no.zip: cannot be read as a zip"),
            (f"{NAME}.txt", f"because of the name: {NAME}.txt"),
            (NAME.replace(".cpp", " (1).cpp"), "because of the name: 04_2_softmax_backward (1).cpp"),
            ("homework.cpp", "because of the name: homework.cpp"),
        ):
            with self.subTest(path):
                answers, _, notes = self.collected({path: b"a"})
                self.assertEqual({}, answers)
                self.assertIn(said, notes[0])

    def test_what_systems_leave_is_not_named(self):
        left = {f"__MACOSX/answers/._{NAME}": b"x", f"answers/._{NAME}": b"x", f".git/{NAME}": b"x", "b/Thumbs.db": b"x"}
        self.assertEqual(({NAME: b"a"}, {}, []), self.collected({**left, f"answers/{NAME}": b"a"}))
        self.assertEqual(({}, {}, []), self.collected(left))

    def test_a_name_in_capitals_is_taken_and_noted(self):
        answers, _, notes = self.collected({NAME.upper(): b"a"})
        self.assertEqual(({NAME: b"a"}, [f"{NAME} was taken from {NAME.upper()}"]), (answers, notes))

    def test_a_copy_that_cannot_be_read_leaves_the_other(self):
        answers, refused, notes = self.collected({f"answers/{NAME}": bytes(300_000), NAME: b"a"})
        self.assertEqual(({NAME: b"a"}, {}), (answers, refused))
        self.assertEqual([f"{NAME} was taken from {NAME}; answers/{NAME} has 300000 bytes, but the limit is 262144"], notes)

    def test_of_too_many_files_the_nearest_are_looked_at(self):
        said = ["it has more than 3 files; the most deeply nested were not looked at"]
        with unittest.mock.patch.object(submissions, "MOST_FILES", 3):
            answers, _, notes = self.collected({"a/a": b"", "a/b/c": b"", f"d/{NAME}": b"a", "e": b""})
            self.assertEqual(({NAME: b"a"}, said), (answers, notes))
            answers, _, notes = self.collected({"a/a": b"", "a/b": b"", f"d/e/{NAME}": b"a", "e": b""})
            self.assertEqual(({}, said), (answers, notes[:1]))

    def test_of_a_path_that_a_zip_has_twice_the_last_counts(self):
        with tempfile.TemporaryDirectory() as name:
            with zipfile.ZipFile(Path(name) / "anna.zip", "w") as archive, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                archive.writestr(NAME, "older")
                archive.writestr(NAME, "newer")
            (anna,) = submissions.collect(Path(name), [NAME])
        self.assertEqual(({NAME: b"newer"}, [f"the zip has {NAME} more than once; the last counts"]), (anna.answers, anna.notes))

    def test_a_submission_in_an_archive_of_another_kind(self):
        with tempfile.TemporaryDirectory() as name:
            for file in ("anna.tar.gz", "bert.7z", "cleo.rar"):
                (Path(name) / file).write_bytes(b"\x1f\x8bno zip")
            found = submissions.collect(Path(name), [NAME])
        self.assertEqual(["anna", "bert", "cleo"], [s.student for s in found])
        for submission in found:
            self.assertIn("not a zip", submission.notes[0])

    def test_zips_in_zips_are_read_up_to_a_size(self):
        with unittest.mock.patch.object(submissions, "LARGEST_ZIP", 1000):
            zips = {f"{i}.zip": in_a_zip({f"a{i}": "x" * 400}) for i in range(3)}
            _, _, notes = self.collected_in_a_folder({**zips, NAME: b"a"})
        self.assertRegex(notes[0], r"^1\.zip: has \d+ bytes, but the limit is \d+$")

    def collected_in_a_folder(self, files):
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "anna").mkdir()
            for path, content in files.items():
                (Path(name) / "anna" / path).write_bytes(content)
            (anna,) = submissions.collect(Path(name), [NAME])
        return anna.answers, anna.refused, anna.notes


class Kept(unittest.TestCase):
    """What is written of a class."""

    def test_a_name_with_characters_that_xml_cannot_hold(self):
        verdict = {"number": "04.2", "title": "a\x01b", "points": 0, "of": 1, "reason": "wrong\x02"}
        verdict |= {"problem": None, "criteria": []}
        text = grade.junit({"an\x00na\x1b\ufffe": {"verdicts": [verdict]}})
        (suite,) = ElementTree.fromstring(text)
        self.assertEqual("an?na??", suite.get("name"))
        self.assertEqual({"an?na??"}, {case.get("classname") for case in suite})

    def test_an_answer_that_the_judge_cannot_cope_with_is_one_students(self):
        def judge(exercise, *_, **__):
            if exercise is TARGET:
                raise OverflowError("intermediate overflow")
            return grade.Verdict(exercise)

        other = next(e for e in load_all() if e is not TARGET)
        submission = submissions.Submission("anna", answers={NAME: b"a", other.file_name: b"b"})
        with unittest.mock.patch.object(grade, "judge_answer", judge):
            first, second = grade.judge_submission(submission, [TARGET, other], 1, tight=False)
        self.assertEqual(("judge", 0, "ok"), (first.reason, first.points, second.reason))
        with tempfile.TemporaryDirectory() as name:
            kept = {v.exercise.number: report.to_dict(v) for v in (first, second)}
            result = grade.Marks(Path(name)).keep(submission, kept)
        self.assertEqual(["04.2: judge it by hand"], result["notes"])

    def test_whether_an_error_is_of_the_machine_is_asked_of_the_machine(self):
        submission = submissions.Submission("anna", answers={NAME: b"a"})
        busy = OSError(errno.ETXTBSY, "Text file busy")
        for error, unfit, raises in (
            (busy, "", None),
            (busy, "not even an empty program runs here", sandbox.Unfit),
            (OSError(errno.ENOSPC, "full"), "", OSError),
            (OSError(errno.EMFILE, "Too many open files"), "", OSError),
            (sandbox.Unfit("noexec"), "", sandbox.Unfit),
            (compile.Failed("no case"), "", compile.Failed),  # of the book
        ):
            judge = unittest.mock.Mock(side_effect=error)
            with self.subTest(str(error), unfit=unfit), unittest.mock.patch.multiple(grade, judge_answer=judge, why_unfit=lambda unfit=unfit, **_: unfit):
                if raises:
                    self.assertRaises(raises, grade.judge_submission, submission, [TARGET], 1, tight=False)
                else:
                    (verdict,) = grade.judge_submission(submission, [TARGET], 1, tight=False)
                    self.assertEqual("judge", verdict.reason)

    def test_a_machine_that_fails_is_one_line(self):
        for error, said in (
            (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
            (OSError(errno.EMFILE, "Too many open files"), "no student is to blame; .* Too many open files"),
            (FileNotFoundError(errno.ENOENT, "No usable temporary directory found"), "no student is to blame; .* No usable temporary"),
            (sandbox.Unfit("cannot start a program"), "no student is to blame; .* cannot start a program"),
            (BrokenProcessPool("A process was terminated abruptly"), "no student is to blame; .* terminated abruptly"),
        ):
            for place in ("grade", "why_unfit"):
                stand_ins = {"why_unfit": lambda **_: "", "grade": unittest.mock.Mock(), "prepare": lambda *_, **__: None}
                stand_ins[place] = unittest.mock.Mock(side_effect=error)
                printed = io.StringIO()
                with (
                    self.subTest(said, place=place),
                    tempfile.TemporaryDirectory() as out,
                    unittest.mock.patch.multiple(grade, **stand_ins),
                    unittest.mock.patch.object(sandbox, "why_unavailable", lambda: ""),
                    contextlib.redirect_stderr(printed),
                ):
                    self.assertEqual(3, grade.main(["04.2", "--submissions", "/", "--out", out]))
                    self.assertRegex(printed.getvalue(), f"^book: .*{said}.*\n$")

    def test_how_many_at_a_time(self):
        self.assertEqual(3, grade.at_least_one("3"))
        for text in ("0", "-1", "x", "1.5", ""):
            self.assertRaises(argparse.ArgumentTypeError, grade.at_least_one, text)

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
        patch = unittest.mock.patch.object(grade, "__file__", str(root / "judge" / "grade.py"))
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
        self.assertEqual(of("04.1", "04.2"), self.graded(root / "in", grade.Marks(root / "out"), both))
        self.assertEqual([], self.graded(root / "in", grade.Marks(root / "out"), both))
        self.assertEqual([], self.graded(root / "in", grade.Marks(root / "out"), [first]))
        for file, numbers in (
            (second.folder / "cases.cpp", ["04.2"]),
            (second.folder / "exercise.json", ["04.2"]),
            (root / "in/anna" / first.file_name, ["04.1"]),
            (root / "judge/verdict.py", ["04.1", "04.2"]),
            (root / "judge/serve.cpp", ["04.1", "04.2"]),
        ):
            file.write_bytes(file.read_bytes() + b"\n")
            self.assertEqual(of(*numbers), self.graded(root / "in", grade.Marks(root / "out"), both), file.name)
            self.assertEqual([], self.graded(root / "in", grade.Marks(root / "out"), both))

    def test_what_the_judge_could_not_judge_is_tried_again(self):
        root, (first, second) = self.place()
        self.hand_in(root, "anna", e04_1="a", e04_2="a")
        self.graded(root / "in", grade.Marks(root / "out"), [first, second])
        file = root / "out/verdicts/anna.json"
        kept = json.loads(file.read_text())
        kept["verdicts"][1]["reason"] = "judge"
        file.write_text(json.dumps(kept))
        self.assertEqual([("anna", ["04.2"])], self.graded(root / "in", grade.Marks(root / "out"), [first, second]))

    def test_results_that_have_been_damaged_are_named(self):
        with tempfile.TemporaryDirectory() as name:
            for file in ("settings.json", "verdicts/anna.json"):
                (Path(name) / file).parent.mkdir(exist_ok=True)
                (Path(name) / file).write_text("{")
            marks = grade.Marks(Path(name))
            for read, file in ((marks.settings, "settings.json"), (lambda: marks.kept("anna"), "verdicts/anna.json")):
                with self.assertRaisesRegex(Mistaken, f"^{name}/{file} has been damaged .*: restore it, or delete it"):
                    read()

    def test_a_worksheet_is_read_before_anybody_is_graded(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(grade, "prepare", side_effect=AssertionError):
            (Path(name) / "sheet.csv").write_text("Identifier,Grade\n")
            with self.assertRaisesRegex(Mistaken, "no column Maximum grade"):
                grade.main(["04.2", "--submissions", name, "--out", name, "--moodle", f"{name}/sheet.csv"])

    def test_ctrl_c_ends_workers_without_a_word(self):
        script = (
            "import os, signal, time\n"
            "from judge.grade import workers\n"
            "os.setpgrp()\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "try:\n"
            "    with workers(2) as pool:\n"
            "        list(pool.map(abs, [1, 2]))\n"  # both have begun
            "        pool.submit(time.sleep, 1000)\n"
            "        os.killpg(0, signal.SIGINT)\n"
            "        time.sleep(1000)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n"
        )
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(("interrupted\n", ""), (done.stdout, done.stderr))

    def test_changed_points_are_listed_with_what_changed_them(self):
        root, (first, second) = self.place()
        self.hand_in(root, "anna", e04_1="a", e04_2="a")
        self.hand_in(root, "bert", e04_1="b", e04_2="b")
        self.graded(root / "in", grade.Marks(root / "out"), [first, second])
        self.assertFalse((root / "out/changes.csv").exists())
        self.hand_in(root, "anna", e04_1="longer")  # of the student
        file = second.folder / "exercise.json"
        file.write_bytes(file.read_bytes() + b"\n")  # of the instructor
        more = tuple(dataclasses.replace(c, points=c.points + 1) for c in second.criteria)
        marks = grade.Marks(root / "out")
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
        self.graded(root / "in", grade.Marks(root / "out"), [first])  # 04.2 is kept, although nobody asks for it
        rows = list(csv.DictReader((root / "out/changes.csv").read_text().splitlines()))
        self.assertEqual(["04.1", "04.1", "04.2", "04.2"], sorted(r["exercise"] for r in rows))
        self.assertEqual(("bert", "1", "3"), (rows[-1]["student"], rows[-1]["points before"], rows[-1]["points"]))
        self.assertEqual({"04.1", "04.2"}, grade.Marks(root / "out").kept("bert").keys())

    def test_students_see_why_when_it_is_released_and_nothing_is_judged_for_that(self):
        root, exercises = self.place()
        self.hand_in(root, "anna", e04_1="a", e04_2="a")
        day = datetime.timedelta(days=1)
        now = datetime.datetime.now().astimezone()
        for release, released in ((now + day, False), (now - day, True), (None, True)):
            marks = grade.Marks(root / "out", release)
            self.assertEqual(2 * (release == now + day), sum(len(n) for _, n in self.graded(root / "in", marks, exercises)))
            with contextlib.redirect_stdout(io.StringIO()):
                marks.summarize()
            for file in ("anna/results.json", "anna/feedback.txt"):
                self.assertEqual(released, "SECRET" in (root / "out" / file).read_text(), file)
            self.assertIn("SECRET", (root / "out/class.csv").read_text())

    def test_a_case_is_shown_in_full_unless_it_is_large(self):
        def shown(rows):
            tensor = Value("T", (rows, 2), array("d", range(2 * rows)))
            case = Case("large", "twice", "x [.., 2]", 0.0, [tensor], [tensor], ["x", "y"], {}, [])
            fault = grade.Fault("wrong", "y[1, 0] is 9, expected 2", case=case, got=(tensor,))
            return appeal.case(Judged("large", 5, 1, fault))

        whole = "tensor [2, 2]\n    [0] 0  1\n    [1] 2  3\n"
        self.assertIn(f"  x: {whole}  expected y: {whole}  got y: {whole}  y[1, 0] is 9, expected 2", shown(2))
        self.assertIn("  x: tensor [50, 2]\n  expected y: tensor [50, 2]\n  got y: tensor [50, 2]\n  y[1, 0] is 9", shown(50))

    def test_what_is_written_has_no_colors(self):
        verdict = report.to_dict(grade.Verdict(TARGET, grade.refused(TARGET, grade.Fault("wrong", "x")).criteria))
        with unittest.mock.patch.object(report, "colored", lambda: True), tempfile.TemporaryDirectory() as out:
            grade.Marks(Path(out)).keep(submissions.Submission("anna"), {"04.2": verdict})
            for file in Path(out).rglob("*.*"):
                self.assertNotRegex(file.read_text(), r"\x1b|\\u001b", file.name)


@unittest.skipIf(sandbox.why_unavailable(), sandbox.why_unavailable())
class Class(unittest.TestCase):
    def test_a_class_is_graded_resumed_and_left_alone_by_one_bad_submission(self):
        with tempfile.TemporaryDirectory() as name:
            folder, out = Path(name) / "submissions", Path(name) / "out"
            folder.mkdir()
            answers = {
                "anna": TARGET.solution(),
                "bert": TARGET.stub(),
                "cleo": TARGET.mutated(TARGET.mutants[0]),
                "dora": "this is not C++",
                "eve": (ROOT / "judge" / "attacks" / "fork_bomb.cpp").read_text(),
            }
            for student, answer in answers.items():
                (folder / student).mkdir()
                (folder / student / NAME).write_text(answer)
            (folder / "finn").mkdir()
            (folder / "gina.zip").write_text("no zip")
            command = [sys.executable, "-m", "judge", "grade", "04.2", "--submissions", folder, "--out", out]
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(0, run.returncode, run.stderr)
            with (out / "class.csv").open() as file:
                rows = {r["student"]: r for r in csv.DictReader(file)}
            points = {s: int(r["points"]) for s, r in rows.items()}
            self.assertEqual({"anna": 10, "bert": 0, "cleo": 0, "dora": 0, "eve": 0, "finn": 0, "gina": 0}, points)
            reasons = {s: r["reason"] for s, r in rows.items() if s != "eve"}
            self.assertEqual(
                {"anna": "ok", "bert": "missing", "cleo": "wrong", "dora": "compile", "finn": "missing", "gina": "missing"}, reasons
            )
            self.assertIn("not a zip", rows["gina"]["note"])
            results = json.loads((out / "anna" / "results.json").read_text())
            self.assertEqual(10, results["score"])
            self.assertEqual({"passed"}, {t["status"] for t in results["tests"]})
            self.assertIn('failures="1"', (out / "junit.xml").read_text())
            sheet = Path(name) / "sheet.csv"
            sheet.write_text("Identifier,Full name,Grade,Maximum Grade\nParticipant 5,cleo,,20.00\nParticipant 6,anna,,20.00\n")
            for options, released in (
                (["--release", "2999-01-01"], False),
                ([], False),  # the date is kept
                (["--release", "1999-01-01", "--moodle", sheet], True),
            ):
                again = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)
                self.assertIn("7 of 7 submissions have already been graded", again.stderr)
                for file in ("results.json", "feedback.txt"):
                    self.assertEqual(released, "expected" in (out / "cleo" / file).read_text(), options)
            filled = list(csv.DictReader((out / "moodle.csv").read_text().splitlines()))
            self.assertEqual(["0.00", "20.00"], [r["Grade"] for r in filled])
            with zipfile.ZipFile(out / "moodle_feedback.zip") as archive:
                self.assertIn(b"expected", archive.read("cleo_5_assignsubmission_file_/feedback.txt"))
            appeal = subprocess.run([*command, "--appeal", "cleo"], cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertRegex(appeal.stdout, r"(?s)04\.2 .*: 0 of 10 points.*: a case of softmax_backward.*expected dz: tensor.*got dz: tensor.*In the marks: 0 of 10")
            nobody = subprocess.run([*command, "--appeal", "hugo"], cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual((2, "book: no submission is hugo's; there are anna, bert, cleo, dora, eve, finn, gina\n"), (nobody.returncode, nobody.stderr))

    @unittest.skipIf(os.geteuid() != 0, "only root has answers compiled by another user")
    def test_a_private_clone_and_a_umask_of_077(self):
        mode = compile.INCLUDE.stat().st_mode
        compile.INCLUDE.chmod(0o700)
        self.addCleanup(compile.INCLUDE.chmod, mode & 0o777)
        with tempfile.TemporaryDirectory() as name:
            folder, out = Path(name) / "submissions", Path(name) / "out"
            (folder / "anna").mkdir(parents=True)
            (folder / "anna" / NAME).write_text(TARGET.solution())
            command = [sys.executable, "-m", "judge", "grade", "04.2", "--submissions", folder, "--out", out]
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, umask=0o077)
            self.assertIn("anna: 10 of 10", run.stderr)

    @unittest.skipIf(os.geteuid() != 0, "only root has answers compiled by another user")
    def test_a_private_folder_for_temporary_files(self):
        with tempfile.TemporaryDirectory() as name:
            environment = {**os.environ, "TMPDIR": name}
            command = [sys.executable, "-m", "judge", "grade", "04.2", "--submissions", name, "--out", name]
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
            self.assertEqual(4, run.returncode)
            self.assertIn("is closed to other users", run.stderr)

    @unittest.skipUnless(PRIVATE_MOUNTS, "only root may mount here")
    def test_a_folder_where_nothing_runs_is_refused_before_anybody_is_judged(self):
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o755)  # other users may enter
            folder, out, temporary = (Path(name) / n for n in ("submissions", "out", "tmp"))
            (folder / "anna").mkdir(parents=True)
            temporary.mkdir()
            (folder / "anna" / NAME).write_text(TARGET.solution())
            for options, verb in (
                (["grade", "04.2", "--submissions", folder, "--out", out], 3),
                (["grade", "04.2", "--submissions", folder, "--out", out, "--unsafe-no-sandbox"], 3),
                (["check", "04.2", "--answers", folder / "anna"], 2),
                (["gate", "04.2"], 2),
            ):
                mount = f"mount -t tmpfs -o noexec,mode=1777 none {temporary} && exec \"$@\""
                command = ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-m", "judge", *options]
                environment = {**os.environ, "TMPDIR": str(temporary)}
                run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
                self.assertEqual((verb, ""), (run.returncode, run.stdout), options[0])
                self.assertRegex(run.stderr, f"(?m)^book: (.*: )?{temporary}, where answers are compiled, is mounted noexec")
                self.assertFalse(out.exists())

    def test_nothing_is_left_of_what_ran(self):
        before = {p.name for p in Path("/tmp").iterdir()}
        limits = sandbox.Limits(3, memory=256 << 20)
        script = "for i in 1 2 3; do (setsid sleep 1000 &) ; done; echo x > /tmp/left; echo y > /dev/shm/left; exit 0"
        script = script.replace("1000", f"1000.{os.getpid()}")
        outcome = sandbox.run(["/bin/sh", "-c", script], {}, limits, tight=True)
        self.assertEqual("ok", outcome.reason)
        for _ in range(600):  # the kernel takes its time on a busy machine
            running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
            if f"sleep 1000.{os.getpid()}" not in running:
                break
            time.sleep(0.1)
        self.assertNotIn(f"sleep 1000.{os.getpid()}", running)
        self.assertFalse(Path("/dev/shm/left").exists())
        new = {p.name for p in Path("/tmp").iterdir()} - before
        self.assertNotIn("left", new)

    def test_the_sandbox_shows_nothing(self):
        limits = sandbox.Limits(5)
        script = "ls / /home /root /etc /work 2>&1; env; cat /proc/1/environ 2>&1 | tr '\\0' '\\n'; id -u; cat /proc/net/dev"
        os.environ["SECRET"] = "of the grader"
        self.addCleanup(os.environ.pop, "SECRET")
        printed = sandbox.run(["/bin/sh", "-c", script], {}, limits, tight=True).printed
        self.assertNotIn("of the grader", printed)
        self.assertNotIn("shadow", printed)
        self.assertNotIn("eth", printed)
        listing = printed.split("ls: ")[0].split()
        self.assertLessEqual(set(listing) - {"/:", "/etc:", "/home:", "/root:", "/work:"}, {"bin", "dev", "lib", "lib64", "proc", "tmp", "usr"})


@nightly
class Busy(unittest.TestCase):
    def test_right_answers_keep_their_points_beside_other_work(self):
        tight = not sandbox.why_unavailable()
        chosen = [e for e in load_all() if e.number in ("00.6", "04.2", "11.2")]  # one of them a speed, one on the emulated device
        compile.prepare(chosen, tight=tight)
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
        try:
            for e in chosen:
                with self.subTest(e.number), tempfile.TemporaryDirectory() as name:
                    Path(name).chmod(0o755)
                    answer = Path(name) / e.file_name
                    answer.write_text(e.solution())
                    answer.chmod(0o644)
                    verdict = check.judge_answer(e, answer, tight=tight)
                    self.assertEqual(e.points, verdict.points, to_text(verdict))
        finally:
            for other in others:
                other.kill()
                other.wait()


if __name__ == "__main__":
    unittest.main()
