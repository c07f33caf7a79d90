"""The list of faults of `./book mutate`: that it fits the sources as they are."""

import unittest

import project  # noqa: F401 - it says where these are

import mutate
from cpp_tokens import tokens

MUTANTS = mutate.read_list()


class Faults(unittest.TestCase):
    def test_each_fault_has_one_place_and_changes_it(self) -> None:
        self.assertEqual(mutate.check(MUTANTS), [])
        for mutant in MUTANTS:
            found, planted = ([t.text for t in tokens(text)] for text in (mutant.find, mutant.replace))
            self.assertNotEqual(found, planted, mutant.name)
            self.assertIn(mutant.way, mutate.WAYS, mutant.name)

    def test_names_are_unique(self) -> None:
        names = [mutant.name for mutant in MUTANTS]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_lib_and_every_chapter_have_faults(self) -> None:
        chapters = {mutant.chapter() for mutant in MUTANTS}
        self.assertEqual(chapters, {f"{number:02d}" for number in range(16)})
