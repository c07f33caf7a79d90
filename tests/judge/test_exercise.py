"""A broken folder keeps nobody from the other exercises, and an exercise shows that it catches wrong answers."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import gate
from judge.answer.exercise import COMPUTED, Mistaken, load_all, shelf
from judge.answer.libraries import base, libraries, members
from judge.answer.report import section
from judge.answer.setting import BUILD, Failed, setting

SOUND = "chapters/04_scaled_dot_product_attention/exercises/2_softmax_backward"


class Folders(unittest.TestCase):
    """A book with two exercises that are as they should be, beside which each test puts another."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.place = (self.root / SOUND).parent
        for name in ("2_softmax_backward", "4_gradient_of_a_temperature"):
            shutil.copytree(ROOT / Path(SOUND).parent / name, self.place / name)
            self.manifest(self.place / name, needs=[])  # the book has what they need, and this folder has not

    def broken(self, name="3_another"):
        shutil.copytree(self.root / SOUND, self.place / name)
        return self.place / name

    def refused(self, *parts):
        found = shelf(self.root)
        self.assertEqual(["04.2", "04.4"], [e.number for e in found.exercises])
        (why,) = found.broken.values()
        for part in parts:
            self.assertIn(part, why)
        with self.assertRaisesRegex(Mistaken, "04."):
            load_all(self.root)
        return found

    def manifest(self, folder, **changed):
        file = folder / "exercise.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))

    def test_a_manifest_that_is_no_json(self):
        (self.broken() / "exercise.json").write_text("{")
        self.refused("04.3: exercise.json: JSONDecodeError")

    def test_a_manifest_that_is_not_utf8(self):
        (self.broken() / "exercise.json").write_bytes(b'{"title": "\xff"}')
        self.refused("04.3: exercise.json")

    def test_a_manifest_that_is_a_list(self):
        (self.broken() / "exercise.json").write_text("[]")
        self.refused("04.3: exercise.json")

    def test_no_manifest(self):
        (self.broken() / "exercise.json").unlink()
        self.refused("04.3: exercise.json", "No such file")

    def test_points_that_are_a_word(self):
        self.manifest(self.broken(), criteria=[{"name": "a", "points": "many"}])
        self.refused("04.3: exercise.json")

    def test_a_field_that_nobody_knows(self):
        self.manifest(self.broken(), color="blue")
        self.refused("04.3: exercise.json", "color")

    def test_nothing_is_said_of_what_it_trains(self):
        file = self.broken() / "exercise.json"
        whole = json.loads(file.read_text())
        for trains in ({}, {"trains": " "}):
            file.write_text(json.dumps({k: v for k, v in whole.items() if k != "trains"} | trains))
            self.refused("04.3: trains is missing: the skill, in one phrase")

    def test_needs_that_are_no_numbers_or_its_own(self):
        folder = self.broken()
        for needs in (["4.2"], ["04"], ["04.0"], ["the softmax"], [4.2], "04.2"):
            self.manifest(folder, needs=needs)
            self.refused("04.3: needs is a list of numbers like 04.1")
        self.manifest(folder, needs=["04.2", "04.3"])
        self.refused("04.3: needs names the exercise itself")

    def test_needs_that_nobody_knows(self):
        folder = self.broken()
        self.manifest(folder, needs=["04.2", "04.8", "00.2"])
        self.refused("04.3: needs 04.8, 00.2, but there is no such exercise")
        self.manifest(folder, needs=["04.2", "04.4"])
        self.assertEqual(["04.2", "04.3", "04.4"], [e.number for e in load_all(self.root)])

    def test_needs_that_run_in_a_circle(self):
        for name, needs in (("3_another", "04.5"), ("5_another", "04.6"), ("6_another", "04.3"), ("7_another", "04.3")):
            self.manifest(self.broken(name), needs=["04.2", needs])
        found = shelf(self.root)
        self.assertEqual(["04.2", "04.4", "04.7"], [e.number for e in found.exercises])
        self.assertEqual(
            [
                "04.3: needs itself: 04.3 needs 04.5 needs 04.6 needs 04.3",
                "04.5: needs itself: 04.5 needs 04.6 needs 04.3 needs 04.5",
                "04.6: needs itself: 04.6 needs 04.3 needs 04.5 needs 04.6",
            ],
            list(found.broken.values()),
        )

    def test_an_exercise_is_not_refused_because_one_that_it_needs_is_broken(self):
        file = self.broken() / "answer.cpp"
        file.write_text(file.read_text().replace("// stub", ""))
        self.manifest(self.place / "4_gradient_of_a_temperature", needs=["04.3"])
        self.refused("answer.cpp", "// end after // solution")

    def test_a_command_that_runs_another_exercise_or_nothing(self):
        command = "./book run 10 --mine 04.2"
        self.manifest(self.broken(), takes_part=command, mine=["softmax"])
        self.refused("takes_part is not ./book run NN --mine 04.3")
        self.manifest(self.place / "3_another", takes_part=command.replace("04.2", "04.3"), mine=[])
        self.refused("takes_part names a command, but mine names no operation")

    def test_a_missing_file(self):
        (self.broken() / "cases.cpp").unlink()
        self.refused("04.3: cases.cpp is missing")

    def test_markers_that_do_not_fit(self):
        file = self.broken() / "answer.cpp"
        file.write_text(file.read_text().replace("// stub", ""))
        self.refused("answer.cpp", "// end after // solution")

    def test_a_folder_without_a_number(self):
        self.broken("another")
        self.refused("expected a name like NUMBER_TITLE for an exercise's folder")

    def test_two_folders_with_one_number(self):
        self.broken("2_the_same_again")
        self.refused("04.2: 2_softmax_backward also has this number")

    def test_the_others_of_its_chapter_are_chosen_and_it_is_refused_by_name(self):
        self.manifest(self.broken(), kind="puzzle")
        found = self.refused("kind is one of")
        self.assertEqual(["04.2", "04.4"], [e.number for e in found.choose(["04"])])
        self.assertEqual(["04.4"], [e.number for e in found.choose(["4.4"])])
        with self.assertRaisesRegex(Mistaken, "04.3: kind is one of"):
            found.choose(["04.3"])
        with self.assertRaisesRegex(Mistaken, "there is no exercise 04.9"):
            found.choose(["04.9"])

    def test_the_command_names_it_and_goes_on(self):
        self.manifest(self.broken(), kind="puzzle")
        shutil.copytree(ROOT / "judge", self.root / "judge", ignore=shutil.ignore_patterns("__pycache__"))
        for command in (["progress"], ["check", "--progress"], ["check", "04", "--hint"]):
            done = subprocess.run([sys.executable, "-m", "judge", *command], cwd=self.root, capture_output=True, text=True, check=False)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn("3_another is left out: 04.3: kind is one of", done.stderr)
            self.assertNotIn("3_another", done.stdout)
            self.assertGreater(len(done.stdout.splitlines()), 2)
        done = subprocess.run([sys.executable, "-m", "judge", "check", "04.3"], cwd=self.root, capture_output=True, text=True, check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("book: 04.3: kind is one of", done.stderr)


class Order(unittest.TestCase):
    """What the book's own exercises train, and which they need first."""

    def setUp(self):
        self.exercises = {e.number: e for e in load_all()}

    def before(self, number):
        """What an exercise needs, and what that needs in turn."""
        needs = self.exercises[number].needs
        return {*needs, *(n for first in needs for n in self.before(first))}

    def test_what_each_trains_is_a_phrase_of_its_own(self):
        for e in self.exercises.values():
            self.assertIn(len(e.trains.split()), range(3, 13), e.number)
            self.assertNotRegex(e.trains, r"^[^\w]|[.;:, ]$", e.number)
        self.assertEqual(len(self.exercises), len({e.trains for e in self.exercises.values()}))

    def test_each_needs_earlier_ones_and_names_those_alone_that_it_builds_on(self):
        for e in self.exercises.values():
            self.assertEqual(sorted(set(e.needs)), list(e.needs), e.number)
            for first in e.needs:
                self.assertLess(first, e.number)
                rest = {n for other in e.needs if other != first for n in self.before(other)}
                self.assertNotIn(first, rest, f"{e.number} needs {first} by way of another one")


class Sections(unittest.TestCase):
    def test_what_is_to_be_read_again_is_there(self):
        for e in load_all():
            page, _, anchor = e.read.partition("#")
            file = e.folder.parent.parent / page
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^a-z0-9]+", "-", h.lower()).strip("-") for h in headings}
            self.assertIn(anchor, anchors, f"{e.number}: {e.read}")
            self.assertIn(f"{file.resolve().stem}.", section(e))  # rendered or not

    def test_a_section_of_another_chapter_is_named_by_it(self):
        e = next(e for e in load_all() if e.read.startswith("../06_"))
        self.assertRegex(section(e), r'^chapter 6, "The measurement" on the page ".*06_feed_forward/post_or_pre')


