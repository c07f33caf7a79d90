"""Compile what runs in the pages: the book's plain ways as WebAssembly, by Debian's Emscripten.

    python3 docs/live/module.py             compile, and compare with the recorded modules
    python3 docs/live/module.py --record    compile, and record

Three modules, each a script with the WebAssembly inside, since a page that is opened from a file may read no other:
`layers`, in double precision, for chapters 2, 4, 6 and 9, `transformer`, in single precision, for chapters 5, 9, 10
and 13, and `sampling`, in double precision, for chapter 15. They are compiled from the sources whose listings the book prints; module/ has what stands in for threads,
devices and files. A test compares a digest of the sources with the record's. The same Emscripten makes the same bytes
on every machine, so a difference means that a source has changed: record then. Exit status 77 where Emscripten is missing
or another one than made the record.
"""

import argparse
import base64
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "lib/program"), str(ROOT / "tests")]

import cli
from cpp_tokens import tokens

RECORDED = ROOT / "recorded" / "live"
SOURCES = RECORDED / "sources.txt"  # their digest
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
MOST = {("layers", "transformer"): 350_000, ("sampling",): 120_000}  # bytes of these modules together, compressed
SKIPPED = 77

# Chapters' sources are found by their names.
LAYERS = """tensor matmul linear gradcheck random parameter gradient.cpp softmax scaled_dot_product_attention
    positional_encoding other_tables dropout layer_norm optimizer masks"""
TRANSFORMER = """tensor matmul linear random parameter gradient.cpp embedding positional_encoding other_tables dropout masks
    attention_mask packing softmax scaled_dot_product_attention heads attend_heads multi_head_attention layer_norm
    add_norm relu swish feed_forward encoder decoder transformer loss vocabulary_loss optimizer argmax batches
    greedy_decoding incremental_decoder key_values beam_search top_k"""
SAMPLING = "tensor random sampling"
TEXT = "text safetensors options corpus grammar checkpoint task training"  # compiled for size; what has loops over numbers never

LISTS = {"layers": LAYERS, "transformer": TRANSFORMER, "sampling": SAMPLING}
OWN = {"layers": ["-DABH_DOUBLE"], "transformer": [], "sampling": ["-DABH_DOUBLE"]}  # flags of each module

FLAGS = """-std=c++20 -mbulk-memory -msimd128 -fwasm-exceptions -DNDEBUG -DFMT_HEADER_ONLY
    -DFMT_STATIC_THOUSANDS_SEPARATOR=44 -DEIGEN_DEFAULT_DENSE_INDEX_TYPE=int64_t -DEIGEN_MAX_STATIC_ALIGN_BYTES=16
    -Wno-shift-count-overflow""".split()
LINK = """-O2 -fwasm-exceptions -sMODULARIZE=1 -sENVIRONMENT=web,worker -sALLOW_MEMORY_GROWTH=1 -sINITIAL_MEMORY=16777216
    -sMAXIMUM_MEMORY=2147483648 -sTOTAL_STACK=1048576 -sFILESYSTEM=0 -sMEMORY_GROWTH_GEOMETRIC_STEP=0.02 -sEXPORTED_FUNCTIONS=_malloc,_free
    -sEXPORTED_RUNTIME_METHODS=ccall,UTF8ToString,HEAPU8,HEAPF64""".split()


def source(name: str) -> Path:
    """The file of a function of the book: lib's root first, then lib/io, then the chapters."""
    for place in ("lib", "lib/io", "chapters/*", "chapters/*/*"):
        if found := sorted(p for p in ROOT.glob(f"{place}/{name.removesuffix('.cpp')}.cpp") if "exercises" not in p.parts):
            return found[0]
    raise FileNotFoundError(name)


def version() -> str:
    """Emscripten's; empty if it is missing."""
    if shutil.which("em++") is None:
        return ""
    said = subprocess.run(["em++", "--version"], capture_output=True, text=True, check=True).stdout
    return said.splitlines()[0]


def headers(out: Path) -> list[str]:
    """Flags for the headers of libraries: of the system's folder these alone, since beside Emscripten's own C library
    another one's headers are poison."""
    for name in ("fmt", "nlohmann", "eigen3"):
        link = out / "include" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(Path("/usr/include") / name)
    return [f"-I{out}/include", f"-I{out}/include/eigen3"]


