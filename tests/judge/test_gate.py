"""The gate notices what it is there for."""

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import gate
from judge.answer.build import prepare
from judge.answer.compile import compile_answer, why_not_compiled
from judge.answer.exercise import COMPUTED, KINDS, load_all
from judge.answer.setting import BUILD, Failed
from judge.answer.verdict import Fault, refused
from judge.hunt.faults import faults

TARGET = next(e for e in load_all() if e.number == gate.TARGET)


def attack(text: str = "") -> gate.Trial:
    return gate.Trial(TARGET, "attack a", text)


class Complaints(unittest.TestCase):
    def test_an_attack_that_gains_and_finds_nothing(self):
        self.assertEqual("", gate.complain(attack(), refused(TARGET, Fault("compile", "it does not compile"))))

    def test_what_a_program_has_found(self):
        verdict = refused(TARGET, Fault("wrong", "dz is 1"))
        verdict.printed = "FOUND the judge"
        self.assertEqual("found what it must not see", gate.complain(attack(), verdict))

    def test_what_the_compiler_has_found(self):
        verdict = refused(TARGET, Fault("compile", "  it does not compile:\n    error: #error FOUND a secret file"))
        self.assertEqual("found what it must not see", gate.complain(attack(), verdict))

    @unittest.skipUnless((BUILD / "build.CXX.json").is_file(), "the judge is not built")
    def test_attacks_on_the_compiler_say_so_where_nothing_keeps_them_from_the_files(self):
        softmax = '"chapters/04_scaled_dot_product_attention/softmax.cpp"'
        prepare([TARGET])
        there = {"includes_secret": '"/etc/shadow"', "includes_solution": softmax}
        for name, file in there.items():
            text = (gate.ATTACKS / f"{name}.cpp").read_text().replace(file, '"lib/tensor.hpp"')
            with tempfile.TemporaryDirectory() as folder:
                answer = Path(folder) / TARGET.file_name
                answer.write_text(text)
                outcome = compile_answer(TARGET, answer, Path(folder) / "program", tight=False)
            verdict = refused(TARGET, Fault("compile", gate_text(outcome.printed)))
            self.assertEqual("found what it must not see", gate.complain(attack(), verdict), name)


def gate_text(printed: str) -> str:
    """As the judge shows it."""
    return why_not_compiled("crash", printed)


class Daily(unittest.TestCase):
    """What is tried where nothing is named."""

    def setUp(self):
        self.exercises = load_all()
        self.firsts = {next(e.number for e in self.exercises if e.kind == kind) for kind in KINDS}

    def chosen(self, changes):
        with unittest.mock.patch.object(gate, "changes", lambda: changes):
            return {e.number for e in gate.daily(self.exercises)}

    def test_one_of_each_kind(self):
        self.assertEqual(self.firsts, self.chosen(set()))
        self.assertEqual(len(KINDS), len(self.firsts))

    def test_and_those_that_are_being_changed(self):
        self.assertEqual(self.firsts | {"04.2"}, self.chosen({TARGET.folder, TARGET.folder / "hidden.txt"}))
        beside = TARGET.folder.parents[2] / "07_encoder/exercises"
        header = next(h for e in self.exercises if e.number == "00.1" for h in e.headers())
        with_it = {e.number for e in self.exercises if e.kind in COMPUTED and header in e.headers()}
        self.assertEqual(self.firsts | with_it, self.chosen({header}))
        self.assertEqual(self.firsts, self.chosen({beside, beside.parent}))

    def test_what_git_knows(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(gate, "ROOT", Path(name).resolve() / "book"):
            root = gate.ROOT
            root.mkdir()

            def git(*arguments):
                command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *arguments]
                subprocess.run(command, cwd=name, check=True, capture_output=True)

            def write(path):
                (root / path).parent.mkdir(exist_ok=True)
                (root / path).write_text(path)

            self.assertEqual(set(), gate.changes())  # no clone
            git("init")
            write("a/new")
            self.assertEqual({root / "a", root / "a/new"}, gate.changes())  # no commit
            git("add", ".")
            git("commit", "-m", "one")
            self.assertEqual(set(), gate.changes())  # no commit before the last
            write("b/\u00e9 c")
            self.assertEqual({root / "b", root / "b/\u00e9 c"}, gate.changes())
            git("add", ".")
            git("commit", "-m", "two")
            (root / "a/new").unlink()
            self.assertEqual({root / "a", root / "a/new", root / "b", root / "b/\u00e9 c"}, gate.changes())
            git("commit", "-a", "-m", "three")
            self.assertEqual({root / "a", root / "a/new"}, gate.changes())
            with unittest.mock.patch.object(gate.subprocess, "run", side_effect=FileNotFoundError):
                self.assertEqual(set(), gate.changes())  # no git


