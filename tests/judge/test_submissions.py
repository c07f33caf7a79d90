"""Whose a submission is, and which of its files are answers, however they are packed. All is read as data: no link is followed, and
nothing is unpacked or believed."""

import contextlib
import io
import os
import unittest
import unittest.mock
import zipfile

from judge.answer.written import student_in
from judge.course import submissions
from judge.course.roster import Person, Roster
from tests.judge.handed_in import NAME, TARGET, HandedIn, in_a_tar, in_a_zip, zipped


class Students(HandedIn):
    def found(self, place=None, wanted=(NAME,)):
        """What is found, by student."""
        return {s.student: s for s in submissions.collect(place or self.folder, list(wanted))}

    def put(self, path, content="a"):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())

    def test_folders_zips_and_clones_beside_a_table_of_scores(self):
        self.put(f"anna/pack/answers/{NAME}", "a")
        self.put(f"anna/.git/{NAME}", "older")
        zipped(self.folder / "bert.zip", {f"pack\\answers\\{NAME}": "b", "holiday.jpg": "c"})
        zipped(self.folder / "Cleo.ZIP", {f"__MACOSX/{NAME}": "x", f"my answers/{NAME}": "c"})
        (self.folder / "dora").mkdir()
        for name in (".DS_Store", "__MACOSX/x", "Thumbs.db", "scores.csv"):
            self.put(name)
        (self.folder / "emil").symlink_to(TARGET.folder)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = self.found()
        self.assertEqual({"anna": b"a", "bert": b"b", "Cleo": b"c", "dora": None}, {s: f.answers.get(NAME) for s, f in found.items()})
        self.assertEqual([], [f.notes for f in found.values() if f.notes])
        neither = "is neither a folder nor a zip, so it is nobody's submission"
        self.assertEqual(f"book: emil {neither}\nbook: scores.csv {neither}\n", said.getvalue())

    def test_moodle_exports_folders_or_files(self):
        exported = {
            "Anna Li_101_assignsubmission_file": f"answers/{NAME}",  # Moodle 4.1 and later
            "Anna Li_102_assignsubmission_file_": NAME,  # before
            "Bert O'Neil_103_assignsubmission_file_" + NAME: "",  # not in folders
            "Participant_104_assignsubmission_file": "answers.zip",  # anonymous
        }
        for place, name in exported.items():
            self.put(f"{place}/{name}" if name else place, in_a_zip({NAME: place}) if name == "answers.zip" else place)
        self.put("Anna Li_101_assignsubmission_onlinetext/onlinetext.html")
        self.put("Anna Li_102_assignsubmission_file_/student.txt", "Anna Li")
        everything = self.folder.parent / "all.zip"
        zipped(everything, {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()})
        students = ["Anna Li_101", "Anna Li_102", "Bert O'Neil_103", "Participant_104"]
        for place in (self.folder, everything):
            found = self.found(place, [NAME, "student.txt"])
            self.assertEqual(dict(zip(students, exported)), {s: f.answers[NAME].decode() for s, f in found.items()})
            self.assertEqual({}, {s: f.notes for s, f in found.items() if f.notes})
            self.assertEqual("Anna Li", found["Anna Li_101"].known)
        namesakes = Roster((Person("Anna Li", "a@uni.example"), Person("Anna Li", "b@uni.example", turn=1)))
        submissions_of = submissions.collect(everything, [NAME], namesakes, {"101": "b@uni.example", "102": "a@uni.example"})
        self.assertEqual({"Anna Li_101": 1, "Anna Li_102": 0}, {s.student: s.person.turn for s in submissions_of if s.person})

    def test_what_one_student_has_packed_concerns_nobody_else(self):
        """In a learning platform's zip, where no name is a file's of this machine."""
        anna, bert = (f"{name}_{i}_assignsubmission_file_/" for i, name in enumerate(("Anna", "Bert")))
        for added, noted in (
            ({bert + "\u53cd\u5411" * 44 + ".txt": ""}, []),  # 268 bytes
            ({bert + "notes": "", bert + "notes/more.txt": ""}, []),
            ({bert + "d/" * 2100 + "x.txt": ""}, []),
            ({bert + "../" + anna + NAME: "not Anna's"}, [f"{NAME} was taken from {NAME}, one of 2 files with this name"]),
            ({bert + "a.zip": "no zip"}, ["a.zip cannot be read as a zip: File is not a zip file"]),
            ({bert + "a.zip": in_a_zip({"b.zip": in_a_zip({"x": ""})[:-9]})}, ["a.zip/b.zip cannot be read as a zip: File is not a zip file"]),
            ({"../x": "", "..": ""}, []),
        ):
            with self.subTest(added=[name[-60:] for name in added]), contextlib.redirect_stderr(io.StringIO()):
                zipped(self.folder / "all.zip", {anna + NAME: "a", **added, bert + NAME: "b"})
                found = self.found(self.folder / "all.zip")
                self.assertEqual({"Anna_0": b"a", "Bert_1": b"b"}, {s: f.answers.get(NAME) for s, f in found.items()})
                self.assertEqual({"Anna_0": [], "Bert_1": noted}, {s: f.notes for s, f in found.items()})

    def test_folders_that_are_too_deep_concern_nobody_else(self):
        self.put(f"anna/{NAME}")
        self.put("bert/" + "d/" * 150 + NAME)
        found = self.found()
        self.assertEqual({"anna": b"a", "bert": None}, {s: f.answers.get(NAME) for s, f in found.items()})
        self.assertRegex(found["bert"].notes[0], "is in more than 100 folders, so it was not looked into")

    def test_a_name_is_one_student_however_it_is_written(self):
        for name in ("Andr\u00e9 Li", "Andre\u0301 Li", "Andr\u00e9  Li "):
            self.put(f"{name}/{NAME}", name)
            os.utime(self.folder / name / NAME, (1, 1))
            os.utime(self.folder / name, (1, 1))
        zipped(self.folder / "Andre\u0301 Li.zip", {NAME: "newest"})
        submission = self.only()
        self.assertEqual(("Andr\u00e9 Li", {NAME: b"newest"}), (submission.student, submission.answers))
        self.assertIn("4 submissions; the newest, ", submission.notes[0])
        for content in ("\ufeffAndre\u0301\tLi\r\n", " Andr\u00e9 Li"):
            self.assertEqual(submission.student, student_in(content.encode()))
        self.assertEqual("", student_in("Andr\u00e9 Li".encode("utf-16")))

    def test_a_name_that_is_not_utf8(self):
        folder = os.fsencode(self.folder) + b"/an\xffna"
        os.mkdir(folder)
        with open(folder + b"/" + NAME.encode(), "wb") as file:
            file.write(b"a")
        self.assertEqual({NAME: b"a"}, self.only().answers)
        self.only().student.encode()  # can be written

    def collected(self, files):
        """The same from a folder and from a zip, if they agree."""
        for path, content in files.items():
            self.put(f"anna/{path}", content)
        zipped(self.folder / "bert.zip", files)
        anna, bert = submissions.collect(self.folder, [NAME])
        self.assertEqual((anna.answers, anna.refused), (bert.answers, bert.refused))
        self.assertEqual(anna.notes, [note.replace("bert.zip/", "") for note in bert.notes])
        for path in (self.folder / "anna").rglob("*.*"):
            path.unlink()
        return anna.answers.get(NAME), anna.notes

    def test_answers_come_first_then_the_nearest(self):
        for first, second in (
            (f"answers/{NAME}", f"Copy/{NAME}"),
            (f"a/b/Answers/{NAME}", f"a/{NAME}"),
            (f"answers/{NAME}", NAME),
            (f"b/{NAME}", f"a/c/{NAME}"),
            (f"a/{NAME}", f"b/{NAME}"),
        ):
            with self.subTest(first=first, second=second):
                answer, notes = self.collected({second: b"second", first: b"first"})
                self.assertEqual((b"first", [f"{NAME} was taken from {first}, one of 2 files with this name"]), (answer, notes))
        answer, notes = self.collected({f"answers/{NAME}": bytes(300_000), NAME: b"the one that can be read"})
        self.assertEqual(b"the one that can be read", answer)
        self.assertEqual((b"a", [f"{NAME} was taken from {NAME.upper()}"]), self.collected({NAME.upper(): b"a"}))

    def test_a_zip_counts_as_a_folder(self):
        whole = {"answers.zip": in_a_zip({NAME: "a"}), f"Copy/{NAME}": b"older"}
        self.assertEqual(b"a", self.collected(whole)[0])
        self.assertEqual((b"a", []), self.collected({"outer.zip": in_a_zip({"inner.zip": in_a_zip({f"answers/{NAME}": "a"})})}))

    def test_what_is_passed_over_is_named(self):
        for files, said in (
            ({"answers.7z": b"a"}, "answers.7z was not opened: hand in a folder or a zip"),
            ({"no.zip": b"a"}, "no.zip cannot be read as a zip"),
            ({"no.tgz": b"a"}, "no.tgz cannot be read as a tar"),
            ({"answers.zip": in_a_zip({})}, "answers.zip is empty"),
            ({"homework.cpp": b"a", "hunt/sources/a.cpp": b"of the pack"}, "because of the name: homework.cpp$"),
        ):
            with self.subTest(said):
                answer, notes = self.collected(files)
                self.assertIsNone(answer)
                self.assertRegex(notes[0], said)

    def test_what_browsers_and_systems_make_of_a_name_is_the_name(self):
        stem = NAME.removesuffix(".cpp")
        for name in (f"{stem} (1).cpp", f"{stem}(2).cpp", f"{NAME}.txt", f"{stem} - Copy.cpp", f"{stem}-1.cpp", f"{NAME} (1).txt"):
            with self.subTest(name):
                self.assertEqual((b"a", [f"{NAME} was taken from {name}"]), self.collected({name: b"a"}))
        answer, notes = self.collected({f"{stem} (1).cpp": b"second", NAME: b"first"})
        self.assertEqual((b"first", [f"{NAME} was taken from {NAME}, one of 2 files with this name"]), (answer, notes))

    def test_a_stub_that_nothing_was_written_into_comes_last(self):
        stem = NAME.removesuffix(".cpp")
        self.put(f"anna/answers/{NAME}", b"// write\r\nhere\n")
        self.put(f"anna/answers/{stem} (1).cpp", b"written")
        self.put(f"bert/{NAME}", b"// write here")
        anna, bert = submissions.collect(self.folder, [NAME], stubs={NAME: "// write\nhere\n"})
        self.assertEqual((b"written", b"// write here"), (anna.answers[NAME], bert.answers[NAME]))
        self.put(f"anna/{NAME}.txt", b"written otherwise")
        again, _ = submissions.collect(self.folder, [NAME], stubs={NAME: "// write\nhere\n"})
        self.assertEqual([[], [f"{NAME} is one of several that differ"]], [anna.flags, again.flags])

    def test_a_tar_counts_as_a_folder(self):
        packed = in_a_tar({f"./pack/answers/{NAME}": b"a", "pack/link": None, f"pack/old/{NAME}": b"b"})
        self.assertEqual(b"a", self.collected({"answers.tar.gz": packed})[0])
        self.put("cleo.tgz", in_a_tar({NAME: b"c"}))
        os.utime(self.folder / "cleo.tgz", (5, 5))
        self.assertEqual((b"c", 5), (self.found()["cleo"].answers[NAME], self.found()["cleo"].handed_in))

    def test_utf16_is_read(self):
        for content in ("// \u00e9\nint a;\n".encode("utf-16"), "// \u00e9\nint a;\n".encode("utf-16-be")):
            self.assertEqual("// \u00e9\nint a;\n", self.collected({NAME: content})[0].decode())
        self.assertEqual(b"\0int a;", self.collected({NAME: b"\0int a;"})[0])

    def test_one_folder_around_the_class(self):
        students = {"anna/" + NAME: b"a", "bert/answers/" + NAME: b"b", "cleo.zip": in_a_zip({NAME: "c"})}
        moodle = {f"{name}_1_assignsubmission_file/{NAME}": b"m" for name in ("Anna Li", "Bert Ott")}
        metadata = "".join(
            f"submission_{i}:\n  :submitters:\n  - :name: {name}\n    :sid: '7'\n    :email: {email}\n"
            f"  :created_at: 2026-11-27 10:00:00 Z\n  :history:\n  - :id: 1\n    :submitters:\n    - :name: Nobody\n"
            for i, name, email in ((1, "Anna Li", "anna@uni.example"), (2, '"Bert O\'Neil"', ""))
        )
        gradescope = {"submission_metadata.yml": metadata, "submission_1/" + NAME: b"g", "submission_2/" + NAME: b"h", "submission_3/x": b""}
        alone = {f"answers/{NAME}": b"a", f"answers-old/{NAME}": b"b"}
        for files, found in (
            (students, {"anna": b"a", "bert": b"b", "cleo": b"c"}),
            (moodle, {"Anna Li_1": b"m", "Bert Ott_1": b"m"}),
            (gradescope, {"anna@uni.example": b"g", "Bert O'Neil": b"h", "submission_3": None}),
            (alone, {"DLCPP-Week 1-8123": b"a"}),
        ):
            everything = self.folder.parent / "all.zip"
            zipped(everything, {f"DLCPP-Week 1-8123/{name}": content for name, content in files.items()})
            self.assertEqual(found, {s: f.answers.get(NAME) for s, f in self.found(everything).items()})
        zipped(everything, {f"emil/{name}": content for name, content in students.items()})
        for login, count in (("emil", 1), ("hugo", 3)):
            self.assertEqual(count, len(submissions.collect(everything, [NAME], Roster((Person("", login=login),)))))

    def test_a_student_in_a_folder_does_not_become_a_class(self):
        """As Gradescope's autograder grades one: what is handed in does not say whose it is."""
        for files in (("first", "second"), ("submission_1",), ("Anna Li_1_assignsubmission_file",)):
            for folder in files:
                self.put(f"{files[0]}/emil/{folder}/{NAME}")
            self.put(f"{files[0]}/emil/submission_metadata.yml", "submission_1:\n  :submitters:\n  - :name: Anna\n")
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual(["emil"], list(self.found(self.folder / files[0])))
            self.assertIn(f"if emil is no student but holds the class, grade {self.folder / files[0]}/emil\n", said.getvalue())