class TakingPart(unittest.TestCase):
    """The command that the page shows, for a chapter's program with the answer in it."""

    def test_each_operation_is_in_the_chapters_that_the_program_is_linked_with(self):
        for exercise in load_all():
            if not exercise.mine:
                self.assertEqual("", exercise.run)
                continue
            chapter = exercise.run.split()[2]
            below = (p for p in ROOT.glob("chapters/*/**/*.hpp") if p.relative_to(ROOT).parts[1][:2] <= chapter and "exercises" not in p.parts)
            sources = "".join(p.read_text() for p in (*(ROOT / "lib").glob("*.?pp"), *below))
            for operation in exercise.mine:
                self.assertTrue(re.search(rf"\b{operation}\(", sources), f"{exercise.run}: {operation}")

    def test_commands(self):
        found = {e.number: e.run for e in load_all()}
        self.assertEqual("./book run 09 --mine 04.2", found["04.2"])
        self.assertEqual("./book run 10 --mine 10.1", found["10.1"])
        self.assertEqual("./book run 09 --mine 09.4 --optimizer adam --lr 1e-4 --no-checkpoint", found["09.4"])


class Bites(unittest.TestCase):
    """What the gate says of an exercise before anything is judged."""

    def setUp(self):
        self.exercise = next(e for e in load_all() if e.number == "04.2")

    def test_nothing_of_one_that_has_mutants(self):
        self.assertEqual([], gate.faults(self.exercise))

    def test_too_few_mutants(self):
        for n in (0, 2):
            (fault,) = gate.faults(dataclasses.replace(self.exercise, mutants=self.exercise.mutants[:n]))
            self.assertIn(f"{n} mutants, but at least 3 are needed", fault)

    def test_a_mutant_that_changes_nothing(self):
        lost = dataclasses.replace(self.exercise.mutants[0], find="not in the solution")
        exercise = dataclasses.replace(self.exercise, mutants=(*self.exercise.mutants, lost))
        (fault,) = gate.faults(exercise)
        self.assertIn("0 places to change", fault)
        tried = gate.trials([exercise], everything=True, seeds=1)
        self.assertEqual(2 + len(self.exercise.mutants), len(tried))

    def test_every_exercise_has_three(self):
        for exercise in load_all():
            self.assertGreaterEqual(len(exercise.mutants), gate.FEWEST, exercise.number)

    def test_numbers_are_shown_with_what_was_drawn_for_them(self):
        for exercise in load_all():
            if exercise.kind not in COMPUTED:
                self.assertIn(f"Your numbers: {exercise.given}\n", exercise.solution())
                self.assertIn("Your numbers: {given}\n", exercise.stub())
                self.assertRegex(exercise.given, "^[A-Za-z_0-9]+ = ", exercise.number)


