"""Every derived equality of the pages, at random points. See tests/docs/twins/__init__.py."""

import importlib
import pkgutil
import re
import unittest

import numpy as np

from project import ROOT

import twins
from twins import Draw, Sides, Twin

DRAWS = 5
# Central differences of fourth order leave some 1e-10 of numbers around 1; a wrong factor or a
# missing term leaves a hundred thousand times the tolerance and more.
TOLERANCE = 1e-7
LABEL = re.compile(r"^\s*\$\$\s*\(([0-9a-z-]+)\)\s*$|\$\$ \(([0-9a-z-]+)\)\s*$", re.MULTILINE)

for module in pkgutil.iter_modules(twins.__path__):
    importlib.import_module(f"twins.{module.name}")


def labels() -> set[str]:
    """The labels of all equations on the pages."""
    return {
        a or b
        for page in (*ROOT.glob("chapters/*/*.md"), *ROOT.glob("docs/*.md"))
        for a, b in LABEL.findall(page.read_text(encoding="utf-8"))
    }


def complaint(function: Twin) -> str:
    """What is wrong with a twin; nothing if its sides agree and move."""
    drawn: list[Sides] = [function(Draw(seed)) for seed in range(DRAWS)]
    for sides in drawn:
        if len(sides) < 2:
            return "it returns one side only"
        first = np.asarray(sides[0], dtype=float)
        scale = max(1.0, float(np.abs(first).max()))
        for number, side in enumerate(sides[1:], 2):
            other = np.asarray(side, dtype=float)
            if other.shape != first.shape:
                return f"side 1 has shape {first.shape}, side {number} {other.shape}"
            apart = float(np.abs(first - other).max())
            if not apart <= TOLERANCE * scale:
                return f"sides 1 and {number} are {apart:.3g} apart"
    if all(np.array_equal(np.asarray(drawn[0][0]), np.asarray(sides[0])) for sides in drawn[1:]):
        return "its sides are the same for every draw"
    return ""


class Twins(unittest.TestCase):
    def test_both_sides_of_each_equality_agree(self) -> None:
        for label, function in sorted(twins.twins.items()):
            with self.subTest(label):
                self.assertEqual(complaint(function), "")

    def test_each_twin_belongs_to_an_equation(self) -> None:
        self.assertEqual(sorted(set(twins.twins) - labels()), [])
