"""What CUDA's assembler, ptxas, makes of each kernel: registers, shared memory, spills. No device is needed.

    python3 bench/kernels.py [--record]

Prints a line for each kernel; --record also writes them into bench/kernels.txt, which tests/docs/test_kernels.py compares.
The column `warps` is how many warps of 32 threads fit into a multiprocessor of compute capability 9.0, in blocks of the size
that the kernel names with __launch_bounds__, or of 256 threads. (Shared memory that only a launch asks for may allow fewer.)
The last column is how many instructions an elementwise kernel executes for each element where a thread takes four, on the
shortest way. For kernels of a list, it is a turn of the loop over a chunk's elements, without finding the chunk; for those of a row
(`for_row`), its loops that load four elements. For chapter 11's ladder, it is how many of the innermost loop's instructions multiply: 64/75. It needs CUDA's disassembler, nvdisasm.
Warnings of the compiler are errors.
"""

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
sys.path.insert(0, str(ROOT / "lib/program"))

import cli

RECORD = ROOT / "bench" / "kernels.txt"
ARCH = "sm_90"  # of the record
REGISTERS, UNIT = 65536, 8  # of a multiprocessor; those of a thread are given in units
SHARED, SYSTEM = 228 << 10, 1 << 10  # bytes of a multiprocessor, and those that the system keeps for each block
MOST_WARPS, MOST_BLOCKS = 64, 32
WARP, BLOCK, FOUR = 32, 256, 4
LADDER = "ladder.cu"
ELEMENTS, LIST = "8Elements", "6Listed"  # what an elementwise kernel's first parameter is, as compilers write types into symbols


