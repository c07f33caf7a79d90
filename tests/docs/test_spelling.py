"""Spelling of prose, comments and messages, in American English: "optimizer", "color", "neighbor"."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "chapters", "cmake", "docs", "figures", "lib", "tests")
SUFFIXES = {".md", ".hpp", ".cpp", ".cuh", ".cu", ".js", ".py", ".toml", ".cmake", ".txt", ".sh"}
# They hold what is refused.
OWN = ("test_faults.py", "test_figures.py", "test_refused.py", "test_spelling.py")
# Names in code, and words that a dictionary takes for others.
NOT_MISSPELT = "arange,assertIn,biased,dur,ist,math,ot,sanitizers,warmup"
QUOTED = "initialised twice"  # words of others stay as they are


class Spelling(unittest.TestCase):
    def test_codespell_finds_nothing(self) -> None:
        paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
        names = [path.relative_to(ROOT) for path in paths if path.name not in OWN and "fixture" not in path.parts]
        done = subprocess.run(
            [sys.executable, "-m", "codespell_lib", "--builtin", "clear,rare,informal,en-GB_to_en-US",
             "--ignore-regex", QUOTED, "--ignore-words-list", NOT_MISSPELT, "README.md", "book", ".ci/run", *names],
            capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, f"\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    unittest.main()
