"""The kernels are CUDA C++, whatever the emulator makes of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sorted([*(ROOT / "lib").rglob("*.cu"), *(ROOT / "chapters").rglob("*.cu")])
TENSOR_CORES = ROOT / "tests/tensor_cores.cu"
FIRST = ROOT / "chapters/11_on_the_gpu/plain_cuda/first_kernel.cu"  # a program of its own, which CMake leaves out


sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "tests"))
import kernels
from nightly import nightly


@unittest.skipUnless(shutil.which("nvcc"), "there is no CUDA compiler (nvcc)")
class Compiler(unittest.TestCase):
    def assemble(self, arch: str) -> list[str]:
        """A line for each kernel. The compiler's warnings are errors, which fail."""
        self.assertGreater(len(KERNELS), 3)
        with ThreadPoolExecutor(2) as pool:
            return [str(k) for found in pool.map(lambda file: kernels.assemble(file, arch), KERNELS) for k in found]

    def test_what_the_assembler_says_is_what_is_recorded(self) -> None:
        made = kernels.RECORD.read_text(encoding="utf-8").splitlines()
        found = self.assemble("sm_90")
        if made[0].partition(".")[0] != f"CUDA {kernels.version()}".partition(".")[0]:
            self.skipTest(f"the record is of {made[0]}, and this is CUDA {kernels.version()}")
        self.assertEqual(made[2:], found, "if this is meant, write it down: python3 bench/kernels.py --record")

    @nightly
    def test_other_devices_assemblers_accept_every_kernel(self) -> None:
        for arch in ("sm_75", "sm_80", "sm_100"):
            self.assemble(arch)

    def test_tensor_cores_have_an_instruction_on_each_device_that_has_them(self) -> None:
        for arch in ("sm_80", "sm_90"):
            found = kernels.assemble(TENSOR_CORES, arch)
            self.assertEqual([k.name for k in found], [f"tensor_product_kernel<{t}>" for t in ("Bf16", "Tf32")])
            for kernel in found:  # on an older device the kernel only stops itself, which takes 9
                self.assertGreater(kernel.registers, 20, arch)

    def test_the_first_kernel_is_a_program_without_a_warning_that_says_when_there_is_no_device(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/first_kernel"
            command = ["nvcc", "-std=c++17", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", str(FIRST), "-o", program]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
            done = subprocess.run([program], capture_output=True, text=True, check=False)
        self.assertIn("cudaMalloc: " if done.returncode else "1000 sums, 0 of them wrong", done.stdout + done.stderr)

    def test_cmake_leaves_every_kernel_to_cuda_s_compiler(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = ["cmake", "--preset", "cuda", "-S", str(ROOT), "-B", folder]  # all that can be built, for a device
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            listed = subprocess.run(
                ["ninja", "-C", folder, "-t", "compdb"], capture_output=True, text=True, check=True
            ).stdout
        commands = json.loads(listed[listed.index("[") :])
        for source in set(KERNELS) - {FIRST}:
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
