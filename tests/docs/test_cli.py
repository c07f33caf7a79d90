"""Every command in Python ends with one line when something is wrong, and with a status, whatever its reader and its disk do."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from project import ROOT

import cli

# Those of the judge end by themselves, since a pack has them alone; tests are unittest's.
ELSEWHERE = ("judge/", "tests/judge/", "tests/docs/", "tests/ranks/", "tests/resume/", "build/", "answers/")
MAIN = 'if __name__ == "__main__":\n'
COMMANDS = sorted(
    path
    for path in ROOT.rglob("*.py")
    if not (name := path.relative_to(ROOT).as_posix()).startswith(ELSEWHERE)
    and "/exercises/" not in name
    and not path.name.startswith("test_")
    and f"\n{MAIN}" in path.read_text(encoding="utf-8")
)
# What a reader may get wrong, and what is said of it; {} is a folder with an empty file and a page.
WRONG = {
    "docs/record.py --build {}": "record: these runs are missing in {}/runs: .*; ./book record makes them",
    "docs/run.py {}/out": "run: expected a folder, a caption, and a program with its options",
    "docs/formats --build {}": "formats: nothing to make: give --epub, --pdf or both",
    "docs/slides --build {}/none": "slides: (there are no pages yet; make them with: ./book build|Python's package .* is missing)",
    "docs/tangle.py {}/none": "tangle: there are no pages in {}/none; make them with: ./book build",
    "chapters/15_language_model/model.py nothing": "model: argument name: invalid choice: 'nothing' \\(choose from '?smollm2'?\\)",
    "bench/bench.py --threads 1,x": "bench: argument --threads: 1,x: expected numbers from 1 to 256, as in 1,2",
    "bench/bench.py --only nothing": "bench: no work nothing; see --list",
    "tests/mutate.py --only no_such": "mutate: no fault's name contains no_such; ./book mutate --list shows all names",
    "tests/mutate.py --list --only softmax --out {}/none": "mutate: {}/none/results.json: No such file or directory",
    "figures/draw.py nothing --results {} --out {}/out": "draw: there is no file .*/figures/nothing.py",
}
PLAIN = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def run(*words: str | Path, output: object = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=PLAIN, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
        text=True, check=False,
    )  # fmt: skip


class Commands(unittest.TestCase):
    def test_each_ends_by_the_same_function(self) -> None:
        self.assertGreater(len(COMMANDS), 25)
        for path in COMMANDS:
            text = path.read_text(encoding="utf-8")
            self.assertTrue(text.endswith(f"\n\n{MAIN}    cli.run(main)\n"), path)
            self.assertNotRegex(text, r"\b(sys\.exit|SystemExit)\b", path)
            before = re.findall(r"^(?:import|from) (\w+)(?=[.,\n]| import| as)", text[: text.index("\nimport cli")], re.MULTILINE)
            self.assertLessEqual(set(before), sys.stdlib_module_names, f"{path}: what may be missing is imported before cli")

    def test_what_is_wrong_is_said_in_one_line(self) -> None:
        with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
            folder = Path(name)
            (folder / "file").touch()
            (folder / "html").mkdir()
            (folder / "html/index.html").write_text("<p>A page</p>")

            def called(words: str) -> subprocess.CompletedProcess[str]:
                return run(*words.format(*[folder] * 9).split())

            for (words, said), done in zip(WRONG.items(), pool.map(called, WRONG), strict=True):
                with self.subTest(words):
                    self.assertEqual(done.returncode, 1, done)
                    self.assertRegex(done.stderr, rf"^{said.format(*[re.escape(name)] * 9)}.*\n$")
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_reader_that_has_gone_a_full_disk_and_a_closed_output_end_it(self) -> None:
        words = ["tests/mutate.py", "--list"]
        read, write = os.pipe()
        os.close(read)
        with open(write, "w") as gone:
            done = run(*words, output=gone)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        with open("/dev/full", "w") as full, contextlib.suppress(OSError):
            done = run(*words, output=full)
        self.assertEqual((done.returncode, done.stderr), (1, "mutate: No space left on device\n"))
        done = run("-c", f"import os, sys; os.close(1); os.execv(sys.executable, ['python', *{words}])")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^mutate: the standard output is closed; send it to /dev/null .*\n$")

    def test_ctrl_c_and_a_signal_to_end_stop_it_with_its_workers(self) -> None:
        script = (
            "import sys, time; sys.path.insert(0, 'lib/program'); import cli\n"
            "from concurrent.futures import ProcessPoolExecutor\n"
            "def main():\n"
            "    with ProcessPoolExecutor(1, initializer=cli.quiet_worker) as pool:\n"
            "        pool.submit(print, 'ready', flush=True).result()\n"
            "        pool.submit(time.sleep, 60).result()\n"
            "cli.run(main)"
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            with (
                self.subTest(number),
                subprocess.Popen(
                    [sys.executable, "-c", script], cwd=ROOT, env=PLAIN, text=True, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, start_new_session=True,
                ) as process,
            ):  # fmt: skip
                assert process.stdout is not None
                process.stdout.readline()
                os.killpg(process.pid, number)  # as a terminal does, to all of them
                _, said = process.communicate(timeout=30)
                self.assertEqual((process.returncode, said), (130, "<string>: stopped\n"))

    def test_each_kind_of_error_is_one_line_that_names_what_it_is_about(self) -> None:
        failed = subprocess.CalledProcessError(2, ["em++", "a.cpp"], stderr="first\nlast\n")
        missing = ModuleNotFoundError("No module named 'torch'", name="torch")
        os.chdir(ROOT)
        for error, said in (
            (MemoryError(), "not enough memory"),
            (failed, r"em\+\+ ended with status 2: last"),
            (missing, "Python's package torch is missing; the first lines of .* say how it is started"),
            (KeyError("a\nb"), r"tests/docs/test_cli.py:\d+: KeyError: 'a\\nb'; python3 -X dev says more"),
        ):
            try:
                raise error
            except Exception as caught:  # noqa: BLE001
                self.assertRegex(cli.explained(caught), f"^{said}$")
