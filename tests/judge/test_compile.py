"""What an answer may include, and who builds."""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.answer import build, compile
from judge.answer.exercise import load_all
from judge.answer.setting import Failed, Setting


class Available(unittest.TestCase):
    def test_an_exercise_can_go_without_eigen(self):
        found = Setting("g++", [], ["/usr/include/eigen3", "/opt/fmt"], [], "", {})
        loops, other = (next(e for e in load_all() if e.number == n) for n in ("00.6", "00.1"))
        self.assertEqual(["/opt/fmt"], compile.allowed(loops, found).includes)
        self.assertEqual([], compile.hidden(other))
        with tempfile.TemporaryDirectory() as name:
            answer = Path(name) / "answer.cpp"
            answer.write_text("#include <eigen3/Eigen/Core>\nEigen::MatrixXd m;\nusing namespace Eigen;\n")
            command = ["g++", *compile.allowed(loops, found).flags, "-fsyntax-only", answer]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertIn("Eigen is not available", compile.why_not_compiled("crash", done.stderr, eigen=False))
        self.assertNotIn("Eigen is not", compile.why_not_compiled("crash", "error: 'Bridge' is not a member of 'Eigen'"))
        self.assertEqual(found, compile.allowed(other, found))
        printed = "answer.cpp:1:10: fatal error: Eigen/Dense: No such file or directory"
        self.assertIn("Eigen is not available", compile.why_not_compiled("crash", printed))
        self.assertNotIn("Eigen is", compile.why_not_compiled("crash", printed.replace("Eigen/", "Igen/")))


class Building(unittest.TestCase):
    def test_one_process_builds_at_a_time(self):
        with tempfile.TemporaryDirectory() as name:
            lock = Path(name) / "build" / "lock"

            def others_wait():
                return subprocess.run(["flock", "--nonblock", lock, "true"], check=False).returncode != 0

            seen = []
            with (
                unittest.mock.patch.object(build, "ROOT", Path(name)),
                unittest.mock.patch.object(build, "cmake", lambda *_: seen.append(others_wait())),
                unittest.mock.patch.object(build, "copy_headers", lambda: seen.append(others_wait())),
                unittest.mock.patch.object(build, "setting"),
            ):
                build.prepare([])
            self.assertEqual([True, True], seen)
            self.assertFalse(others_wait())

    def test_a_missing_cmake_is_one_line(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.dict(os.environ, {"PATH": name}):
            with self.assertRaisesRegex(Failed, "^cmake is not installed"):
                build.cmake("--version")


if __name__ == "__main__":
    unittest.main()
