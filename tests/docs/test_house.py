"""The house: who may know whom, what keeps the plain way plain, and what no chapter takes from a later one."""

import os
import re
import shutil
import subprocess
import unittest
from functools import cache

from project import ROOT

from cpp_tokens import tokens

COMPILER = shutil.which(os.environ.get("CXX", "c++"))
SOURCES = {".hpp", ".cpp", ".cuh", ".cu"}
FLOORS = ["", "io", "program", "fast", "cuda"]  # of lib, from the ground up; "": lib itself
INCLUDE = re.compile(r'^#include "((?:lib|chapters)/[^"]+)"', re.MULTILINE)
DECLARED = re.compile(
    r"""^(?:struct|class|enum\ class|using)\ (\w+)(?=[ ;{:])
      | ^(?!using|namespace|template|\#|/|return|static)[\w:<>&*,\ \[\]]+?[\ *&](\w+)\(
      | ^\ {4}(?:virtual\ )?(?!return|if|for|using|explicit)[\w:<>&*,\ ]+?[\ *&](\w+)\(""",
    re.MULTILINE | re.VERBOSE,
)
MEMBER = re.compile(
    r"""^\ {4}(?!return|using|if|for|throw|else|template|friend|static_assert|//)
        [\w:][\w:<>&*,\ ]*?[\ *&](\w+)(?:\ =\ [^;{]*|\ ?\{[^;]*\})?;""",
    re.MULTILINE | re.VERBOSE,
)
# Where a later chapter takes hold of an earlier one, as PyTorch's DDP does of a parameter.
HOOKS = {
    "go_to": "random numbers go on at a step",
    "set_steps": "an optimizer goes on at a step",
    "begin_step": "an optimizer moves one parameter after the other",
    "read_rows": "a weight that lies in a file gives its numbers",
}

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
PLAIN_FUNCTION = re.compile(r"^[^\s#/].*\bplain::(\w+)\((?:[^;{]|\{\})*\{(?:.*\}$|\n(?s:.*?)^\})", re.MULTILINE)
# The most lines that there may be, by what their files' names match. Chapter 15 is counted apart.
CODE = r"\.(?:cpp|hpp|cu|cuh)"
BUDGETS = {
    "everything": (123_230, r".*"),
    "Python": (28_660, r".*\.py"),
    "lib": (8_330, rf"lib/.*{CODE}"),
    "lib's root": (1_800, rf"lib/[^/]*{CODE}"),
    "the chapters' code without exercises": (23_560, rf"chapters/(?!.*/exercises/).*{CODE}"),
    "the tests' code with its list of faults": (17_760, rf"tests/.*{CODE}|tests/mutants\.toml"),
}
AUTHORED = rf".*(?:{CODE}|\.(?:py|js|css|md|cmake|sh|toml|txt|html))|book"
CHAPTER_15 = r"(?:chapters|tests)/15_\w+/.*|figures/15_\w+\.py|tests/docs/(?:twins/chapter_15_\w+|test_model)\.py|bench/(?:llama|published)_peer\.py"
CHAPTER_15 += r"|tests/fuzz/fuzz_(?:gguf|tokenizer)\.cpp"
NOT_COUNTED = rf"(?:\.\w+|build|results|checkpoints|answers|recorded|tests/golden|bench/results)/.*|{CHAPTER_15}"
PLAIN_LIB = ("tensor", "matmul", "linear", "parameter", "random", "gradcheck")
NOT_PLAIN = ("11", "12")  # chapters about the device and about time


def sources(*patterns: str) -> dict[str, str]:
    paths = {path for pattern in patterns for path in ROOT.glob(pattern) if path.suffix in SOURCES}
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}


# All sources that pages show: of lib and the chapters, without their exercises.
BOOK = {name: text for name, text in sources("lib/**/*", "chapters/**/*").items() if "/exercises/" not in name}


@cache
def words(name: str) -> list[str]:
    """Without comments, strings and characters."""
    return [token.text for token in tokens(BOOK[name]) if token.text[-1] not in "\"'"]


def floor(name: str) -> int:
    return FLOORS.index(name.split("/")[1] if name.count("/") > 1 else "")


