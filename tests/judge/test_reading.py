"""What is handed in is read as data: nothing of it is followed, unpacked or believed."""

import errno
import os
import shutil
import sys
import unittest
import unittest.mock
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.course import reading, submissions
from tests.judge.handed_in import NAME, TARGET, HandedIn, zipped


class Reading(HandedIn):
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

        with unittest.mock.patch.object(reading.os, "scandir", closed):
            anna, bert = submissions.collect(self.folder, [NAME])
        self.assertEqual(({}, ["the submission cannot be read: Permission denied"]), (anna.answers, anna.notes))
        self.assertEqual(({NAME: b"bert"}, ["answers cannot be read: Permission denied"]), (bert.answers, bert.notes))

    def test_a_machine_that_opens_no_more_files_is_not_the_students_fault(self):
        (self.folder / "anna").mkdir()
        (self.folder / "anna" / NAME).write_text("a")
        for place in ("open", "scandir"):
            with unittest.mock.patch.object(reading.os, place, side_effect=OSError(errno.EMFILE, "Too many open files")):
                self.assertRaises(OSError, self.only)

    def test_folders_in_folders_without_end(self):
        def nested(depth):
            return "d/" * depth + NAME

        for depth, noted in ((reading.DEEPEST, []), (reading.DEEPEST + 1, [reading.TOO_DEEP])):
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

    def test_a_member_of_the_platforms_zip_that_cannot_be_read_is_one_students(self):
        with zipfile.ZipFile(self.folder / "all.zip", "w") as archive:
            for student in ("anna", "bert"):
                archive.writestr(f"{student}/{NAME}", student)
        raw = (self.folder / "all.zip").read_bytes()
        (self.folder / "all.zip").write_bytes(raw.replace(b"bert", b"bart", 2).replace(b"bart/", b"bert/", 1))
        anna, bert = submissions.collect(self.folder / "all.zip", [NAME])
        self.assertEqual({NAME: b"anna"}, anna.answers)
        self.assertEqual(({}, "cannot be read: Bad CRC"), (bert.answers, bert.refused[NAME][:23]))

    def test_a_zip_with_ten_thousand_faults_has_a_few_notes(self):
        zipped(self.folder / "anna.zip", {f"../{i}": "" for i in range(10_000)})
        self.assertEqual((submissions.MOST_NOTES, "and more"), (len(self.only().notes), self.only().notes[-1]))


if __name__ == "__main__":
    unittest.main()
