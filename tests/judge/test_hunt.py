"""The fault hunt: its lists are sound, each student has one fault, and a test is judged as it should be."""

import json
import re
import tempfile
import unittest
import unittest.mock
from collections import Counter
from pathlib import Path

from judge.answer.build import copy_headers
from judge.answer.exercise import Mistaken, replaced
from judge.answer.limits import Outcome
from judge.answer.setting import BUILD
from judge.answer.written import Dealt
from judge.hunt import copies, hunt, judging, sheet
from judge.hunt.faults import drawn, faults

ROOT = Path(__file__).resolve().parents[2]
ALL = faults()


class Lists(unittest.TestCase):
    def test_there_are_sixty_faults_and_no_level_is_rare(self):
        self.assertGreaterEqual(len(ALL), 60)
        for level in (1, 2, 3):
            self.assertGreaterEqual(sum(f.level == level for f in ALL), 15, level)
        self.assertEqual(len(ALL), len({f.id for f in ALL}))
        self.assertEqual(len(ALL), len({f.name for f in ALL}))

    def test_every_change_has_one_place(self):
        for f in ALL:
            content = (ROOT / f.file).read_text()
            for what, find, put in ((f.name, f.find, f.put), *f.harmless):
                with self.subTest(source=f.source, change=what):
                    self.assertNotEqual(content, replaced(content, find, put, what))

    def test_the_line_of_each_fault_is_right_and_no_other(self):
        for f in ALL:
            with self.subTest(fault=f.name):
                self.assertIsNone(judging.misquoted(f, sheet.answer_of(f, "")))
                self.assertIsNotNone(judging.misquoted(f, sheet.answer_of(f, "", line='"lib/tensor.hpp"')))

    def test_a_symptom_does_not_quote_the_place(self):
        for f in ALL:
            names = set(re.findall(r"\w+_\w+", f.find + f.put))
            self.assertEqual(set(), names & set(re.findall(r"\w+", f.symptom)), f.name)


class Drawing(unittest.TestCase):
    def test_a_student_keeps_the_fault_when_others_are_added(self):
        few, more = hunt.among(ALL[::2]), hunt.among(ALL)
        students = [f"student {i}" for i in range(200)]
        changed = [s for s in students if drawn(few, s) != drawn(more, s)]
        self.assertTrue(changed)
        self.assertLess(len(changed), len(students))
        self.assertEqual([], [s for s in changed if drawn(more, s) in few.faults])
        self.assertGreater(len({drawn(more, s).id for s in students}), 50)

    def test_in_a_class_the_faults_are_dealt_in_turn(self):
        for level in ("1", "2", "3"):
            pool = hunt.hunt(f"hunt:{level}")
            shared = Counter(drawn(pool, Dealt.to("anybody", turn)).id for turn in range(60))
            self.assertLessEqual(max(shared.values()), 4)

    def test_chapters_and_level(self):
        self.assertEqual({"04", "05"}, {f.chapter[:2] for f in hunt.hunt("hunt:04-05").faults})
        self.assertEqual({("04", 2)}, {(f.chapter[:2], f.level) for f in hunt.hunt("hunt:04:2").faults})
        self.assertEqual("06", hunt.hunt("hunt:01-06:3").links)
        for number, said in {"hunt:4": "hunt:04", "hunt:04-": "hunt:04", "hunt:00": "no fault", "hunt:06-05": "no fault"}.items():
            with self.assertRaisesRegex(Mistaken, said):
                hunt.hunt(number)
        with self.assertRaisesRegex(Mistaken, "only one hunt"):
            hunt.choose(["hunt:04", "hunt:05"])


class Answers(unittest.TestCase):
    def setUp(self):
        self.fault = ALL[0]

    def refused(self, written: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder) / "hunt.cpp"
            answer.write_text(written)
            verdict = judging.judge(hunt.among((self.fault,)), answer, tight=False, student="ada")
        self.assertEqual(0, verdict.points)
        return verdict.problem.text

    def test_a_test_that_cannot_be_linked_is_the_students(self):
        for said in ("undefined reference to `abh::mine::passes()'", "multiple definition of `abh::plain::softmax'"):
            outcomes = [Outcome("ok", 0, ""), Outcome("crash", 1, said)]  # of compiling it, and of linking it
            with unittest.mock.patch.object(judging, "compile_answer", side_effect=outcomes):
                self.assertIn(said, self.refused(sheet.stub(self.fault, "ada")))

    def test_another_students_hunt(self):
        self.assertIn(f"but {self.fault.id} is drawn for ada", self.refused(sheet.stub(ALL[1], "bob")))

    def test_another_way_of_the_operation_is_not_asked(self):
        for test in ("set_way(Way::fast);", "return abh::fast::softmax(x);", "set_way(static_cast<Way>(1));", "#define F fa##st\n"):
            self.assertIn("say itself what is right", self.refused(sheet.answer_of(self.fault, test)), test)
        self.assertIsNone(judging.OTHER_WAYS.search("const ScopedWay scoped(Way::plain); return way() == Way::plain;"))

    def test_a_cause_may_take_several_lines(self):
        written = "// LINE: a = b;\n// CAUSE: it adds\n// what it should\n// subtract\n#include <cmath>\n"
        self.assertEqual("it adds what it should subtract", sheet.entry(written, "CAUSE"))
        self.assertEqual("a = b;", sheet.entry(written, "LINE"))
        self.assertEqual("", sheet.entry("// LINE:\n// CAUSE:\n", "LINE"))

    def test_a_line_that_is_not_there_or_too_common_or_without_a_cause(self):
        said = {
            sheet.answer_of(self.fault, "", line="no such line"): "occurs 0 times",
            sheet.answer_of(self.fault, "", line="Tensor"): r"occurs \d+ times",
            sheet.stub(self.fault, "ada"): "nothing after '// LINE:'",
            sheet.stub(self.fault, "ada").replace("LINE:", "LINE: a"): "say the cause",
        }
        for written, expected in said.items():
            self.assertRegex(judging.misquoted(self.fault, written).text, expected)


class Pack(unittest.TestCase):
    @unittest.skipUnless((BUILD / "build.CXX.json").is_file(), "the judge is not built")
    def test_a_hand_out_says_only_what_users_notice(self):
        copy_headers()
        with tempfile.TemporaryDirectory() as name:
            out = Path(name) / "hunt"
            copies.pack(hunt.among(ALL[:1]), [], out)
            (known,) = json.loads((out / "faults.json").read_text())
            self.assertEqual({"id", "chapter", "source", "level", "symptom", "headers"}, set(known))
            self.assertTrue((out / f"{ALL[0].id}.o").is_file())
            self.assertEqual([], [s for s in ALL[0].secrets().splitlines() for file in out.rglob("*.*") if s.encode() in file.read_bytes()])
