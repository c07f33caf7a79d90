"""What keeps the plain way plain: no pointer, thread or timer in it, and short functions."""

from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "tests"))
from cpp_tokens import Token, tokens

LIB = ("tensor", "matmul", "linear", "parameter", "random", "gradcheck")
NOT_PLAIN = ("11", "12")  # chapters about the device and about time
SOURCES = {".hpp", ".cpp", ".cuh", ".cu"}
MOST_LINES = {"function": 25, "lib": 1800, "main.cpp": 220}

# In the tokens of a plain file, one space between them.
NEVER_PLAIN = re.compile(
    r"""(?<!\S) (?:
          on_cuda\w* | Timed | parallel_\w* | prefetch\w* | __builtin_\w* | Lanes
        | Real\ (?:const\ )?\*
        | (?:\.|->)\ data\ \(
        | std\ ::\ j?thread
        ) (?!\S)""",
    re.VERBOSE,
)
FUNCTION = re.compile(r"(?<!\S)std :: function(?!\S)")
TIMED = re.compile(r"(?<!\S)Timed(?!\S)")


def code(source: str) -> list[Token]:
    """Without comments, strings and characters."""
    return [token for token in tokens(source) if token.text[-1] not in "\"'"]


def line_of(source: str, place: int) -> int:
    return source.count("\n", 0, place) + 1


def found(pattern: re.Pattern[str], source: str) -> list[tuple[int, str]]:
    """Line and text of each match in the code."""
    starts, text = {}, ""
    for token in code(source):
        starts[len(text)] = token.begin
        text += token.text + " "
    return [(line_of(source, starts[m.start()]), m[0]) for m in pattern.finditer(text)]


