"""An exercise is as it should be, and shows that it catches wrong answers."""

import dataclasses
import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from statistics import mean

from judge import gate
from judge.answer.exercise import COMPUTED, Mistaken, choose, load_all
from judge.answer.libraries import base, libraries, members
from judge.answer.report import where
from judge.answer.setting import BUILD, Failed, setting
from judge.hunt import hunt

ROOT = Path(__file__).resolve().parents[2]
SOUND = "chapters/04_scaled_dot_product_attention/exercises/2_softmax_backward"


class Folders(unittest.TestCase):
    """A book with one exercise that is as it should be, beside which each test puts another."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.place = (self.root / SOUND).parent
        self.another("2_softmax_backward")

    def another(self, name, **changed):
        """A copy of an exercise, whose exercise.json is changed."""
        shutil.copytree(ROOT / SOUND, self.place / name)
        file = self.place / name / "exercise.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "needs": [], **changed}))
        return self.place / name

    def refused(self, said):
        with self.subTest(said), self.assertRaisesRegex(Mistaken, said):
            load_all(self.root)

    def test_a_manifest_that_is_wrong(self):
        manifest = "04.3: exercise.json: "
        for said, changed in (
            (manifest, {"criteria": [{"name": "a", "points": "many"}]}),
            (f"{manifest}.*color", {"color": "blue"}),
            ("04.3: kind is one of", {"kind": "puzzle"}),
            ("04.3: trains is missing: the skill, in one phrase", {"trains": " "}),
            ("04.3: each criterion has points", {"criteria": []}),
            ("04.3: faster or a mutant names no criterion", {"mutants": [{"name": "", "find": "", "put": "", "loses": ["speed"]}]}),
            ("04.3: needs 04.3, 00.2, but no exercise before it has this number", {"needs": ["04.2", "04.3", "00.2"]}),
            ("04.3: needs 4.2, but no exercise", {"needs": ["4.2"]}),
        ):
            folder = self.another("3_another", **changed)
            self.refused(said)
            shutil.rmtree(folder)

    def test_files_that_are_wrong_or_missing(self):
        for name, content, said in (
            ("exercise.json", b"{", "04.3: exercise.json: JSONDecodeError"),
            ("exercise.json", b'{"title": "\xff"}', "04.3: exercise.json: UnicodeDecodeError"),
            ("exercise.json", b"[]", "04.3: exercise.json: "),
            ("exercise.json", None, "04.3: exercise.json: .*No such file"),
            ("cases.cpp", None, "04.3: cases.cpp is missing"),
            ("answer.cpp", b"// solution\n// end\n", "answer.cpp: // end after // solution"),
        ):
            folder = self.another("3_another")
            (folder / name).unlink()
            if content is not None:
                (folder / name).write_bytes(content)
            self.refused(said)
            shutil.rmtree(folder)

    def test_numbers_of_folders(self):
        for name, said in (("another", "expected a name like NUMBER_TITLE for an exercise's folder"), ("2_the_same_again", "04.2: 2_.* also has this number")):
            folder = self.another(name)
            self.refused(said)
            shutil.rmtree(folder)
        self.another("10_another", needs=["04.2"])
        self.assertEqual(["04.2", "04.10"], [e.number for e in load_all(self.root)])

    def test_what_the_command_line_names(self):
        self.assertEqual(["04.4"], [e.number for e in choose("4.4")])
        self.assertEqual([e for e in load_all() if e.chapter == "04"], choose("04"))
        for number in ("04.99", "x", "\u00b2"):
            with self.assertRaisesRegex(Mistaken, f"there is no exercise {number}"):
                choose(number)


class Order(unittest.TestCase):
    """What the book's own exercises train, and which they need first."""

    def setUp(self):
        self.exercises = {e.number: e for e in load_all()}

    def before(self, number):
        """What an exercise needs, and what that needs in turn."""
        needs = self.exercises[number].needs
        return {*needs, *(n for first in needs for n in self.before(first))}

    def test_each_needs_earlier_ones_and_names_those_alone_that_it_builds_on(self):
        for e in self.exercises.values():
            self.assertEqual(sorted(set(e.needs)), list(e.needs), e.number)
            for first in e.needs:
                self.assertLess(first, e.number)
                rest = {n for other in e.needs if other != first for n in self.before(other)}
                self.assertNotIn(first, rest, f"{e.number} needs {first} by way of another one")


