"""Where everything is; and a small project in place of the book's: its pages are rendered, spoilt, and rendered again."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Where the modules are that are tested; so this one is imported before them.
sys.path[:0] = [str(ROOT / folder) for folder in ("bench", "docs", "docs/extensions", "docs/live", "lib/program", "tests")]
OFFLINE = ROOT / "docs" / "offline.py"
CHAPTER = "chapters/04_small_attention/index.md"
WORKBENCH = "chapters/00_workbench/index.md"


def run(*command: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MPLCONFIGDIR": tempfile.gettempdir(), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True, text=True, encoding="utf-8", check=False, env=environment,
    )


class Project:
    """A copy of the fixture, free to be spoilt."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.build = folder / "build"
        shutil.copytree(HERE / "fixture", self.root)
        self.build.mkdir()
        shutil.move(self.root / "figures", self.build / "figures")

    @property
    def html(self) -> Path:
        return self.build / "html"

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def add_narrow_figure(self) -> None:
        """A second shape of the figure, for phones."""
        figures = self.build / "figures/04_small_attention"
        for look in ("light", "dark"):
            shutil.copy(figures / f"weights.{look}.svg", figures / f"weights.narrow.{look}.svg")

    def render(self) -> subprocess.CompletedProcess[str]:
        return run(ROOT / "docs/build.py", "--root", self.root, "--build", self.build, "--jobs", 1)

    def tangle(self, *options: object) -> subprocess.CompletedProcess[str]:
        return run(ROOT / "docs/tangle.py", self.html, *options)


class Case(unittest.TestCase):
    def project(self) -> Project:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Project(Path(folder.name).resolve())

    def assert_succeeds(self, done: subprocess.CompletedProcess[str]) -> None:
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_refused(self, done: subprocess.CompletedProcess[str], *words: str) -> None:
        """It failed, and one line of what it said holds all the words."""
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 1, said)
        found = any(all(word in line for word in words) for line in said.splitlines())
        self.assertTrue(found, f"no line with {words} in:\n{said}")
