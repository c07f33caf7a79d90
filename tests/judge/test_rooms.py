"""The judge's rooms: each uses only those below."""

import re
import unittest
from pathlib import Path

JUDGE = Path(__file__).resolve().parents[2] / "judge"
BELOW = {"answer": set(), "hunt": {"answer"}, "reader": {"answer", "hunt"}, "course": {"answer", "hunt"}}


class Rooms(unittest.TestCase):
    def test_arrows_run_down(self):
        for room, below in BELOW.items():
            for file in (JUDGE / room).glob("*.py"):
                used = set(re.findall(r"^ *from \.\.(\w*)", file.read_text(), re.MULTILINE))
                self.assertLessEqual(used, below, f"{room}/{file.name}")


if __name__ == "__main__":
    unittest.main()
