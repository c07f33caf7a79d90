"""A program built for any x86-64 processor chooses its instructions when it is started."""

import os
import platform
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@unittest.skipUnless(platform.machine() in ("x86_64", "AMD64"), "x86-64 only")
class Portable(unittest.TestCase):
    folder: tempfile.TemporaryDirectory

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        source = ROOT / "chapters" / "01_embedding"
        for command in (
            ["cmake", "-S", source, "-B", cls.folder.name, "-DABH_PORTABLE=ON", "-DABH_CUDA=OFF"],
            ["cmake", "--build", cls.folder.name, "--parallel", "2", "--target", "embedding"],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise AssertionError(done.stdout[-4000:] + done.stderr[-4000:])

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def start(self, level: str | None) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if k != "ABH_LEVEL"}
        if level:
            environment["ABH_LEVEL"] = level
        program = Path(self.folder.name) / "embedding"
        return subprocess.run(
            [program], env=environment, capture_output=True, text=True, check=False
        )

    def test_the_oldest_and_the_newest_level_print_the_same(self) -> None:
        newest, oldest = self.start(None), self.start("x86-64-v2")
        self.assertEqual((newest.returncode, newest.stderr), (0, ""))
        self.assertEqual((oldest.returncode, oldest.stderr), (0, ""))
        self.assertIn("==", newest.stdout)
        self.assertEqual(newest.stdout, oldest.stdout)

    def test_the_levels_hold_other_instructions(self) -> None:
        def wide(level: str) -> int:
            program = Path(self.folder.name) / level / "embedding"
            command = ["objdump", "--disassemble", program]
            found = subprocess.run(command, capture_output=True, text=True, check=True)
            return found.stdout.count("%zmm")

        self.assertEqual(wide("x86-64-v2"), 0)
        self.assertEqual(wide("x86-64-v3"), 0)
        self.assertGreater(wide("x86-64-v4"), 100)

    def test_a_level_that_is_not_there_is_named(self) -> None:
        done = self.start("x86-64-v9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("x86-64-v9/embedding: No such file or directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
