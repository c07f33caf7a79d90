"""bench/gpu, where there is no device."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import io
import shutil
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent


class Gpu(unittest.TestCase):
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("bench_gpu", str(REPOSITORY / "bench" / "gpu"))
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

    def test_a_step_that_would_take_the_time_of_others_is_skipped(self):
        run = self.gpu.Run(minutes=1, build=Path("build"))
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual("a\n", run.step("one", ["echo", "a"], keep_free=30))
            self.assertIsNone(run.step("two", ["echo", "b"], keep_free=90))
        self.assertEqual(["ok", "no time was left"], [s["result"] for s in run.report["steps"]])
        self.assertFalse(run.failed)

    def test_the_table_compares_with_a_copy_and_with_peers(self):
        works = {"copy": {"bytes": 8e6, "us": {"ours": 2.0}}, "softmax": {"bytes": 8e6, "us": {"ours": 4.0, "PyTorch fp32": 3.0}}}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.gpu.print_table(works)
        self.assertRegex(printed.getvalue(), r"softmax +4.0 +2000 +50% +PyTorch fp32 0.75")


if __name__ == "__main__":
    unittest.main()
