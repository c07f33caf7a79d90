"""The front door, ./book: whichever way leads to it, it works in the checkout's own folder; what cannot be built there it says."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

from project import ROOT

# Stand-ins on PATH: a system with all packages, where nothing may be installed; CMake says where it was started and
# makes the one chapter's program, which says where it lies.
STAND_INS = {
    "dpkg": "echo amd64",
    "dpkg-query": "echo 'amd64 installed'",
    "id": "echo 1000",
    "sudo": "exit 1",
    "nvcc": "exit 1",
    "nvidia-smi": "exit 1",
    "cmake": """printf '%s\\n' "$PWD" >>"$CMAKE_LOG"
program=build/book/chapters/00_first/first
mkdir -p "${program%/*}"
[ -e build/book/CMakeCache.txt ] ||
    printf '%s\\n' CMAKE_PROJECT_NAME:STATIC=attention_by_hand "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/book/CMakeCache.txt
printf '%s\\n' '#!/bin/sh' 'echo "$0"' >$program
chmod +x $program""",
}


class FrontDoor(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()
        stand_ins = self.folder / "bin"
        stand_ins.mkdir()
        for name, text in STAND_INS.items():
            (stand_ins / name).write_text(f"#!/bin/sh\n{text}\n")
            (stand_ins / name).chmod(0o755)
        self.environment = {
            "PATH": f"{stand_ins}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "CMAKE_LOG": str(self.folder / "cmake.log"),
        }

    def checkout(self, name: str = "checkout") -> Path:
        root = self.folder / name
        (root / "chapters/00_first").mkdir(parents=True)
        shutil.copy2(ROOT / "book", root)
        return root

    def call(self, *words: str | Path, where: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=where or self.folder, env=self.environment | environment, capture_output=True, text=True, check=False
        )

    def run_book(self, *words: str | Path, where: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.call(*words, "run", "00", where=where, **environment)

    def expect_built_in(self, root: Path, done: subprocess.CompletedProcess[str]) -> None:
        self.assertEqual(done.stdout, f"{root}/build/book/chapters/00_first/first\n", done.stderr)
        log = self.folder / "cmake.log"
        self.assertEqual(set(log.read_text().splitlines()), {str(root)})
        log.unlink()

    def test_a_symbolic_link_leads_to_the_checkout(self) -> None:
        root = self.checkout()
        (self.folder / "link").symlink_to(root)
        door = self.folder / "attention"
        door.symlink_to("link/book")
        for book, where in ((self.folder / "link" / "book", self.folder), ("./book", self.folder / "link"), ("attention", self.folder)):
            with self.subTest(book):
                done = self.run_book(book, where=where, PATH=f"{self.environment['PATH']}:{self.folder}", PWD=str(where))
                self.expect_built_in(root, done)
                self.assertEqual(done.stderr, "")

    def test_cdpath_leads_nowhere_else(self) -> None:
        root = self.checkout()
        (self.folder / "home/checkout").mkdir(parents=True)
        done = self.run_book("checkout/book", CDPATH=f"{self.folder}/home:.:{root}")
        self.expect_built_in(root, done)

    def test_settings_for_other_work_do_not_reach_its_tools(self) -> None:
        root = self.checkout()
        python = self.folder / "bin/python3"
        python.write_text("#!/bin/sh\nenv | grep -E '^(PYTHON|GREP)'\n")
        python.chmod(0o755)
        settings = {"PYTHONPATH": "/else", "PYTHONHOME": "/else", "PYTHONSAFEPATH": "1", "PYTHONOPTIMIZE": "2", "GREP_OPTIONS": "-n"}
        done = self.call(root / "book", "model", **settings)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "PYTHONUTF8=1\n", ""))

    def test_a_build_folder_that_cannot_be_written_to_is_said(self) -> None:
        root = self.checkout()
        (root / "build").touch()
        for verb in (["build"], ["run", "00"], ["test"], ["check"]):
            done = self.call(root / "book", *verb)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, f"^book: nothing can be written into {root}/build; [^\\n]*\\n$")

    def test_pages_are_served_to_this_machine_alone_until_ctrl_c(self) -> None:
        root = self.checkout()
        self.assertIn("there are no pages yet", self.call(root / "book", "serve").stderr)
        (root / "build/book/html").mkdir(parents=True)
        (root / "build/book/html/index.html").write_text("<p>A page</p>")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            for port, said in ((taken.getsockname()[1], "is taken; choose another"), (70000, "a number up to 65535, not 70000")):
                self.assertRegex(self.call(root / "book", "serve", str(port)).stderr, rf"^book: .*{said}.*\n$")
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background job ignores it, and so would a child
        self.addCleanup(signal.signal, signal.SIGINT, before)
        command = [root / "book", "serve", "0"]
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            address = re.search(r"\((http://127\.0\.0\.1:\d+/)\)", process.stdout.readline())[1]
            with urllib.request.urlopen(address, timeout=30) as answer:
                self.assertEqual(answer.read(), b"<p>A page</p>")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 0)

    def test_a_closed_output_is_said(self) -> None:
        script = self.checkout() / "book"
        for verb in ("--help", "run"):
            done = self.call("bash", "-c", '"$@" >&-', "bash", script, verb)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, "^book: the standard output is closed; [^\n]*\n$")

    def test_what_was_built_before_a_checkout_was_moved_is_deleted_and_said(self) -> None:
        old = self.checkout("old")
        self.run_book("old/book")
        for path in ("build/book/results/main.txt", "build/checkpoints/toy", "build/mine/CMakeCache.txt", "answers/04.2.cpp"):
            (old / path).parent.mkdir(parents=True, exist_ok=True)
            (old / path).write_text("mine")
        root = old.rename(self.folder / "moved")
        (self.folder / "cmake.log").unlink()
        done = self.run_book(root / "book")
        self.expect_built_in(root, done)
        self.assertIn(f"deleting {root}/build/book/, which was built in {old}:", done.stderr)
        left = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and p.read_text() == "mine")
        self.assertEqual(left, ["answers/04.2.cpp", "build/checkpoints/toy", "build/mine/CMakeCache.txt"])
        self.assertEqual(self.run_book(root / "book").stderr, "")

    def test_a_model_that_an_answer_trained_takes_no_other_ones_place(self) -> None:
        root = self.checkout()
        (root / "chapters/10_translating").mkdir()
        judge = self.folder / "bin/python3"  # python3 -m judge mine BUILD PROGRAM EXERCISE...
        judge.write_text('#!/bin/sh\nmkdir -p "${5%/*}"\nprintf \'#!/bin/sh\\necho $ABH_CHECKPOINTS\\n\' >"$5"\nchmod +x "$5"\necho "$5"\n')
        judge.chmod(0o755)

        def place(*words: str, **environment: str) -> str:
            return self.call(root / "book", "run", *words, **environment).stdout.removeprefix(f"{root}/build/").strip()

        self.assertEqual(place("00", "--mine", "04.2"), "checkpoints-mine-04.2")
        self.assertEqual(place("00", "--mine", "04.2", "--mine", "06.3"), "checkpoints-mine-04.2-06.3")
        self.assertEqual(place("10", "--mine", "04.2"), "checkpoints")  # it translates with the book's
        self.assertEqual(place("00", "--mine", "04.2", ABH_CHECKPOINTS="/own"), "/own")

    def test_a_path_in_which_nothing_can_be_built_is_refused(self) -> None:
        for sign in ";#\":|<>[]*?\\\n\t\r":
            with self.subTest(sign):
                root = self.checkout(f"a{sign}b")
                done = self.run_book(root / "book")
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, r"^book: nothing can be built in .*: CMake.*\n  move the checkout[^\n]*\n$")
                self.assertFalse((root / "build").exists())

    def test_any_other_path_is_right(self) -> None:
        for name in ("two words", "été 変形", "a(b){d}%+=,@!$'&`^", "-x", "~"):
            with self.subTest(name):
                root = self.checkout(name)
                done = self.run_book(root / "book", LC_ALL="C")
                self.expect_built_in(root, done)
                self.assertEqual(done.stderr, "")
