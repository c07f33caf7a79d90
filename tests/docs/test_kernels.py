"""The kernels are CUDA C++, whatever the emulator makes of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sorted([*(ROOT / "lib").rglob("*.cu"), *(ROOT / "chapters").rglob("*.cu")])


def options() -> list[str]:
    """What CMake defines for CUDA's compiler, and asks of it."""
    text = (ROOT / "cmake/Chapter.cmake").read_text(encoding="utf-8")
    found = ";".join(re.findall(r"COMPILE_LANGUAGE:CUDA>:([^>]*)>", text))
    assert found, "cmake/Chapter.cmake says nothing to CUDA's compiler"
    return [name if name.startswith("-") else f"-D{name}" for name in found.split(";")]


@unittest.skipUnless(shutil.which("nvcc"), "there is no CUDA compiler (nvcc)")
class Compiler(unittest.TestCase):
    def compile(self, source: Path) -> str:
        """Messages of the compiler, for the oldest device; empty where it is content."""
        with tempfile.TemporaryDirectory() as folder:
            command = ["nvcc", "-std=c++20", "-arch=compute_75", "-ptx", "-I", str(ROOT)]
            command += [*options(), str(source), "-o", f"{folder}/kernel.ptx"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.stderr if done.returncode else ""

    def test_cuda_s_compiler_accepts_every_kernel(self) -> None:
        self.assertGreater(len(KERNELS), 3)
        with ThreadPoolExecutor(2) as pool:
            for source, messages in zip(KERNELS, pool.map(self.compile, KERNELS), strict=True):
                with self.subTest(source.relative_to(ROOT).as_posix()):
                    self.assertEqual(messages, "")

    def test_cmake_leaves_every_kernel_to_cuda_s_compiler(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = ["cmake", "--preset", "cuda", "-S", str(ROOT), "-B", folder]  # all that can be built, for a device
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            listed = subprocess.run(
                ["ninja", "-C", folder, "-t", "compdb"], capture_output=True, text=True, check=True
            ).stdout
        commands = json.loads(listed[listed.index("[") :])
        for source in KERNELS:
            found = [c["command"] for c in commands if c["file"] == str(source)]
            with self.subTest(source.relative_to(ROOT).as_posix()):
                self.assertTrue(found)
                self.assertTrue(all("nvcc" in command for command in found), found)


class Twins(unittest.TestCase):
    def test_no_kernel_adds_floats_in_an_order_that_nobody_knows(self) -> None:
        for source in KERNELS:
            self.assertNotIn("atomicAdd", source.read_text(encoding="utf-8"), source.name)


if __name__ == "__main__":
    unittest.main()
