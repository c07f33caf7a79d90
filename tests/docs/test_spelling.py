"""Spelling of prose, comments and messages, in American English: "optimizer", "color", "neighbor"; and glosses of Chinese words."""

import subprocess
import sys
import unittest

from project import ROOT

import glosses

FOLDERS = ("bench", "chapters", "cmake", "docs", "figures", "lib", "tests")
SUFFIXES = {".md", ".hpp", ".cpp", ".cuh", ".cu", ".js", ".py", ".toml", ".cmake", ".txt", ".sh"}
# They hold what is refused.
OWN = ("test_faults.py", "test_figures.py", "test_refused.py", "test_spelling.py")
# Names in code, and words that a dictionary takes for others.
NOT_MISSPELT = "arange,assertIn,biased,dur,ist,math,nd,ot,sanitizers,warmup"
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

    def test_every_chinese_word_of_pages_live_parts_and_small_corpora_has_a_gloss(self) -> None:
        shown = ("docs/*.md", "docs/live/page/*.js", "chapters/*/*.md", "chapters/09_training/data/*.[ch]pp")
        text = "\n".join(path.read_text(encoding="utf-8") for one in shown for path in sorted(ROOT.glob(one)))
        self.assertEqual({word for word, gloss in glosses.pieces(text) if not gloss and glosses.HAN.search(word)}, set())
