"""The kernels are CUDA C++, whatever the emulator makes of them."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from project import ROOT
KERNELS = sorted([*(ROOT / "lib").rglob("*.cu"), *(ROOT / "chapters").rglob("*.cu")])
TENSOR_CORES = ROOT / "tests/tensor_cores.cu"
FIRST = ROOT / "chapters/11_on_the_gpu/plain_cuda/first_kernel.cu"  # a program of its own, which CMake leaves out
INSTRUCTIONS = re.compile(r" (\w+) +\d+ +\d+ +\d+ +\d+ +(\d+\.\d+)$", re.MULTILINE)
QUOTED = [  # what pages say of a kernel's instructions for an element
    ("02_positional_encoding/gpu.md", "dropout_kernel", r"executes some (\d+) instructions for an element"),
    ("06_feed_forward/gpu.md", "relu_kernel", r"executes (\d+) instructions for it"),
    ("06_feed_forward/gpu.md", "relu_backward_kernel", r"12 bytes and executes (\d+)\."),
    ("06_feed_forward/gpu.md", "swish_kernel", r"(\d+) instructions forward"),
    ("06_feed_forward/gpu.md", "swish_backward_kernel", r"some (\d+) backward"),
    ("09_training/gpu.md", "sgd_kernel", r"kernels take (\d+) for a weight with `Sgd`"),
    ("09_training/gpu.md", "adam_kernel", r"(\d+) with `Adam`"),
    ("09_training/gpu.md", "cross_entropy_kernel", r"executes some (\d+) instructions for a word"),
    ("09_training/gpu.md", "cross_entropy_backward_kernel", r"three operations, in some (\d+) instructions"),
    ("09_training/gpu.md", "argmax_kernel", r"in some (\d+) instructions for a word"),
    ("04_scaled_dot_product_attention/gpu.md", "long_softmax_kernel", r"executes some (\d+) instructions for a score"),
    ("11_on_the_gpu/kernels.md", "relu_kernel", r"or (\d+\.\d) per element"),
]
# instructions for an element that kernels may execute, where exponentials, divisions, roots or Philox's rounds take most of them
BOUNDS = re.compile(r"__launch_bounds__\((.*?)(?:, .*)?\)\n\s+\w+\([^{]*\{\n(.*)")
ARITHMETIC = {"swish_kernel": 25, "swish_backward_kernel": 31, "dropout_kernel": 31, "adam_kernel": 36}
ARITHMETIC |= {"argmax_kernel": 28, "cross_entropy_kernel": 56, "long_softmax_kernel": 56}  # what 4 and 8 bytes afford

# bytes that kernels store and load for want of registers, by CUDA 13.0, which these pages tell; for sm_90 there are none
SPILLING = ("05_multi_head_attention/gpu.md", "11_on_the_gpu/attention.md", "11_on_the_gpu/product.md")
SPILLS: dict[str, dict[str, int]] = {
    **{old: {"dkv_kernel<32, false>": 40, "dq_kernel<32, false>": 8} for old in ("sm_75", "sm_80")},
    "sm_100": {"dkv_kernel<32, false>": 136, "stages_kernel<InRegisters>": 56,
               **{f"dkv_bf16_kernel<64, {short}>": 16 for short in ("false", "true")}},
    "sm_120": {"dkv_kernel<32, false>": 136, "dq_kernel": 48, "stages_kernel<InRegisters>": 32},
}

import kernels
from nightly import nightly


@unittest.skipUnless(shutil.which("nvcc"), "there is no CUDA compiler (nvcc)")
class Compiler(unittest.TestCase):
    def assemble(self, arch: str) -> list[kernels.Kernel]:
        """All kernels. The compiler's warnings are errors, which fail."""
        self.assertGreater(len(KERNELS), 3)
        with ThreadPoolExecutor(2) as pool:
            return [k for found in pool.map(lambda file: kernels.assemble(file, arch), KERNELS) for k in found]

    @nightly
    def test_what_the_assembler_says_is_what_is_recorded(self) -> None:
        made = kernels.RECORD.read_text(encoding="utf-8").splitlines()
        assembled = self.assemble(kernels.ARCH)
        self.assertEqual([k for k in assembled if k.spills], [])
        dear = {k.name: k.instructions for k in assembled if k.instructions and k.instructions > 20}
        self.assertEqual({name for name, n in dear.items() if n > ARITHMETIC.get(name, 20)}, set(), dear)
        found = [str(k) for k in assembled]
        if not shutil.which("nvdisasm"):  # which counts instructions, the last column
            made = [line[: kernels.HEAD.rindex(" ")].rstrip() for line in made]
        if made[0].partition(".")[0] != f"CUDA {kernels.version()}".partition(".")[0]:
            self.skipTest(f"the record is of {made[0]}, and this is CUDA {kernels.version()}")
        self.assertEqual(made[2:], found, "if this is meant, write it down: python3 bench/kernels.py --record")

    @nightly
    def test_other_devices_assemblers_accept_every_kernel(self) -> None:
        pages = [(ROOT / "chapters" / page).read_text(encoding="utf-8") for page in SPILLING]
        for arch, spills in SPILLS.items():
            found = {k.name.partition("<128")[0]: k.spills for k in self.assemble(arch) if k.spills}
            self.assertTrue(all(any(re.search(rf"\b{n}\b", page) for page in pages) for n in spills.values()))
            if kernels.version() == "13.0":
                self.assertEqual(found, spills, arch)

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