class Linked(unittest.TestCase):
    """What an answer is linked with, and which headers belong to its call."""

    def setUp(self):
        self.exercises = {e.number: e for e in load_all()}

    @unittest.skipUnless((BUILD / "build.CXX.json").is_file(), "the judge is not built")
    def test_what_gives_the_answer_away_is_left_out(self):
        found = setting()
        for number, absent, there in (
            ("00.1", {"linear"}, {"matmul", "tensor"}),  # of the library below all chapters
            ("00.6", {"matmul"}, {"tensor"}),
            ("04.3", {"scaled_dot_product_attention"}, {"softmax", "matmul"}),  # of the exercise's own chapter
            ("04.2", {"softmax", "ranks"}, {"masks", "matmul"}),  # the chapter before is the last
            ("14.2", {"tree_sum", "ring"}, {"ranks", "optimizer"}),  # of a library that this chapter is the first to need
        ):
            archives = libraries(self.exercises[number], found)
            objects = {base(m) for archive in archives for m in members(archive)}
            self.assertEqual(set(), objects & absent, number)
            self.assertLessEqual(there, objects, number)

    @unittest.skipUnless((BUILD / "build.CXX.json").is_file(), "the judge is not built")
    def test_what_is_to_be_left_out_must_be_there(self):
        exercise = dataclasses.replace(self.exercises["00.1"], without=("linear", "lineal"))
        with self.assertRaisesRegex(Failed, "no lineal"):
            libraries(exercise, setting())

    def test_headers_beside_the_call_and_beside_the_folder(self):
        self.assertEqual([ROOT / "chapters/00_workbench/exercises/linear.hpp"], self.exercises["00.1"].headers())
        self.assertEqual(["model.hpp"], [p.name for p in self.exercises["07.2"].headers()])
        self.assertEqual([], self.exercises["09.1"].headers())  # small_model.hpp is for others


if __name__ == "__main__":
    unittest.main()