def compile_all(out: Path, name: str, parts: dict[Path, str], flags: list[str]) -> Path:
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    places = [f"-I{HERE / 'module'}", f"-I{ROOT}", *headers(out), f"-ffile-prefix-map={ROOT}=."]

    def one(item: tuple[Path, str]) -> Path:
        path, level = item
        stem = f"live_{path.stem}" if path.is_relative_to(HERE) else path.stem
        target, used = folder / f"{stem}.o", folder / f"{stem}.d"
        if target.is_file() and used.is_file():
            read = [Path(word) for word in used.read_text().replace("\\\n", " ").split()[1:]]
            if all(p.is_file() and p.stat().st_mtime <= target.stat().st_mtime for p in [*read, Path(__file__)]):
                return target
        command = ["em++", *FLAGS, *flags, *places, "-include", HERE / "module/ranges.hpp", level, "-MD", "-MF", used, "-c", path]
        subprocess.run([*command, "-o", target], check=True, env=ENVIRONMENT)
        return target

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(one, parts.items()))
    script = folder / f"{name}.js"
    link = [*LINK, f"-sEXPORT_NAME=abh_{name}"]
    subprocess.run(["em++", *objects, *link, "-o", script], check=True, env=ENVIRONMENT)
    wasm = script.with_suffix(".wasm").read_bytes()
    packed = base64.b64encode(gzip.compress(wasm, 9, mtime=0)).decode()
    glue = re.sub(r"[ \t]+\n", "\n", script.read_text())
    script.write_text(f'{glue}\nabh_{name}.packed = "{packed}";\n')
    return script


# Debian's Emscripten does not find a module of Node's without this.
ENVIRONMENT = {**os.environ, "NODE_PATH": os.environ.get("NODE_PATH", "/usr/share/nodejs")}


def parts_of(name: str) -> dict[Path, str]:
    """The sources of a module, each with its level of optimization."""
    parts = {source(word): "-O2" for word in LISTS[name].split()}
    if name == "transformer":
        parts |= {source(word): "-Os" for word in TEXT.split()}
    parts[HERE / "module" / "stand_in.cpp"] = "-O2"
    parts[HERE / "module" / f"{name}.cpp"] = "-Os" if name == "transformer" else "-O2"
    return parts


def build(out: Path) -> dict[str, Path]:
    return {name: compile_all(out, name, parts_of(name), own) for name, own in OWN.items()}


def digest_of_sources() -> str:
    """A hash of what the modules are compiled from, which changes with every token, but not with comments."""
    reads, every = [HERE / "module" / "ranges.hpp"], set()
    levels = {f"{name} {path.relative_to(ROOT)} {level}" for name in LISTS for path, level in parts_of(name).items()}
    reads += [ROOT / line.split()[1] for line in levels]
    while reads:
        path = reads.pop()
        if path not in every:
            every.add(path)
            reads += [found for name in INCLUDE.findall(path.read_text(encoding="utf-8")) for found in (ROOT / name, path.parent / name) if found.is_file()]
    words = [*FLAGS, *LINK, *sorted(levels)]
    words += [token.text for path in sorted(every) for token in tokens(path.read_text(encoding="utf-8"))]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description="compile what runs in the pages")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "live", help="folder of objects")
    parser.add_argument("--record", action="store_true", help="replace the recorded modules")
    options = parser.parse_args()
    compiler, noted = version(), (RECORDED / "compiler.txt").read_text().strip()
    if not compiler or (not options.record and compiler != noted):
        there = compiler or "no Emscripten (apt-get install emscripten)"
        print(f"live: not compared: the recorded modules were made by {noted}, here is {there}")
        return SKIPPED
    made = build(options.out.resolve())
    sizes: dict[str, int] = {}
    different = []
    for name, script in made.items():
        sizes[name] = small = len(gzip.compress(script.with_suffix(".wasm").read_bytes(), 9)) + len(
            gzip.compress(script.read_text().rpartition("\nabh_")[0].encode(), 9))
        digest = hashlib.sha256(script.read_bytes()).hexdigest()[:16]
        print(f"live: {name}.js {script.stat().st_size} bytes, {small} compressed, {digest}")
        if options.record:
            shutil.copyfile(script, RECORDED / script.name)
        elif (RECORDED / script.name).read_bytes() != script.read_bytes():
            different.append(script.name)
    large = False
    for names, most in MOST.items():
        total = sum(sizes[name] for name in names)
        print(f"live: {' and '.join(names)}: {total} bytes compressed, at most {most}")
        large = large or total > most
    if options.record:
        (RECORDED / "compiler.txt").write_text(compiler + "\n")
        SOURCES.write_text(digest_of_sources() + "\n")
    if different:
        print(f"live: {' and '.join(different)} differ from the record; python3 docs/live/module.py --record", file=sys.stderr)
    return 1 if different or large else 0


if __name__ == "__main__":
    cli.run(main)
