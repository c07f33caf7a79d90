"""Whatever goes wrong, a command says so in one line, and what to do."""

import contextlib
import errno
import importlib
import io
import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from judge import __main__ as judge
from judge.answer.exercise import Mistaken
from judge.answer.limits import Unfit
from judge.answer.setting import Failed


class Verbs(unittest.TestCase):
    def said(self, *arguments):
        """The exit status, and what is printed."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                return judge.main([str(a) for a in arguments]), out.getvalue(), err.getvalue()
            except SystemExit as end:  # of a parser
                return end.code, out.getvalue(), err.getvalue()

    def test_any_error_is_a_line(self):
        errors = (
            (OSError(errno.ENOSPC, "No space left on device", "a/b"), 1, "a/b: No space left on device; make room, and give the command again"),
            (OSError(errno.EROFS, "Read-only file system", "a/b"), 1, "a/b: Read-only file system; name another place, where you may write"),
            (PermissionError(errno.EACCES, "Permission denied", "a/b"), 1, "a/b: Permission denied; name another place, or get permission"),
            (FileNotFoundError(errno.ENOENT, "No such file or directory", "ar"), 1, "ar: No such file or directory"),
            (OSError("no usable folder"), 1, "no usable folder"),
            (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, None),
            (KeyboardInterrupt(), 130, "interrupted"),
            (MemoryError("the compiler was killed"), 2, "cannot judge answers here: the compiler was killed"),
            (Unfit("mounted noexec"), 2, "cannot judge answers here: mounted noexec"),
            (Mistaken("there is no exercise 1"), 2, "there is no exercise 1"),
            (Failed("cmake is not installed"), 2, "cmake is not installed"),
            (KeyError("a\nb"), 1, "the judge itself failed (KeyError: 'a\\nb'); put PYTHONDEVMODE=1 before the command to see where, and report it"),
            (json.JSONDecodeError("Expecting value", "", 0), 1, "the judge itself failed (JSONDecodeError: Expecting value: line 1 column 1 (char 0)); "
             "put PYTHONDEVMODE=1 before the command to see where, and report it"),
        )  # fmt: skip
        for error, status, line in errors:
            failing = unittest.mock.patch.object(importlib.import_module("judge.gate"), "main", side_effect=error)
            with self.subTest(error=error), failing:
                self.assertEqual((status, "", f"book: {line}\n" if line else ""), self.said("gate"))
        self.assertEqual((2, "", "book: there is no verb 'bake'; the verbs are check, gate, grade, handout, hunt, mine, progress\n"), self.said("bake"))

    def test_what_is_in_the_way_is_named(self):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "file"
            file.write_text("no folder")
            for arguments, status, line in (
                (["check", "04.2", "--answers", file], 1, f"book: {file}: File exists; name another place, or move away what is there"),
                (["check", "04.2", "--answers", file / "a"], 1, f"book: {file}/a: Not a directory; name another place, or move away the file that is there"),
                (["hunt", "04", "--answers", file], 1, f"book: {file}: File exists; name another place, or move away what is there"),
                (["handout", "04.2", "--out", file], 2, f"book: {file} is no folder; --out needs an empty one"),
                (["handout", "04.2", "--out", name], 2, f"book: {name} is not empty; --out needs an empty folder"),
                (["grade", "--submissions", name, "--out", file], 2, f"{file} is no folder"),
                (["grade", "--submissions", f"{name}/nothing", "--out", name], 2, f"{name}/nothing is neither a folder nor a zip"),
                (["grade", "--submissions", name, "--out", name, "--moodle", f"{name}/nothing"], 2, f"there is no file {name}/nothing"),
                (["gate", "99"], 2, "book: there is no exercise 99; ./book check --progress lists all of them"),
                (["mine", name, f"{name}/program", "04.2"], 2, None),
            ):
                with self.subTest(arguments):
                    found = self.said(*arguments)
                    self.assertEqual((status, ""), found[:2])
                    self.assertNotIn("Traceback", found[2])
                    if line:
                        self.assertTrue(found[2].endswith(f"{line}\n"), found[2])
            self.assertEqual(0, self.said("progress", "--answers", file)[0])  # nothing has been done there

    def test_a_number_that_is_none(self):
        place = ["--submissions", "/", "--out", "/nowhere"]
        for arguments in (
            ["check", "\u00b2.1"], ["check", "04.\u00b2"], ["check", "x"], ["check", "04.2", "--hint", "x"], ["hunt", "x"], ["hunt", "\u00b2"], ["hunt", "04-"],
            ["hunt", "04", "--level", "9"], ["handout", "\u00b2", "--out", "/nowhere"],
            ["gate", "--jobs", "0"], ["gate", "x"], ["grade", *place, "--jobs", "\u00b2"],
        ):  # fmt: skip
            with self.subTest(arguments):
                status, _, said = self.said(*arguments)
                self.assertEqual(2, status)
                self.assertNotIn("Traceback", said)
                self.assertEqual(1, sum("book" in line and "usage" not in line for line in said.splitlines()), said)