@dataclass(frozen=True)
class Kernel:
    source: str
    name: str
    registers: int
    shared: int  # bytes, without what a launch asks for
    spills: int  # bytes, stored and loaded
    threads: int  # of a block
    instructions: float | None  # for an element
    loop: tuple[int, int] | None = None  # instructions of the innermost loop: those that multiply, and all

    @property
    def warps(self) -> int:
        """That a multiprocessor has room for."""
        of_block = -(-self.threads // WARP)
        by_registers = REGISTERS // (-(-self.registers // UNIT) * UNIT * WARP * of_block)
        blocks = min(by_registers, SHARED // (self.shared + SYSTEM), MOST_WARPS // of_block, MOST_BLOCKS)
        return blocks * of_block

    def __str__(self) -> str:
        numbers = f"{self.registers:9} {self.shared:6} {self.spills:5} {self.warps:5}"
        each = "" if self.instructions is None else f"{self.instructions:.2f}"
        each = "{}/{}".format(*self.loop) if self.loop else each
        return f"{self.source:72} {self.name:31} {numbers} {each:>12}".rstrip()


HEAD = f"{'source':72} {'kernel':31} registers shared spill warps instructions"


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
        cubin = Path(folder) / "kernels.cubin"
        command = ["nvcc", "-std=c++20", f"-arch={arch}", "-cubin", "-Werror", "all-warnings", "-Xptxas", "-v"]
        command += ["--keep", "--keep-dir", folder, "-I", str(ROOT), *options(), str(source), "-o", str(cubin)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise cli.Failure(f"{source.relative_to(ROOT)}, {arch}:\n{done.stderr}")
        ptx = (Path(folder) / f"{source.stem}.ptx").read_text(encoding="utf-8")
        bounds = dict(re.findall(r"\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)", ptx))
        codes = disassembled(cubin) if shutil.which("nvdisasm") else {}
    kernels = []
    for part in done.stderr.split("Compiling entry function '")[1:]:
        symbol = part[: part.index("' for '")]
        stores, loads = (int(re.search(rf"(\d+) bytes spill {what}", part)[1]) for what in ("stores", "loads"))
        shared = re.search(r"(\d+) bytes smem", part)
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        code = codes.get(symbol, [])
        each = instructions(symbol, code) if code else None
        if "for_row(" in source.read_text(encoding="utf-8"):
            each = each or sum(len(body) for body in loops(code) if sum("LDG" in what for what in body) == FOUR) / FOUR or None
        kernels.append(Kernel(str(source.relative_to(ROOT)), name_of(symbol), registers,
                              int(shared[1]) if shared else 0, stores + loads, int(bounds.get(symbol, BLOCK)),
                              each,
                              multiplying(code) if code and source.name == LADDER else None))  # fmt: skip
    return sorted(kernels, key=lambda kernel: kernel.name)


def disassembled(cubin: Path) -> dict[str, list[str]]:
    """The lines of each kernel, by its symbol."""
    said = subprocess.run(["nvdisasm", "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^\.text\.", said, flags=re.MULTILINE)[1:]
    return {symbol: code.splitlines() for symbol, _, code in (part.partition(":") for part in parts)}


def instructions(symbol: str, code: list[str]) -> float | None:
    """How many instructions an elementwise kernel executes for an element where a thread takes four."""
    if ELEMENTS in symbol:
        return shortest(code) / FOUR
    if LIST in symbol and any("STG.E.128" in line for line in code):
        return shortest(code, turn=True) / FOUR
    return None


def steps(code: list[str]) -> tuple[dict[str, int], list[tuple[bool, str]]]:
    """Where each label is, and the instructions: whether a predicate decides about one, and the instruction."""
    labels, lines = {}, []
    for line in code:
        if label := re.match(r"(\S+):$", line):
            labels[label[1]] = len(lines)
        elif step := re.search(r"\*/\s+(@!?U?P\w+ )?(\S.*?) ;", line):
            lines.append((bool(step[1]), step[2]))
    return labels, lines


def multiplying(code: list[str]) -> tuple[int, int]:
    """Of the loop with the most multiply-adds (FFMA, or HMMA on tensor cores): their number, and that of all instructions.

    Of several such loops, one inside the other, it is the innermost.
    """
    best = max(((sum(what.startswith(("FFMA", "HMMA")) for what in body), -len(body)) for body in loops(code)), default=(0, 0))
    return best[0], -best[1]


def loops(code: list[str]) -> list[list[str]]:
    """The instructions of each loop."""
    labels, lines = steps(code)
    jumps = ((at, re.match(r"BRA.* `\((\S+)\)", what)) for at, (_, what) in enumerate(lines))
    return [[what for _, what in lines[labels[to[1]] : at + 1]] for at, to in jumps if to and labels[to[1]] < at]


def shortest(code: list[str], turn: bool = False) -> int:
    """The number of instructions on the shortest way from the first one to an end, past a store for four elements.

    That is the way of a thread with four elements. A call is no part of it, because it is the rare case of a division.
    With `turn`, it is the shortest way from such a store back to itself.
    """
    labels, lines = steps(code)
    widest = max((width(what) for _, what in lines if what.startswith("STG")), default=0)
    wide = [at for at, (_, what) in enumerate(lines) if what.startswith("STG") and width(what) == widest]
    # where a way is, its length, and the store for four that it has passed
    ways: list[tuple[int, int, int | None]] = [(at + 1, 1, at) for at in wide] if turn else [(0, 0, None)]
    seen = set()
    for at, count, stored in ways:  # grows: breadth first
        if turn and at == stored:
            return count
        if at == len(lines) or (at, stored) in seen:
            continue
        seen.add((at, stored))
        perhaps, what = lines[at]
        ends, jumps = what == "EXIT", re.match(r"BRA `\((\S+)\)", what)
        if stored is None and at in wide:
            stored = at
        if ends and stored is not None and not turn:
            return count + 1
        if jumps:
            ways.append((labels[jumps[1]], count + 1, stored))
        if perhaps or not (ends or jumps or what.startswith("CALL")):
            ways.append((at + 1, count + 1, stored))
    raise cli.Failure("no way through a kernel stores anything")


def width(store: str) -> int:
    """Bytes that a store writes."""
    size = re.search(r"\.(128|64|U16|U8)\b", store)
    return {"128": 16, "64": 8, "U16": 2, "U8": 1}[size[1]] if size else 4


def name_of(symbol: str) -> str:
    """A kernel's name with its template arguments, but without namespaces and parameters."""
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout
    name = re.sub(r"\(anonymous namespace\)::|abh::(cuda::)?|_GLOBAL__N__\w+::|<unnamed>::", "", name)
    name = re.sub(r"^void ", "", re.sub(r"\((int|bool|long|\w+)\)(?=[\w-])", "", name))
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return name[:i]
    return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.relative_to(ROOT)}")
    options = parser.parse_args()
    if not version():
        raise cli.Failure("there is no CUDA compiler (nvcc) on PATH")
    lines = [f"CUDA {version()}, {ARCH}", HEAD]
    with ThreadPoolExecutor(2) as pool:
        for kernels in pool.map(lambda file: assemble(file, ARCH), sources()):
            lines += map(str, kernels)
    print("\n".join(lines))
    if options.record:
        RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    cli.run(main)