def end_of(texts: list[str], begin: int) -> int:
    """The place of the bracket that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(texts)):
        depth += (texts[i] in "([{") - (texts[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError(f"{texts[begin]} without an end")


def plain_functions(source: str) -> Iterator[tuple[int, str, int]]:
    """Line, name and number of lines of each function that is defined as plain::NAME."""
    all_tokens = code(source)
    texts = [token.text for token in all_tokens]
    for i in range(1, len(texts) - 3):
        if texts[i : i + 2] != ["plain", "::"] or texts[i + 3] != "(":
            continue
        body = end_of(texts, i + 3) + 1
        while body < len(texts) and texts[body] in {"const", "noexcept"}:
            body += 1
        is_type = re.fullmatch(r"\w+|[>&*\]]", texts[i - 1]) and texts[i - 1] != "return"
        if is_type and texts[body : body + 1] == ["{"]:
            first = line_of(source, all_tokens[i].begin)
            last = line_of(source, all_tokens[end_of(texts, body)].begin)
            yield first, texts[i + 2], last - first + 1


def files(pattern: str) -> list[Path]:
    return sorted(path for path in ROOT.glob(pattern) if path.suffix in SOURCES)


def plain_files() -> list[Path]:
    chapters = [
        path
        for path in files("chapters/[0-9][0-9]_*/*.cpp") + files("chapters/09_*/*/*.cpp")
        if path.name != "main.cpp"
        and not path.name.endswith(".fast.cpp")
        and path.relative_to(ROOT).parts[1][:2] not in NOT_PLAIN
    ]
    return [*chapters, *(ROOT / "lib" / f"{name}.cpp" for name in LIB)]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class Sources(unittest.TestCase):
    def expect_none(self, places: list[str], what: str) -> None:
        if places:
            self.fail("\n".join([f"{what}:", *places]))

    def expect_nowhere(self, pattern: re.Pattern[str], paths: list[Path], what: str) -> None:
        self.assertTrue(paths)
        places = [
            f"{name(path)}:{line}: {text}"
            for path in paths
            for line, text in found(pattern, read(path))
        ]
        self.expect_none(places, what)

    def test_a_plain_file_holds_no_pointer_thread_timer_or_device(self) -> None:
        self.expect_nowhere(NEVER_PLAIN, plain_files(), "these are for fast and cuda ways")

    def test_attention_and_feed_forward_pass_no_functions_around(self) -> None:
        paths = files("chapters/05_*/*") + files("chapters/06_*/*")
        self.expect_nowhere(FUNCTION, paths, "an operation takes tensors")

    def test_only_the_table_of_ways_measures_time(self) -> None:
        timers = {"lib/way.hpp"}
        paths = files("lib/**/*") + files("chapters/**/*") + files("bench/**/*")
        self.assertLessEqual(timers, {name(path) for path in paths})
        others = [path for path in paths if name(path) not in timers]
        self.expect_nowhere(TIMED, others, "lib/way.hpp does this for every operation")

    def test_a_plain_way_fits_on_a_screen(self) -> None:
        functions = [
            (path, *function)
            for path in files("lib/**/*") + files("chapters/**/*")
            for function in plain_functions(read(path))
        ]
        self.assertGreater(len(functions), 10)
        most = MOST_LINES["function"]
        places = [
            f"{name(path)}:{line}: plain::{function} has {lines} lines"
            for path, line, function, lines in functions
            if lines > most
        ]
        self.expect_none(places, f"a plain way has at most {most} lines")

    def test_the_workbench_is_small(self) -> None:
        lines = {path: len(read(path).splitlines()) for path in files("lib/*")}
        places = [f"{name(path)}: {count} lines" for path, count in lines.items()]
        total, most = sum(lines.values()), MOST_LINES["lib"]
        self.expect_none(
            places if total > most else [], f"lib has {total} lines, expected at most {most}"
        )

    def test_a_program_is_short(self) -> None:
        paths, most = files("chapters/*/main.cpp"), MOST_LINES["main.cpp"]
        self.assertTrue(paths)
        places = [
            f"{name(path)}:{most + 1}: {count} lines in all"
            for path in paths
            if (count := len(read(path).splitlines())) > most
        ]
        self.expect_none(places, f"a program has at most {most} lines")


class Machinery(unittest.TestCase):
    def test_what_plain_files_lack_is_found(self) -> None:
        lines = {
            "if (on_cuda()) return;": "on_cuda",
            'const Timed timed("softmax");': "Timed",
            "parallel_ranges(n, 1, f);": "parallel_ranges",
            "prefetch(row, n);": "prefetch",
            "const Real* row;": "Real *",
            "std::vector<Real *> rows;": "Real *",
            "void f(Real const* x);": "Real const *",
            "auto p = x.data() + i;": ". data (",
            "auto p = x->\n    data();": "-> data (",
            "__builtin_expect(x, 0);": "__builtin_expect",
            "std::thread t(f);": "std :: thread",
            "Lanes<8> a;": "Lanes",
        }
        for line, text in lines.items():
            self.assertEqual(found(NEVER_PLAIN, f"int i;\n\n{line}\n"), [(3, text)])

    def test_what_resembles_it_is_not(self) -> None:
        source = """// on_cuda Timed x.data() Real*
            /* std::thread */ f("Timed", R"(Lanes)", '*');
            Real(2) * x; in_parallel(x); data(x); x.data_; std::this_thread::yield(); Timed_; MyReal* x;
        """
        self.assertEqual(found(NEVER_PLAIN, source), [])

    def test_functions_of_plain_ways_are_measured(self) -> None:
        source = """namespace plain { decltype(f) f; }
Tensor f(const Tensor& x) {
    if (plain::f(x)) { return plain::f(x); }
    return plain::f(x);
}
Tensor plain::f(const Tensor& x) {
    for (;;) {
    }
    return "}";  // }
}
template <class T>
std::vector<T>& plain::g(const std::array<T, 2>& x,
                         T y) { return x; }
void plain::h();
"""
        self.assertEqual(list(plain_functions(source)), [(6, "f", 5), (12, "g", 2)])


if __name__ == "__main__":
    unittest.main()
