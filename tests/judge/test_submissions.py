"""Whose a submission is, and which of its files are answers, however they are packed."""

import contextlib
import io
import os
import pickle
import sys
import tempfile
import unittest
import unittest.mock
import warnings
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.answer.student import student_in
from judge.course import reading, submissions
from tests.judge.handed_in import NAME, HandedIn, in_a_zip, zipped


class Collecting(HandedIn):
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
            self.assertEqual("anna", student_in(content))

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
            ({bert + "d/" * 2100 + "x.txt": ""}, [reading.TOO_DEEP]),
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

    def test_zips_in_the_platforms_zip(self):
        zipped(self.folder / "all.zip", {"anna.zip": in_a_zip({f"answers/{NAME}": "a"}), "bert": in_a_zip({NAME: "b"}), "cleo/": "", "scores.csv": ""})
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = {s.student: s.answers for s in submissions.collect(self.folder / "all.zip", [NAME])}
        self.assertEqual({"anna": {NAME: b"a"}, "bert": {NAME: b"b"}, "cleo": {}}, found)
        self.assertEqual("book: scores.csv is neither a folder nor a zip, so it is nobody's submission\n", said.getvalue())

    def test_a_name_that_is_not_utf8(self):
        folder = os.fsencode(self.folder) + b"/an\xffna"
        os.mkdir(folder)
        with open(folder + b"/" + NAME.encode(), "wb") as file:
            file.write(b"a")
        submission = self.only()
        self.assertEqual({NAME: b"a"}, submission.answers)
        submission.student.encode()  # can be written

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
        self.assertEqual(submission.student, student_in("\ufeffAndre\u0301\tLi\r\n".encode()))

    def test_names_that_differ_by_capitals_are_two_students_and_noted(self):
        for name in ("Anna@uni.edu", "anna@uni.edu"):
            (self.folder / name).mkdir()
        found = {s.student: s.notes for s in submissions.collect(self.folder, [NAME])}
        self.assertEqual({"Anna@uni.edu", "anna@uni.edu"}, found.keys())
        self.assertEqual(["anna@uni.edu also handed in: is that the same student?"], found["Anna@uni.edu"])


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
        with unittest.mock.patch.object(reading, "MOST_FILES", 3):
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


if __name__ == "__main__":
    unittest.main()
