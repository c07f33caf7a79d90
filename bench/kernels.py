#!/usr/bin/env python3
"""What CUDA's assembler, ptxas, says of each kernel: registers, shared memory, spills. No device is needed.

    python3 bench/kernels.py [--arch sm_90] [--record] [FILE...]

Prints a line for each kernel; --record writes all of them into bench/kernels.txt, which tests/docs/test_kernels.py compares.
The last column is how many warps of 32 threads the registers alone leave room for on a multiprocessor, which has 65,536 of
them and takes 64 warps: a block's size, and its shared memory, may allow fewer. Warnings of the compiler are errors.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "bench" / "kernels.txt"
REGISTERS, MOST_WARPS, UNIT = 65536, 64, 8  # of a multiprocessor; registers of a thread are given in units


@dataclass(frozen=True, order=True)
class Kernel:
    source: str
    name: str
    registers: int
    shared: int  # bytes, without what a launch asks for
    spills: int  # bytes, stored and loaded

    @property
    def warps(self) -> int:
        """That the registers leave room for."""
        return min(MOST_WARPS, REGISTERS // (-(-self.registers // UNIT) * UNIT * 32))

    def __str__(self) -> str:
        return f"{self.source:58} {self.name:62} {self.registers:9} {self.shared:6} {self.spills:5} {self.warps:5}"


HEAD = f"{'source':58} {'kernel':62} registers shared spill warps"


def sources() -> list[Path]:
    """The kernels' files."""
    return sorted(p for folder in ("lib", "chapters") for p in (ROOT / folder).rglob("*.cu"))


def options() -> list[str]:
    """What CMake defines for CUDA's compiler, and asks of it."""
    text = (ROOT / "cmake/Chapter.cmake").read_text(encoding="utf-8")
    found = ";".join(re.findall(r"COMPILE_LANGUAGE:CUDA>:([^>]*)>", text))
    assert found, "cmake/Chapter.cmake says nothing to CUDA's compiler"
    return [name if name.startswith("-") else f"-D{name}" for name in found.split(";")]


def version() -> str:
    """The compiler's: `13.0`; empty if there is none."""
    if not shutil.which("nvcc"):
        return ""
    said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", said)[1]


def assemble(source: Path, arch: str) -> list[Kernel]:
    """The kernels of a file.

    :raises RuntimeError: with what the compiler said, if it warned
    """
    with tempfile.TemporaryDirectory() as folder:
        command = ["nvcc", "-std=c++20", f"-arch={arch}", "-cubin", "-Werror", "all-warnings", "-Xptxas", "-v"]
        command += ["-I", str(ROOT), *options(), str(source), "-o", f"{folder}/kernels.cubin"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = subprocess.run(["c++filt"], input=done.stderr, capture_output=True, text=True, check=True).stdout
    if done.returncode != 0:
        raise RuntimeError(f"{source.relative_to(ROOT)}, {arch}:\n{said}")
    kernels = []
    for part in re.split(r"Compiling entry function '", said)[1:]:
        stores, loads = (int(re.search(rf"(\d+) bytes spill {what}", part)[1]) for what in ("stores", "loads"))
        shared = re.search(r"(\d+) bytes smem", part)
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        kernels.append(Kernel(str(source.relative_to(ROOT)), short(part[: part.index("' for '")]), registers,
                              int(shared[1]) if shared else 0, stores + loads))  # fmt: skip
    return sorted(kernels)


def short(name: str) -> str:
    """A kernel's name with its template arguments, but without namespaces and parameters."""
    name = re.sub(r"\(anonymous namespace\)::|abh::(cuda::)?|_GLOBAL__N__\w+::|<unnamed>::", "", name)
    name = re.sub(r"^void ", "", re.sub(r"\((int|bool|long|\w+)\)(?=[\w-])", "", name))
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return name[:i]
    return name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="only these files (default: all)")
    parser.add_argument("--arch", default="sm_90", help="the device's architecture (default sm_90)")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.relative_to(ROOT)}")
    parser.add_argument("--jobs", type=int, default=2, help="number of compilers at once (default 2)")
    options = parser.parse_args()
    if not version():
        print("kernels.py: there is no CUDA compiler (nvcc) on PATH", file=sys.stderr)
        return 1
    if options.record and (options.files or options.arch != "sm_90"):
        parser.error("the record holds all files, for sm_90")
    lines = [f"CUDA {version()}, {options.arch}", HEAD]
    files = [f.resolve() for f in options.files] or sources()
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            for kernels in pool.map(lambda f: assemble(f, options.arch), files):
                lines += map(str, kernels)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    print("\n".join(lines))
    if options.record:
        RECORD.write_text("\n".join(line.rstrip() for line in lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