def chapter(name: str) -> int:
    """The number of its chapter; -1 in lib."""
    return int(name.split("/")[1][:2]) if name.startswith("chapters/") else -1


def folder(name: str) -> str:
    """The emulator, which stands in for the toolkit, is one with the kernels' helpers that it runs."""
    return name.rpartition("/")[0].removesuffix("/emulated")


def stem(name: str) -> str:
    return name.rpartition("/")[2].split(".")[0]


def circles(includes: dict[str, set[str]]) -> list[str]:
    """Files, or folders, that include each other in a circle."""
    done: set[str] = set()
    found: list[str] = []

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append(" -> ".join([*path[path.index(name) :], name]))
        if name in done or name in path:
            return
        for other in includes.get(name, ()):
            visit(other, [*path, name])
        done.add(name)

    for name in includes:
        visit(name, [])
    return found


def of_later_chapters() -> set[str]:
    """Names that the headers of lib's root or of chapters 00 to 10 declare, and only 11 to 14 use."""
    used = {name: set(words(name)) for name in BOOK}
    early = [name for name in BOOK if chapter(name) <= 10]
    late = [name for name in BOOK if chapter(name) > 10]
    found = set()
    for name in early:
        if not name.endswith(".hpp") or name.endswith(".fast.hpp") or (chapter(name) < 0 and floor(name) > 0):
            continue
        public = re.sub(r"^(?:private|protected):.*?(?=^\};|^public:)", "", BOOK[name], flags=re.MULTILINE | re.DOTALL)
        members = set(MEMBER.findall(public))
        declared = {word for groups in DECLARED.findall(BOOK[name]) for word in groups if word}
        for word in members | declared:
            users = [other for other in late if word in used[other]]
            if not users or any(stem(other) != stem(name) for other in early if word in used[other]):
                continue
            if word in declared and sum(words(other).count(word) for other in early if word in used[other]) <= 2:
                found.add(f"{name}: {word}")
            own = any(word in MEMBER.findall(BOOK[other]) for other in users)
            if word in members and not own and any(re.search(rf"[.>]{word}\b", BOOK[other]) for other in users):
                found.add(f"{name}: {word}")
    return found