class Hostile(HandedIn):
    def refused(self, said):
        submission = self.only()
        self.assertEqual({}, submission.answers)
        self.assertIn(said, " ".join([*submission.refused.values(), *submission.notes]))

    def test_links_and_pipes_are_not_followed(self):
        (self.folder / "anna").mkdir()
        answer = self.folder / "anna" / NAME
        for make, said in (
            (lambda: answer.symlink_to(TARGET.source), "is a link"),
            (lambda: os.mkfifo(answer), "is not a file"),
            (lambda: (self.folder / "anna" / "answers").symlink_to(TARGET.folder), "because of the name: answers"),
        ):
            make()
            self.refused(said)
            answer.unlink(missing_ok=True)

    def test_a_link_in_a_zip(self):
        about = zipfile.ZipInfo(NAME)
        about.external_attr = 0o120777 << 16
        with zipfile.ZipFile(self.folder / "anna.zip", "w") as archive:
            archive.writestr(about, str(TARGET.source))
        self.refused("link")

    def test_a_zip_that_is_damaged_or_asks_for_a_password(self):
        path = self.folder / "anna.zip"
        zipped(path, {NAME: "a" * 1000})
        whole = path.read_bytes()
        locked, damaged = bytearray(whole), bytearray(whole)
        for at in (6, whole.rindex(b"PK\1\2") + 8):
            locked[at] |= 1
        damaged[200] ^= 0x55
        for raw, said in ((locked, "password"), (damaged, "cannot be read: Bad CRC"), (whole[:500], "cannot be read as a zip"), (b"", "cannot be read as a zip")):
            with self.subTest(said):
                path.write_bytes(raw)
                self.refused(said)

    def test_a_compression_that_could_fill_the_memory(self):
        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            with zipfile.ZipFile(self.folder / "anna.zip", "w", method) as archive:
                archive.writestr(NAME, "a")
            with unittest.mock.patch.object(zipfile.ZipFile, "open", side_effect=AssertionError):
                self.refused("compression is not the usual one")

    def test_a_tar_that_is_damaged_or_grows_beyond_the_limit(self):
        whole = in_a_tar({NAME: bytes(1 << 20)})
        path = self.folder / "anna.tar.gz"
        for content, most, said in ((whole[:-40], 2 << 20, "ends too early"), (whole, 1 << 20, "which is the limit"), (in_a_tar({NAME: None}), 2 << 20, "is a link"),
                                    (whole, 2 << 20, f"the limit is {submissions.LARGEST_ANSWER}")):  # fmt: skip
            path.write_bytes(content)
            with self.subTest(said), unittest.mock.patch.object(submissions, "LARGEST_ZIP", most):
                self.refused(said)

    def test_what_is_too_large_is_not_read(self):
        with zipfile.ZipFile(self.folder / "anna.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(NAME, bytes(50 << 20))
        self.refused(f"has {50 << 20} bytes, but the limit is {submissions.LARGEST_ANSWER}")
        with (self.folder / "anna.zip").open("wb") as file:
            file.truncate(10 << 30)  # sparse
        self.refused("has 10737418240 bytes")

    def test_zips_in_zips_are_read_up_to_a_size(self):
        zipped(self.folder / "anna.zip", {f"{i}.zip": in_a_zip({f"a{i}": "x" * 400}) for i in range(3)})
        with unittest.mock.patch.object(submissions, "LARGEST_ZIP", 2700):
            self.refused("2.zip has ")

    def test_a_zip_with_a_hundred_faults_has_a_few_notes(self):
        zipped(self.folder / "anna.zip", {f"{i}.zip": "" for i in range(100)})
        self.assertEqual((submissions.MOST_NOTES, "and more"), (len(self.only().notes), self.only().notes[-1]))