class Main(unittest.TestCase):
    """The verb, where nothing is built or run."""

    def run_gate(self, *arguments, draw=lambda *_: None, attempt=lambda *_: ("", "ok"), machines=None):
        machines = iter(machines or [{"shared files": set()}] * 2)
        with contextlib.ExitStack() as stack:
            for place, name, stand_in in (
                (gate, "workers", ThreadPoolExecutor), (gate, "prepare", lambda *_, **__: None),
                (gate, "attempt", attempt), (gate, "machine", lambda: next(machines)),
                (gate, "faults", lambda _: []), (gate, "why_unfit", lambda **_: ""), (gate.draws, "draw", draw),
                (gate.sandbox, "why_unavailable", lambda: ""), (gate, "SETTLED", 0),
            ):  # fmt: skip
                stack.enter_context(unittest.mock.patch.object(place, name, stand_in))
            printed = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            return gate.main(list(arguments)), printed.getvalue()

    def test_a_criterion_without_a_case_is_one_line(self):
        def draw(exercise, _):
            if exercise.number == "04.2":
                raise Failed("04.2: criteria ['a', 'b'], but cases for ['a']")

        status, printed = self.run_gate("04.1", "04.2", draw=draw)
        self.assertEqual(1, status)
        wrong = [line for line in printed.splitlines() if "04.2" in line]
        self.assertEqual(["WRONG 04.2: criteria ['a', 'b'], but cases for ['a']"], wrong)
        self.assertRegex(printed, r"ok    04.1   solution\nok    04.1   stub\n1 solutions, 1 stubs in .* 1 wrong")

    def test_without_an_exercise_or_an_option_it_tries_a_part(self):
        with unittest.mock.patch.object(gate, "daily", lambda exercises: exercises[2:4]):
            self.assertIn("3 solutions, 3 stubs, 2 mutants in", self.run_gate()[1])  # a hunt's, too

    def test_a_machine_that_has_changed_counts_with_and_without_the_others(self):
        left = {"shared files": {("/tmp/left", 1)}}
        changed = [{"shared files": set()}, left, left]
        for arguments in (["--attacks"], ["--all"]):
            status, printed = self.run_gate(*arguments, machines=changed)
            self.assertEqual(1, status)
            self.assertIn("WRONG the machine has changed: shared files: [('/tmp/left', 1)]", printed)
        self.assertIn(f"{len(load_all()) + len(faults())} solutions", printed)  # of --all
        self.assertEqual(0, self.run_gate("04.2", "--all", machines=changed)[0])  # nothing has attacked
        self.assertEqual(0, self.run_gate("--attacks", machines=[*changed[:2], changed[0]])[0])  # and nothing is left

    def test_a_judge_that_fails_is_one_complaint(self):
        def judge(*_, **__):
            raise Failed("04.2: plain.cpp\n  does not compile")

        with unittest.mock.patch.object(gate, "judge_answer", judge):
            self.assertEqual(("seed 1: 04.2: plain.cpp; does not compile", "failed"), gate.attempt(attack("int a;"), False))


class Machine(unittest.TestCase):
    def test_what_appears_in_tmp_is_noticed_but_for_the_gates_own(self):
        before = gate.machine()
        left = tempfile.NamedTemporaryFile(dir="/tmp", prefix="left_")
        with left as file, tempfile.TemporaryDirectory(dir="/tmp", prefix="gate_") as own:
            new = {name for name, _ in gate.difference(before)["temporary files"]}
        self.assertIn(file.name, new)
        self.assertNotIn(own, new)
        self.assertIn("/etc/passwd", {name for name, _ in before["shared files"]})

    def test_what_others_delete_in_tmp_is_no_harm(self):
        with tempfile.NamedTemporaryFile(dir="/tmp", prefix="left_") as file:
            before = gate.machine()
            self.assertIn(file.name, {name for name, _ in before["temporary files"]})
        self.assertNotIn(file.name, {name for name, _ in gate.difference(before)["temporary files"]})


if __name__ == "__main__":
    unittest.main()