class Counts(unittest.TestCase):
    def test_instructions_are_those_of_the_shortest_way_past_the_widest_store(self) -> None:
        code = """
        /*0000*/                   ISETP.GE.U32.AND P0, PT, R4, UR6, PT ;
        /*0010*/               @P0 EXIT ;
        /*0020*/              @!P1 BRA `(.L_x_1) ;
        /*0030*/                   LDG.E.128 R4, desc[UR4][R8.64] ;
        /*0040*/               @P2 BRA `(.L_x_0) ;
        /*0050*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_u64) ;
        /*0060*/                   STG.E.128 desc[UR4][R8.64], R4 ;
        /*0070*/                   EXIT ;
.L_x_0:
        /*0080*/                   FADD R4, R4, R4 ;
        /*0090*/                   STG.E.128 desc[UR4][R8.64], R4 ;
        /*00a0*/                   BRA `(.L_x_2) ;
.L_x_1:
        /*00b0*/                   STG.E desc[UR4][R8.64], R4 ;
.L_x_2:
        /*00c0*/                   EXIT ;"""
        self.assertEqual(kernels.shortest(code.splitlines()), 9)  # by hand: 0 to 4, 8 to a, c

    def test_a_turn_of_a_loop_is_the_shortest_way_from_the_widest_store_back_to_itself(self) -> None:
        code = """
        /*0000*/               @P0 BRA `(.L_x_2) ;
.L_x_0:
        /*0010*/                   LDG.E.128 R4, desc[UR4][R8.64] ;
        /*0020*/               @P1 BRA `(.L_x_1) ;
        /*0030*/                   FADD R4, R4, R4 ;
        /*0040*/                   FADD R4, R4, R4 ;
.L_x_1:
        /*0050*/                   STG.E.128 desc[UR4][R8.64], R4 ;
        /*0060*/               @P2 BRA `(.L_x_0) ;
.L_x_2:
        /*0070*/                   STG.E desc[UR4][R8.64], R4 ;
        /*0080*/               @P3 BRA `(.L_x_2) ;
        /*0090*/                   EXIT ;"""
        self.assertEqual(kernels.shortest(code.splitlines(), turn=True), 4)  # by hand: 1, 2, 5, 6

    def test_the_loop_that_multiplies_is_the_innermost(self) -> None:
        code = """
.L_x_0:
        /*0000*/                   LDS R4, [R2] ;
.L_x_1:
        /*0010*/                   FFMA R6, R4, R5, R6 ;
        /*0020*/                   FFMA.FTZ R7, R4, R5, R7 ;
        /*0030*/               @P0 BRA `(.L_x_1) ;
.L_x_2:
        /*0040*/                   FFMA R6, R4, R5, R6 ;
        /*0050*/               @P1 BRA `(.L_x_2) ;
        /*0060*/              @!P2 BRA `(.L_x_3) ;
.L_x_3:
        /*0070*/                   EXIT ;"""
        self.assertEqual(kernels.multiplying(code.splitlines()), (2, 3))
        outer = code.replace("(.L_x_3)", "(.L_x_0)")  # with all three
        self.assertEqual(kernels.multiplying(outer.splitlines()), (3, 7))

    def test_the_ladder_s_page_quotes_what_is_recorded(self) -> None:
        page = (ROOT / "chapters/11_on_the_gpu/product.md").read_text(encoding="utf-8")
        rungs = [line.split() for line in kernels.RECORD.read_text(encoding="utf-8").splitlines() if "/ladder.cu " in line]
        self.assertEqual(len(rungs), 8)
        for *_, registers, _, _, warps, loop in rungs:
            multiply, every = loop.split("/")
            row = rf"\| {multiply} of {every}, {round(100 * int(multiply) / int(every))} % \| {registers} \| {warps} \|"
            self.assertRegex(page, row)

    def test_pages_quote_the_instructions_that_are_recorded(self) -> None:
        recorded = INSTRUCTIONS.findall(kernels.RECORD.read_text(encoding="utf-8"))
        each = {kernel: float(instructions) for kernel, instructions in recorded}
        for page, kernel, says in QUOTED:
            with self.subTest(page=page, kernel=kernel):
                quoted = re.findall(says, (ROOT / "chapters" / page).read_text(encoding="utf-8"))
                self.assertEqual(len(quoted), 1, says)
                self.assertLessEqual(abs(float(quoted[0]) - each[kernel]), 0.5)

    def test_the_fewest_blocks_that_any_limit_leaves_are_those_that_fit(self) -> None:
        def warps(registers: int, shared: int, threads: int) -> int:
            return kernels.Kernel("", "", registers, shared, 0, threads, None).warps

        self.assertEqual(warps(40, 10 << 10, 256), 48)  # chapter 11 computes this one by hand
        self.assertEqual(warps(166, 0, 256), 8)
        self.assertEqual(warps(16, 56 << 10, 256), 32)
        self.assertEqual(warps(16, 0, 32), 32)
        self.assertEqual(warps(16, 0, 1024), 64)


class Twins(unittest.TestCase):
    def test_the_emulator_checks_each_launch_bound(self) -> None:
        checked = [
            self.assertEqual(first.strip(), f"threads_at_most({bound});", kernel)
            for kernel in KERNELS
            for bound, first in BOUNDS.findall(kernel.read_text(encoding="utf-8"))
        ]
        self.assertEqual(len(checked), sum(k.read_text(encoding="utf-8").count("__launch_bounds__") for k in KERNELS))
        self.assertGreater(len(checked), 0)

    def test_no_kernel_adds_floats_in_an_order_that_nobody_knows(self) -> None:
        for source in KERNELS:
            self.assertNotIn("atomicAdd", source.read_text(encoding="utf-8"), source.name)
