"""What compiles the sources for their warnings alone, tests/compilers.sh: in a small checkout of its own."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests/compilers.sh"

FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
foreach(real "" _double)
  add_library(small${real} lib/tensor.cpp lib/other.cpp lib/wide.cpp)
  target_include_directories(small${real} PRIVATE ${CMAKE_SOURCE_DIR})
endforeach()
target_compile_definitions(small_double PRIVATE ABH_DOUBLE REAL=double)
""",
    "lib/scalar.hpp": "using Scalar = float;\n",
    "lib/tensor.hpp": '#include "lib/scalar.hpp"\nScalar first(const Scalar* x);\n',
    "lib/tensor.cpp": '#include "tensor.hpp"\n\nScalar first(const Scalar* x) {\n    return x[0];\n}\n',
    "lib/other.cpp": "int other() {\n    return 1;\n}\n",
    # a warning that only AVX-512 brings; and one that stands, by its own word, in a header of GCC's
    "lib/wide.cpp": """#ifdef __AVX512F__
int lanes() {
    int unused = 16;
    return 16;
}
#endif
#line 206 "/usr/lib/gcc/x86_64-linux-gnu/12/include/avx512fintrin.h"
int undefined() {
    int unused;
    return 0;
}
""",
    "lib/added.cpp": "int narrow(long x) {\n    return x;\n}\n",
    ".gitignore": "/build/\n",
}


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("g++") and shutil.which("git"), "needs g++ for x86-64, and git")
class Compilers(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.root = Path(temporary.name) / "two words"
        for name, text in FILES.items():
            (cls.root / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.root / name).write_text(text)
        for folder in ("bench", "chapters", "judge", "tests"):
            (cls.root / folder).mkdir()
        shutil.copy2(SCRIPT, cls.root / "tests")
        cls.git("init", "--quiet")
        cls.git("add", "--all")
        cls.git("commit", "--quiet", "--message", "begun")

    @classmethod
    def git(cls, *words: str) -> None:
        who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=cls.root, check=True)

    def check(self, *words: str) -> tuple[int, list[str]]:
        done = subprocess.run(
            ["tests/compilers.sh", *words, "g++"], cwd=self.root, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.stderr, "")
        return done.returncode, [" ".join(line.split()) for line in done.stdout.splitlines()]

    def test_a_warning_that_only_avx512_brings_is_found_by_reading_for_it(self) -> None:
        status, lines = self.check("--levels", "v2,v3", "--optimize", "1,3", "lib/wide.cpp")
        self.assertEqual(lines[1:], [f"g++ {level} {o} 1 ok" for level in ("v2", "v3") for o in "13"])
        self.assertEqual(status, 0)
        status, lines = self.check("--levels", "v4", "--optimize", "own", "lib/wide.cpp")
        self.assertEqual(lines[1], "g++ v4 own 1 FAILED: 1")
        self.assertRegex(lines[2], r"^lib/wide\.cpp: .*lib/wide\.cpp:3:9: warning: unused variable .unused.")
        self.assertEqual((status, len(lines)), (1, 3))

    def test_a_source_of_no_program_is_compiled_as_the_library_is(self) -> None:
        status, lines = self.check("--levels", "v2", "--optimize", "1", "lib/added.cpp", "lib/other.cpp")
        self.assertEqual(lines[1], "g++ v2 1 2 FAILED: 1")
        self.assertRegex(lines[2], r"^lib/added\.cpp: .*-Wconversion")
        self.assertEqual(status, 1)

    def test_everything_takes_part_and_doubles_once(self) -> None:
        status, lines = self.check("--levels", "v2,v3", "--optimize", "3")
        self.assertEqual(lines[1:], ["g++ v2 3 6 ok", "g++ v3 3 3 ok"])
        self.assertEqual(status, 0)

    def test_a_change_touches_what_includes_it(self) -> None:
        only = ("--changed", "HEAD", "--levels", "v2", "--optimize", "1")
        self.assertEqual(self.check(*only), (0, ["no source has changed"]))
        header = self.root / "lib/scalar.hpp"
        header.write_text("using Scalar = double;\n")
        self.addCleanup(header.write_text, FILES["lib/scalar.hpp"])
        self.assertEqual(self.check(*only)[1][1:], ["g++ v2 1 2 ok"])  # float and double
        header.write_text("using Scalar = int;\ninline Scalar half(long x) {\n    return x / 2;\n}\n")
        status, lines = self.check(*only)
        self.assertEqual((status, lines[1]), (1, "g++ v2 1 2 FAILED: 2"))
        other = self.root / "lib/other.cpp"
        other.write_text("int other() {\n    return 2;\n}\n")
        self.addCleanup(other.write_text, FILES["lib/other.cpp"])
        self.assertEqual(self.check(*only, "--at-most", "2")[1][1:], ["g++ v2 1 2 ok"])  # the source itself comes first


class Flags(unittest.TestCase):
    COMPILER = shutil.which(os.environ.get("CXX", "c++"))

    @unittest.skipUnless(COMPILER, "needs a compiler")
    def test_a_compiler_that_may_remove_checks_for_nan_is_refused(self) -> None:
        def said(*flags: str) -> str:
            done = subprocess.run(
                [self.COMPILER, *flags, "-std=c++20", "-E", "-o", os.devnull, f"-I{ROOT}", "-x", "c++", "-"],
                input='#include "lib/tensor.hpp"\n', capture_output=True, text=True, check=False,
            )  # fmt: skip
            return done.stderr

        self.assertNotIn("checks for NaN", said("-O2"))
        for flag in ("-ffast-math", "-Ofast", "-ffinite-math-only"):
            self.assertIn("compile without -ffast-math", said(flag))


if __name__ == "__main__":
    unittest.main()
