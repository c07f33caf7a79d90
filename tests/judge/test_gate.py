"""The gate notices what it is there for."""

import contextlib
import io
import tempfile
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor

from judge import gate
from judge.answer.exercise import KINDS, load_all
from judge.answer.setting import Failed
from judge.answer.verdict import Fault, refused
from judge.hunt.faults import faults

TARGET = next(e for e in load_all() if e.number == gate.TARGET)
ATTACK = gate.Trial(TARGET, "attack a", "int a;")


class Complaints(unittest.TestCase):
    def test_what_an_attack_finds(self):
        for reason, text, printed, complaint in (
            ("compile", "it does not compile", "", ""),
            ("wrong", "dz is 1", "FOUND the judge", "found what it must not see"),
            ("compile", "  it does not compile:\n    error: #error FOUND a secret file", "", "found what it must not see"),
        ):
            verdict = refused(TARGET, Fault(reason, text))
            verdict.printed = printed
            self.assertEqual(complaint, gate.complain(ATTACK, verdict))

    def test_a_judge_that_fails_is_one_complaint(self):
        with unittest.mock.patch.object(gate, "judge_answer", side_effect=Failed("04.2: plain.cpp\n  does not compile")):
            self.assertEqual(("04.2: plain.cpp does not compile", "failed"), gate.attempt(ATTACK, False))


class Main(unittest.TestCase):
    """The verb, where nothing is built or run."""

    def run_gate(self, *arguments, attempt=lambda *_: ("", "ok"), machines=(set(), set())):
        machines = iter(machines)
        stand_ins = {"workers": ThreadPoolExecutor, "prepare": lambda *_, **__: None, "attempt": attempt, "machine": lambda: next(machines)}
        stand_ins |= {"faults": lambda _: [], "why_unfit": lambda **_: "", "SETTLED": 0}
        available = unittest.mock.patch.object(gate.sandbox, "why_unavailable", lambda: "")
        with unittest.mock.patch.multiple(gate, **stand_ins), available, contextlib.redirect_stdout(io.StringIO()) as printed:
            return gate.main(list(arguments)), printed.getvalue()

    def test_what_is_wrong_counts(self):
        status, printed = self.run_gate("04.1", "04.2", attempt=lambda trial, _: ("seed 1: no" * (trial.exercise.number == "04.2"), "ok"))
        self.assertEqual(1, status)
        self.assertEqual(["ok    04.1   solution", "ok    04.1   stub", "WRONG 04.2   solution", "      seed 1: no"], printed.splitlines()[:4])
        self.assertRegex(printed, r"2 solutions, 2 stubs in \d+ s: 2 wrong\n$")

    def test_without_an_exercise_or_an_option_it_tries_one_of_each_kind_and_a_hunt(self):
        self.assertIn(f"{len(KINDS) + 1} solutions, {len(KINDS) + 1} stubs, 2 mutants in", self.run_gate()[1])

    def test_a_machine_that_has_changed_counts_with_and_without_the_others(self):
        changed = [set(), {("/tmp/left", 0)}, {("/tmp/left", 0)}]
        for arguments in (["--attacks"], ["--all"]):
            status, printed = self.run_gate(*arguments, machines=changed)
            self.assertEqual(1, status)
            self.assertIn("WRONG the machine has changed: [('/tmp/left', 0)]", printed)
        self.assertIn(f"{len(load_all()) + len(faults())} solutions", printed)  # of --all
        self.assertEqual(0, self.run_gate("04.2", "--all", machines=changed)[0])  # nothing has attacked
        self.assertEqual(0, self.run_gate("--attacks", machines=[*changed[:2], set()])[0])  # and nothing is left

    def test_what_appears_in_tmp_is_noticed_but_for_the_gates_own(self):
        before = gate.machine()
        left = tempfile.NamedTemporaryFile(dir="/tmp", prefix="left_")
        with left as file, tempfile.TemporaryDirectory(dir="/tmp", prefix="gate_") as own:
            new = {name for name, _ in gate.machine() - before}
        self.assertIn(file.name, new)
        self.assertNotIn(own, new)
        self.assertIn("/etc/passwd", {name for name, _ in before})
