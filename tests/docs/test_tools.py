"""Python tools are installed where the book wants them, whatever the user's pip is set to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lib/program"), str(ROOT / "docs")]

import cli
import tools

WHEEL = {
    "tiny.py": "",
    "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
    "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny-1.0.dist-info/RECORD": "tiny.py,,\n",
}


class Install(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()
        for name in ("home/.config/pip", "wheels"):
            (self.folder / name).mkdir(parents=True)
        with zipfile.ZipFile(self.folder / "wheels/tiny-1.0-py3-none-any.whl", "w") as wheel:
            for name, text in WHEEL.items():
                wheel.writestr(name, text)

    def settings(self, *lines: str, **variables: str) -> mock._patch_dict:
        """The user's: a file, and variables."""
        (self.folder / "home/.config/pip/pip.conf").write_text("\n".join(["[global]", "no-index = true", *lines, ""]))
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "XDG_", "PYTHON"))}
        return mock.patch.dict(os.environ, plain | {"HOME": str(self.folder / "home")} | variables, clear=True)

    def test_it_goes_into_the_virtual_environment_and_comes_from_where_pip_is_told(self) -> None:
        wanted, venv = self.folder / "requirements.txt", self.folder / "venv"
        wanted.write_text("tiny==1.0\n")
        (self.folder / "old.txt").write_text("tiny==0.9\n")
        file = ("user = true", "quiet = 1", f"python = {self.folder}/none", f"find-links = {self.folder}/wheels", "[install]", f"target = {self.folder}/target")
        variables = {
            "PIP_USER": "1", "PIP_PREFIX": f"{self.folder}/prefix", "PIP_ROOT": f"{self.folder}/root", "PIP_DRY_RUN": "1",
            "PIP_REQUIRE_VIRTUALENV": "1", "PIP_CONSTRAINT": f"{self.folder}/old.txt",
        }  # fmt: skip
        with self.settings(*file, **variables):
            python = tools.install(wanted, venv)
            where = subprocess.run([python, "-c", "import tiny; print(tiny.__file__)"], capture_output=True, text=True, check=True).stdout
            self.assertTrue(where.startswith(f"{venv}/lib/"), where)
            with mock.patch.object(subprocess, "run", side_effect=AssertionError("is installed already")):
                self.assertEqual(tools.install(wanted, venv), python)
            wanted.write_text("tiny==2.0\n")
            with self.assertRaisesRegex(cli.Failure, "^pip could not install .*requirements.txt; its messages are above$"):
                tools.install(wanted, venv)
        made = {path.name for path in self.folder.iterdir()}
        self.assertEqual(made, {"home", "wheels", "requirements.txt", "old.txt", "venv", "venv.lock"})
        self.assertFalse((self.folder / "home/.local").exists())


if __name__ == "__main__":
    unittest.main()
