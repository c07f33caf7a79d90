"""The toy on many seeds: the book's results and PyTorch's, as committed, tell one story."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SCRIPT = GOLDEN / "toy_statistics.py"


def summary(folder: Path, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), "summary", "--out", str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


class Statistics(unittest.TestCase):
    def test_both_systems_agree_on_twenty_seeds(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = summary(Path(folder))
            self.assertEqual(done.returncode, 0, done.stderr)
            values = json.loads(Path(folder, "results.json").read_text())
        for system in ("book", "pytorch"):
            self.assertEqual(values[f"{system}_sgd_seeds"]["value"], 20)
            self.assertEqual(values[f"{system}_sgd_exact"]["value"], 60)

    def test_another_story_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "tests/golden")
            folder.mkdir(parents=True)
            Path(name, "lib").symlink_to(GOLDEN.parents[1] / "lib")
            script = folder / SCRIPT.name
            script.write_text(SCRIPT.read_text())
            for system in ("book", "pytorch"):
                file = f"toy_statistics_{system}.json"
                found = json.loads((GOLDEN / file).read_text())
                if system == "book":
                    for one in found["sgd"]:
                        one["final_loss"] *= 1000
                (folder / file).write_text(json.dumps(found))
            done = summary(folder, script)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("do not agree: sgd: losses from", done.stderr)


if __name__ == "__main__":
    unittest.main()
