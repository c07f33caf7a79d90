"""The command that readers call again and again."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import check
from judge.exercise import load_all


class Watch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.answers = Path(folder.name)
        self.exercise = next(e for e in load_all() if e.number == "04.2")
        self.file = self.answers / self.exercise.file_name
        self.judged = []

    def watch(self, *steps):
        """Watches while `steps` happen, one at each pause, and then Ctrl-C."""
        left = iter([*steps, None])

        def pause(_):
            if (step := next(left)) is None:
                raise KeyboardInterrupt
            step()

        def judge(_, **__):
            self.judged.append(self.file.read_text() if self.file.exists() else "missing")

        with (
            unittest.mock.patch.object(check, "check", judge),
            unittest.mock.patch.object(check.time, "sleep", pause),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            self.assertRaises(KeyboardInterrupt),
        ):
            check.watch([self.exercise], self.answers)

    def save(self, text):
        """As an editor that overwrites."""

        def step():
            self.file.write_text(text)
            os.utime(self.file, ns=(0, len(self.judged) + 1))  # whatever the clock's resolution is

        return step

    def replace(self, text):
        """As an editor that writes another file and gives it the name."""

        def step():
            new = self.answers / "new"
            new.write_text(text)
            os.utime(new, ns=(0, len(self.judged) + 1))
            new.replace(self.file)

        return step

    def test_an_answer_is_judged_at_first_and_whenever_it_is_saved(self):
        nothing = lambda: None
        self.watch(nothing, self.save("a"), nothing, self.replace("b"), nothing)
        self.assertEqual([self.exercise.stub(), "a", "b"], self.judged)

    def test_a_file_that_is_away_for_a_moment_is_waited_for(self):
        self.file.write_text("a")
        self.watch(self.file.unlink, lambda: self.assertFalse(self.file.exists()), self.replace("b"))
        self.assertEqual(["a", "b"], self.judged)


if __name__ == "__main__":
    unittest.main()
