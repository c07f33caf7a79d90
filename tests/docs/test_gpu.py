"""bench/gpu, where there is no device."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import re
import shutil
import tempfile
import time
import unittest
from pathlib import Path

from project import ROOT

# Seconds that an H200 with 16 cores would take, as estimated from the machine code and from what others report; of words
# that a command contains, the last one counts.
SECONDS = {
    "bench_gpu": 4, "step,base_decode": 7, "base_decode,toy_step": 8, "ladder,": 6, "--style": 30, "softmax,": 45, "base_step --rounds 1": 75, "import": 8,
    "cmake -S": 5, "cmake --build": 60, "--target tests": 90, "ctest": 15, "-R _cuda$": 45, "compute-sanitizer": 150,
    "l1tex": 20, "dram__bytes": 30,
}  # fmt: skip
HOME = {
    "fast": [
        "  5 ok      configure",
        " 13 ok      is PyTorch there?",
        " 73 ok      build, while PyTorch compiles its step",
        " 80 ok      ours: base step and decoding in bf16",
        " 84 ok      ours: base step",
        "114 ok      PyTorch: base step, compiled",
        "144 ok      PyTorch: base step, eager, and decoding",
        "152 ok      ours: decoding, the toy, and the step in full precision",
        "158 ok      ours: the ladder",
        "162 ok      ours: chapter 11's variants",
        "166 ok      ours: a weight's gradient, with and without sums",
        "186 ok      what the hardware counts of chapter 11",
        "216 ok      what the hardware counts of a step",
        "240 stopped ours: single operations",
        "240 no time ours: attention and a product in bf16",
        "240 no time PyTorch: single operations",
    ],
    "right": [
        "  5 ok      configure",
        " 65 ok      build the kernels' tests",
        " 80 ok      the kernels' tests, each launch alone",
        " 95 ok      the kernels' tests, with pooled memory",
        "195 stopped four tools on the kernels' tests, and the other tests are built",
        "240 ok      the other tests",
    ],
}  # the second, what came of it, and the step


class Gpu(unittest.TestCase):
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("bench_gpu", str(ROOT / "bench" / "gpu"))
        self.gpu = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_gpu", loader))
        loader.exec_module(self.gpu)

    @unittest.skipUnless(shutil.which("dpkg-query"), "not Debian")
    def test_a_bundle_holds_what_cmake_finds(self):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            file = Path(name) / "packages.tar.gz"
            self.assertEqual(0, self.gpu.bundle(file))
            prefix = self.gpu.unpacked(file, Path(name) / "packages")[0].partition("=")[2]
            for config in ("Eigen3Config.cmake", "fmt-config.cmake", "CLI11Config.cmake", "nlohmann_jsonConfig.cmake"):
                self.assertTrue(list(Path(prefix).rglob(config)), config)

    def run_for(self, minutes: float = 1, **more) -> object:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return self.gpu.Run("fast", minutes, Path(folder.name), **more)

    def test_a_step_that_would_take_the_time_of_others_is_skipped(self):
        run = self.run_for()
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual("a\n", run.step("one", ["echo", "a"], keep_free=30))
            self.assertIsNone(run.step("two", ["echo", "b"], keep_free=90))
        self.assertEqual(["ok", "no time was left"], [s["result"] for s in run.steps])
        self.assertFalse(run.failed)

    def test_what_a_step_has_started_ends_with_it_and_what_it_printed_stays(self):
        run = self.run_for()
        with contextlib.redirect_stdout(io.StringIO()):
            told = run.step("cut", ["sh", "-c", "sleep 600 & echo $!; wait"], beside=[["sleep", "600"]], at_least=0, at_most=2)
        self.assertEqual("stopped at the time limit", run.steps[0]["result"])
        while Path(f"/proc/{int(told)}").exists():  # it has been killed, and goes as soon as somebody waits for it
            time.sleep(0.01)
        known = json.loads((run.out / "fast.json").read_text())
        self.assertEqual("cut", known["steps"][0]["step"])

    def test_a_step_that_fails_stops_nothing(self):
        run = self.run_for()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual("why\n", run.step("fails", ["sh", "-c", "echo why; exit 3"]))
            self.assertFalse(run.ok)
            self.assertIn("No such file", run.step("is not there", ["/no/such/program"]))
            self.assertEqual("b\n", run.step("goes on", ["echo", "b"]))
        self.assertEqual(["exit status 3", "exit status 1", "ok"], [s["result"] for s in run.steps])
        self.assertIn("why", said.getvalue())

    def stand_in(self, call: str) -> list[str]:
        """What a machine would do that takes as long for each command as is said below: the second at which each step is home."""
        now = 0.0

        def execute(commands, beside, logs, limit, env):
            nonlocal now
            needed = [[s for word, s in SECONDS.items() if word in " ".join(map(str, c))][-1] for c in commands]
            for command, log in zip([*commands, *beside], logs, strict=True):
                works = re.findall(r"--only (\S+)", " ".join(map(str, command)))
                lines = [json.dumps({"name": name, "us": [1.0], "precision": "bf16", "style": "compiled"}) for name in works]
                log.write_text("yes\n" + "\n".join(lines))
            now += min(limit, max(needed))
            return [0 if seconds <= limit else None for seconds in needed]

        run = self.run_for(4, execute=execute, clock=lambda: now)
        run.name = call
        options = argparse.Namespace(call=call, tiny=False, packages=None, cmake=[])
        with contextlib.redirect_stdout(io.StringIO()):
            self.gpu.whole(run, options)
        self.assertLessEqual(now, 240)
        self.assertIn(f"{call}.json", [p.name for p in run.out.iterdir()])
        return [f"{s['at'] + s.get('seconds', 0):3.0f} {s['result'][:7]:7} {s['step']}" for s in run.steps]

    def test_what_matters_most_is_home_first_and_all_ends_in_time(self):
        for call, table in HOME.items():
            with self.subTest(call=call):
                self.assertEqual(table, self.stand_in(call))

    def test_the_table_compares_with_a_copy_and_with_peers(self):
        works = {"copy": {"bytes": 8e6, "us": {"ours": 2.0}}, "softmax": {"bytes": 8e6, "us": {"ours": 4.0, "PyTorch fp32": 3.0}}}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.gpu.print_table(works)
        self.assertRegex(printed.getvalue(), r"softmax +4.0 +2000 +50% +PyTorch fp32 0.75")