class Plan(unittest.TestCase):
    """The plan of two exercises a week in docs/teach.md."""

    def test_it_keeps_the_order_and_its_sums_are_right(self):
        page = (ROOT / "docs/teach.md").read_text()
        weeks = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| (\d+) \| ([\d.]+) \|$", page, re.MULTILINE)
        self.assertEqual([str(n) for n in range(1, 15)], [week for week, *_ in weeks])
        done = set()
        for _, named, points, hours in weeks:
            numbers = named.split(", ")
            self.assertEqual(2, len(numbers))
            chosen = hunt.named(numbers)
            done.update(numbers)
            for e in chosen:
                self.assertEqual(set(), set(e.needs) - done, e.number)
            sums = sum(e.points for e in chosen), sum(e.hours for e in chosen)
            self.assertEqual(sums, (int(points), float(hours)), named)
        personal = {e.number for e in hunt.named(sorted(done)) if e.kind == "hunt" or e.kind not in COMPUTED}
        said = re.search(r"^(.*) are personal,", page, re.MULTILINE)[1].replace("the hunt", "hunt:04-06:2")
        self.assertEqual(personal, set(re.split(r", (?:and )?| and ", said)))

    def test_hours_are_half_hours_that_grow_with_difficulty(self):
        every = load_all()
        self.assertEqual({0.0}, {2 * e.hours % 1 for e in every})
        means = [mean(e.hours for e in every if e.difficulty == d) for d in (1, 2, 3)]
        self.assertEqual(sorted(means), means)


class Sections(unittest.TestCase):
    def test_what_is_to_be_read_again_is_there(self):
        for e in load_all():
            page, _, anchor = e.read.partition("#")
            file = e.folder.parent.parent / page
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^a-z0-9]+", "-", h.lower()).strip("-") for h in headings}
            self.assertIn(anchor, anchors, f"{e.number}: {e.read}")
            self.assertIn(f"{file.resolve().stem}.", where(e))  # rendered or not

    def test_a_section_of_another_chapter_is_named_by_it(self):
        e = next(e for e in load_all() if e.read.startswith("../06_"))
        self.assertRegex(where(e), r'^chapter 6, "The measurement" on the page ".*06_feed_forward/post_or_pre')


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


class Bites(unittest.TestCase):
    """What the gate says of an exercise before anything is judged."""

    def setUp(self):
        self.exercise = next(e for e in load_all() if e.number == "04.2")

    def test_too_few_mutants(self):
        self.assertEqual([], gate.faults(self.exercise))
        (fault,) = gate.faults(dataclasses.replace(self.exercise, mutants=self.exercise.mutants[:2]))
        self.assertIn("2 mutants, but at least 3 are needed", fault)

    def test_a_mutant_that_changes_nothing(self):
        lost = dataclasses.replace(self.exercise.mutants[0], find="not in the solution")
        (fault,) = gate.faults(dataclasses.replace(self.exercise, mutants=(*self.exercise.mutants, lost)))
        self.assertIn("0 places to change", fault)

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
    """What an answer is linked with."""

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


class Rooms(unittest.TestCase):
    def test_each_room_of_the_judge_uses_only_those_below(self):
        for room, below in {"answer": set(), "hunt": {"answer"}, "reader": {"answer", "hunt"}, "course": {"answer", "hunt"}}.items():
            for file in (ROOT / "judge" / room).glob("*.py"):
                used = set(re.findall(r"^ *from \.\.(\w*)", file.read_text(), re.MULTILINE))
                self.assertLessEqual(used, below, f"{room}/{file.name}")
