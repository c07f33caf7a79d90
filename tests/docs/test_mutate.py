"""The list of faults of `./book mutate`: that it fits the sources as they are."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parent.parent.parent
spec = importlib.util.spec_from_file_location("mutate", REPOSITORY / "tests" / "mutate.py")
mutate = importlib.util.module_from_spec(spec)
sys.modules["mutate"] = mutate  # where dataclasses look their module up
spec.loader.exec_module(mutate)

MUTANTS = mutate.read_list()


class Faults(unittest.TestCase):
    def test_each_fault_has_one_place_and_changes_it(self) -> None:
        for mutant in MUTANTS:
            with self.subTest(mutant.name):
                text = (REPOSITORY / mutant.file).read_text(encoding="utf-8")
                self.assertNotEqual(mutant.plant(text), text)
                self.assertNotIn("\n", mutant.find + mutant.replace)

    def test_names_are_unique(self) -> None:
        names = [mutant.name for mutant in MUTANTS]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_lib_and_every_chapter_have_faults(self) -> None:
        self.assertGreaterEqual(len(MUTANTS), 40)
        places = {mutant.file.split("/")[0] for mutant in MUTANTS}
        self.assertEqual(places, {"lib", "chapters"})
        chapters = {mutant.chapter() for mutant in MUTANTS}
        self.assertEqual(chapters, {f"{number:02d}" for number in range(13)})


class Machinery(unittest.TestCase):
    def test_a_fault_without_a_place_of_its_own_is_refused(self) -> None:
        mutant = mutate.Mutant("name", "lib/a.cpp", "x", "y")
        self.assertEqual(mutant.plant("1 x 2"), "1 y 2")
        for text in ("", "x x"):
            with self.assertRaisesRegex(mutate.Failure, "places in lib/a.cpp hold x"):
                mutant.plant(text)

    def test_tests_come_in_the_order_in_which_they_may_notice(self) -> None:
        names = ["04", "04_double", "05", "05_double", "10", "10_double", "proof", "proof_double"]
        programs = [mutate.Program(name, (), "") for name in names]
        order = [p.name for p in sorted(programs, key=lambda p: p.place("05"))]
        self.assertEqual(
            order,
            ["05_double", "05", "10_double", "proof_double", "10", "proof", "04_double", "04"],
        )

    def test_what_kills_is_named(self) -> None:
        def ends_with(status: int, xml: str) -> mutate.Verdict | None:
            with mock.patch.object(mutate, "run", return_value=(status, xml)):
                return mutate.test(mutate.Program("04", ("test_04",), "."))

        cases = '<TestCase name="first"/><TestCase name="a &lt; b">'
        self.assertIsNone(ends_with(0, cases))
        failed = mutate.Verdict("killed", "04", "a < b", "")
        self.assertEqual(ends_with(1, cases + "</TestCase><OverallResults failures='1'/>"), failed)
        self.assertEqual(ends_with(-11, cases).how, "crash, status -11")
        self.assertEqual(ends_with(-9, cases).how, f"no end in {mutate.TEST_SECONDS} s")

    def test_an_endless_program_is_stopped_with_what_it_started(self) -> None:
        status, output = mutate.run("sh", "-c", "echo begun; sleep 100 & sleep 100", limit=0.2)
        self.assertEqual((status, output), (-9, "begun\n"))

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_the_copy_is_the_readers_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root, copy = Path(folder) / "root", Path(folder) / "copy"
            (root / "sub").mkdir(parents=True)
            for name, text in {"a": "1", "sub/b": "2", "c": "3", ".gitignore": "c\n"}.items():
                (root / name).write_text(text)
            (copy / "sub").mkdir(parents=True)
            (copy / "a").write_text("a fault left behind")
            (copy / "sub" / "old").write_text("")
            subprocess.run(["git", "init", "--quiet", str(root)], check=True)
            with mock.patch.multiple(mutate, ROOT=root, SOURCE=copy):
                mutate.copy_sources()
            self.assertEqual(
                {p.relative_to(copy).as_posix() for p in copy.rglob("*")},
                {".gitignore", "a", "sub", "sub/b"},
            )
            self.assertEqual((copy / "a").read_text(), "1")


if __name__ == "__main__":
    unittest.main()