class House(unittest.TestCase):
    def expect_nowhere(self, pattern: str | re.Pattern[str], names: list[str], why: str) -> None:
        self.assertTrue(names)
        found = [f"{name}: {match[0]}" for name in names for match in re.finditer(pattern, " ".join(words(name)))]
        self.assertEqual(found, [], why)

    def test_arrows_run_down(self) -> None:
        for name, text in BOOK.items():
            for other in INCLUDE.findall(text):
                below = chapter(other) < chapter(name) or other.split("/")[:2] == name.split("/")[:2]
                if name.startswith("lib/"):
                    below = other.startswith("lib/") and floor(other) <= floor(name)
                self.assertTrue(below, f"{name} includes {other}")

    def test_no_files_or_folders_include_each_other_in_a_circle(self) -> None:
        files = {name: set(INCLUDE.findall(text)) for name, text in BOOK.items()}
        self.assertEqual(circles(files), [])
        folders: dict[str, set[str]] = {}
        for name, others in files.items():
            folders.setdefault(folder(name), set()).update({folder(other) for other in others} - {folder(name)})
        self.assertEqual(circles(folders), [])

    def test_no_file_has_more_than_400_lines(self) -> None:
        folders = ("bench", "chapters", "docs", "figures", "judge", "lib", "tests")
        paths = [path for name in folders for path in (ROOT / name).rglob("*") if path.suffix in {*SOURCES, ".py"}]
        lines = {path.relative_to(ROOT).as_posix(): path.read_bytes().count(b"\n") for path in [*paths, ROOT / "book"]}
        self.assertEqual({name: n for name, n in lines.items() if n > 400}, {})

    def test_no_budget_is_exceeded(self) -> None:
        tops = [top for top in ROOT.iterdir() if not re.fullmatch(NOT_COUNTED, f"{top.name}/")]
        paths = [path for top in tops for path in (top.rglob("*") if top.is_dir() else [top]) if path.is_file()]
        names = {path.relative_to(ROOT).as_posix(): path for path in paths}
        authored = [name for name in names if re.fullmatch(AUTHORED, name) and not re.fullmatch(NOT_COUNTED, name)]
        lines = {name: names[name].read_bytes().count(b"\n") for name in authored}
        for what, (most, pattern) in BUDGETS.items():
            total = sum(n for name, n in lines.items() if re.fullmatch(pattern, name))
            with self.subTest(what):
                self.assertLessEqual(total, most, f"{what} has {total:,} lines, {total - most:,} more than its budget of {most:,}")

    def test_nothing_of_a_later_chapter_is_declared_in_an_earlier_one(self) -> None:
        found = {place.rpartition(" ")[2]: place for place in of_later_chapters()}
        self.assertEqual([place for word, place in found.items() if word not in HOOKS], [])
        self.assertEqual(set(HOOKS) - set(found), set(), "no hook any more")

    def test_one_function_makes_every_step_of_training(self) -> None:
        # cost.cpp measures what the step saves: the same lines, with the pads; first.cpp has them for the chapter's first page;
        # chapter 15 trains another kind of model
        steps = {"chapters/09_training/cost.cpp", "chapters/09_training/loop/training.cpp"}
        back = {name for name, text in BOOK.items() if re.search(r"\bmodel_?\.backward\(", text)}
        self.assertEqual(back, steps | {"chapters/09_training/first.cpp", "chapters/15_language_model/training.hpp"})
        callers = {name for name, text in BOOK.items() if "add_part(" in text and name.endswith(".cpp")}
        # chapter 12 asks for all gradients between a step's two halves
        parts = {"chapters/12_where_the_time_goes/main.cpp", "chapters/13_real_translation/practice/team.cpp", "chapters/14_on_many_machines/data_parallel/data_parallel.cpp"}
        self.assertEqual(callers, steps | parts)
        page = (ROOT / "chapters/09_training/learning.md").read_text(encoding="utf-8")
        self.assertIn("```{listing} loop/training.cpp\n:part: step\n```", page)

    def test_a_plain_file_holds_no_pointer_thread_timer_or_device(self) -> None:
        rooms = re.compile(r"chapters/(?:\d\d_\w+|09_\w+/\w+)/\w+\.cpp")
        names = [name for name in BOOK if rooms.fullmatch(name) and stem(name) != "main" and name[9:11] not in NOT_PLAIN]
        self.expect_nowhere(NEVER_PLAIN, [*names, *(f"lib/{name}.cpp" for name in PLAIN_LIB)], "these are for fast and cuda ways")

    def test_attention_and_feed_forward_pass_no_functions_around(self) -> None:
        self.expect_nowhere(r"\bstd :: function\b", [name for name in BOOK if chapter(name) in (5, 6)], "an operation takes tensors")

    def test_only_the_table_of_ways_measures_time(self) -> None:
        names = [name for name in BOOK if name != "lib/way.hpp"]
        self.expect_nowhere(r"\bTimed\b", names, "lib/way.hpp does this for every operation")

    def test_a_plain_way_fits_on_a_screen(self) -> None:
        lines = {(name, f[1]): f[0].count("\n") + 1 for name, text in BOOK.items() for f in PLAIN_FUNCTION.finditer(text)}
        self.assertGreater(len(lines), 30)
        self.assertEqual({place: n for place, n in lines.items() if n > 25}, {})

    def test_a_program_is_short(self) -> None:
        lines = {name: text.count("\n") for name, text in BOOK.items() if stem(name) == "main"}
        self.assertEqual({name: n for name, n in lines.items() if n > 220}, {})

    @unittest.skipUnless(COMPILER, "needs a compiler")
    def test_a_compiler_that_may_remove_checks_for_nan_is_refused(self) -> None:
        def said(flag: str) -> str:
            command = [COMPILER, flag, "-std=c++20", "-E", "-o", os.devnull, ROOT / "lib/tensor.hpp", f"-I{ROOT}"]
            return subprocess.run(command, capture_output=True, text=True, check=False).stderr

        self.assertNotIn("checks for NaN", said("-O2"))
        for flag in ("-ffast-math", "-Ofast", "-ffinite-math-only"):
            self.assertIn("compile without -ffast-math", said(flag))
