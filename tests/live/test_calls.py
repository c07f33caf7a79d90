"""Calls of the pages' Transformer in an order in which no page makes them; ABH_PROGRAM names the native program."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ABH_PROGRAM", "")
GRAMMAR = str(ROOT / "recorded/live/grammar-seed1.safetensors")
TRAIN, STEP = ("live_train", json.dumps({"corpus": "grammar"})), ("live_step", 1e-3, 0)


def answers(*calls: tuple[Any, ...]) -> list[dict[str, Any]]:
    asked = "".join(json.dumps({"name": name, "given": given}) + "\n" for name, *given in calls)
    done = subprocess.run([PROGRAM], input=asked, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@unittest.skipUnless(PROGRAM, "ABH_PROGRAM names no program")
class Calls(unittest.TestCase):
    def test_training_ends_with_the_model_that_it_moves(self) -> None:
        for open_another in (("live_open", GRAMMAR), ("live_open", "missing")):
            train, step, _, after = answers(TRAIN, STEP, open_another, STEP)
            self.assertIn("out", train)
            self.assertIn("out", step)
            self.assertEqual({"error": "no training has begun"}, after)


if __name__ == "__main__":
    unittest.main()
