"""Who may know whom: the folders of lib, the chapters, and what a later chapter needs of an earlier one."""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "tests"))
from cpp_tokens import tokens

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

TEMPLATE = re.compile(r"^ *template <[^\n]*>\n?(?: *requires [^\n]*\n)? *(?:struct |class |[\w:<>&*, ]+?[ *&])(\w+)(?=[ (;{])", re.MULTILINE)

# Where a later chapter takes hold of an earlier one, as PyTorch's DDP does of a parameter.
HOOKS = {
    "go_to": "random numbers go on at a step",
    "set_steps": "an optimizer goes on at a step",
    "begin_step": "an optimizer moves one parameter after the other",
    "device_name": "the device says what it is",
}


def sources(*patterns: str) -> dict[str, str]:
    paths = [path for pattern in patterns for path in ROOT.glob(pattern) if path.suffix in SOURCES]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(set(paths))}


def book() -> dict[str, str]:
    """All sources that pages show: of lib and the chapters, without their exercises."""
    return {name: text for name, text in sources("lib/**/*", "chapters/**/*").items() if "/exercises/" not in name}


def floor(name: str) -> int:
    return FLOORS.index("/".join(name.split("/")[1:2]) if name.count("/") > 1 else "")


def chapter(name: str) -> int:
    """The number of its chapter; -1 in lib."""
    return int(name.split("/")[1][:2]) if name.startswith("chapters/") else -1


def upward(files: dict[str, str]) -> list[str]:
    """Includes of a higher floor of lib, or of a later chapter."""
    found = []
    for name, text in files.items():
        for other in INCLUDE.findall(text):
            below = chapter(other) < chapter(name) or other.split("/")[:2] == name.split("/")[:2]
            if name.startswith("lib/"):
                below = other.startswith("lib/") and floor(other) <= floor(name)
            if not below:
                found.append(f"{name} includes {other}")
    return found


def circles(files: dict[str, str]) -> list[str]:
    """Files of lib and of the chapters' rooms that include each other in a circle."""
    done: set[str] = set()
    found: list[str] = []

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append(" -> ".join([*path[path.index(name) :], name]))
        if name in done or name in path or name not in files:
            return
        for other in INCLUDE.findall(files[name]):
            visit(other, [*path, name])
        done.add(name)

    for name in files:
        visit(name, [])
    return found


def folders(files: dict[str, str]) -> dict[str, str]:
    """Each folder as one file, which includes the other folders that its files include."""
    found: dict[str, str] = {}
    for name, text in files.items():
        own, others = folder(name), {folder(other) for other in INCLUDE.findall(text)}
        found[own] = found.get(own, "") + "".join(f'#include "{other}"\n' for other in sorted(others - {own}))
    return found


def folder(name: str) -> str:
    """The emulator, which stands in for the toolkit, is one with the kernels' helpers that it runs."""
    return name.rpartition("/")[0].removesuffix("/emulated") + "/*"


def stem(name: str) -> str:
    return name.rpartition("/")[2].split(".")[0]


def of_later_chapters(files: dict[str, str]) -> list[str]:
    """Names that lib's root or chapters 00 to 10 declare, and only 11 to 14 use."""
    words = {name: [t.text for t in tokens(text) if t.text[-1] not in "\"'"] for name, text in files.items()}
    used = {name: set(texts) for name, texts in words.items()}
    early = [name for name in files if chapter(name) <= 10]
    late = set().union(*(used[name] for name in files if chapter(name) > 10))
    found = []
    for name in early:
        if not name.endswith(".hpp") or name.endswith(".fast.hpp") or (name.startswith("lib/") and floor(name) > 0):
            continue
        for groups in DECLARED.findall(files[name]):
            word = next(filter(None, groups))
            others = [n for n in early if word in used[n]]
            in_own = sum(words[n].count(word) for n in others if stem(n) == stem(name))
            if word in late and in_own <= 2 and all(stem(n) == stem(name) for n in others):
                found.append(f"{name}: {word}")
        for word in MEMBER.findall(public(files[name])):
            own = any(word in MEMBER.findall(text) for n, text in files.items() if chapter(n) > 10 and word in used[n])
            taken = not own and any(re.search(rf"[.>]{word}\b", text) for n, text in files.items() if chapter(n) > 10 and word in used[n])
            if taken and all(stem(n) == stem(name) for n in early if word in used[n]):
                found.append(f"{name}: {word}")
        found += [f"{name}: {word}" for word in parameters_of_later_chapters(name, files)]
        found += [f"{name}: {word}" for word in template_arguments_of_later_chapters(name, files)]
    return sorted(set(found))


def public(text: str) -> str:
    """A header without what its classes hide."""
    return re.sub(r"^(?:private|protected):.*?(?=^\};|^public:)", "", text, flags=re.MULTILINE | re.DOTALL)


def arguments(text: str, begin: int) -> str:
    """What stands in the parentheses that open at `begin`."""
    depth = 0
    for end, sign in enumerate(text[begin:], begin):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            return text[begin + 1 : end]
    return ""


def count(inside: str) -> int:
    flat = inside
    while (less := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "x", flat)) != flat:
        flat = less
    return flat.count(",") + bool(flat.strip())


def parameters_of_later_chapters(header: str, files: dict[str, str]) -> list[str]:
    """Functions with a default that only calls in 11 to 14 replace."""
    found = []
    text = files[header]
    for name in {at[1] for at in re.finditer(r"(\w+)(?=\()", text) if " = " in arguments(text, at.end())}:
        given = {False: 0, True: 0}  # by chapters up to 10, by later ones
        for other, text in files.items():
            if other == header or f"{name}(" not in text:
                continue
            own = rf"^(?: {{4}})?(?!return|else)[\w:<>&*]+[\w:<>&*, ]*[ *&]{name}\("
            if chapter(other) > 10 and re.search(own, text, re.MULTILINE):
                continue  # which has another function of this name
            for call in re.finditer(rf"^\ .*?\b{name}(?=\()", text, re.MULTILINE):  # a definition has no space before it
                late = chapter(other) > 10
                given[late] = max(given[late], count(arguments(text, call.end())))
        if given[True] > given[False]:
            found.append(f"{name} with {given[True]} arguments")
    return found


def template_arguments_of_later_chapters(header: str, files: dict[str, str]) -> list[str]:
    """Templates that the chapters up to 10 use with one argument, and those from 11 on with another."""
    found = []
    for name in set(TEMPLATE.findall(files[header])):
        used: dict[bool, set[str]] = {False: set(), True: set()}  # by chapters up to 10, by later ones
        for other, text in files.items():
            used[chapter(other) > 10].update(re.findall(rf"\b{name}<([\w:, ]+)>(?! *struct)", text))
        found += [f"{name}<{argument}>" for argument in used[True] - used[False] if len(used[False]) <= 1]
    return found


class House(unittest.TestCase):
    def test_arrows_run_down(self) -> None:
        self.assertEqual(upward(book()), [])

    def test_no_files_include_each_other_in_a_circle(self) -> None:
        self.assertEqual(circles(book()), [])

    def test_no_folders_do_so_either(self) -> None:
        self.assertEqual(circles(folders(book())), [])

    def test_no_file_has_more_than_400_lines(self) -> None:
        folders = ("bench", "chapters", "docs", "figures", "judge", "lib", "tests")
        paths = [path for name in folders for path in (ROOT / name).rglob("*") if path.suffix in {*SOURCES, ".py"}]
        lines = {path.relative_to(ROOT).as_posix(): path.read_bytes().count(b"\n") for path in [*paths, ROOT / "book"]}
        self.assertEqual({name: n for name, n in lines.items() if n > 400}, {})

    def test_nothing_of_a_later_chapter_is_declared_in_an_earlier_one(self) -> None:
        found = {place.rpartition(" ")[2]: place for place in of_later_chapters(book())}
        self.assertEqual([place for word, place in found.items() if word not in HOOKS], [])
        self.assertEqual(set(HOOKS) - set(found), set(), "no hook any more")

    def test_one_function_makes_every_step_of_training(self) -> None:
        backward = re.compile(r"\bmodel_?\.backward\(")
        places = [name for name, text in book().items() if backward.search(text)]
        # cost.cpp measures what the step saves: the same lines, with the pads
        self.assertEqual(places, ["chapters/09_training/cost.cpp", "chapters/09_training/loop/training.cpp"])
        calls = re.compile(r"\badd_part\(")
        callers = {name for name, text in book().items() if calls.search(text) and name.endswith(".cpp")}
        self.assertEqual(
            callers,
            {
                "chapters/09_training/cost.cpp",
                "chapters/09_training/loop/training.cpp",
                "chapters/13_real_translation/practice/team.cpp",
                "chapters/14_on_many_machines/data_parallel/data_parallel.cpp",
            },
        )
        page = (ROOT / "chapters/09_training/learning.md").read_text(encoding="utf-8")
        step = files_part("chapters/09_training/loop/training.cpp", "step")
        self.assertIn("```{listing} loop/training.cpp\n:part: step\n```", page)
        add_part = step.partition("double Trainer::add_part(")[2].partition("\n}\n")[0]
        self.assertLessEqual(add_part.count(";"), 6)
        self.assertIn("    update(learning_rate);\n", step.partition("double Trainer::step(")[2])


def files_part(name: str, part: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    return text.split(f"// [{part}]\n", 1)[1].split("\n// [", 1)[0]


class Machinery(unittest.TestCase):
    def test_what_points_up_is_found(self) -> None:
        files = {
            "lib/a.hpp": '#include "lib/fast/b.hpp"\n',
            "lib/fast/b.hpp": '#include "lib/io/c.hpp"\n',
            "lib/io/c.hpp": '#include "chapters/03_masks/d.hpp"\n',
            "chapters/03_masks/d.hpp": '#include "chapters/04_x/e.hpp"\n#include "lib/fast/b.hpp"\n',
        }
        self.assertEqual(
            upward(files),
            [
                "lib/a.hpp includes lib/fast/b.hpp",
                "lib/io/c.hpp includes chapters/03_masks/d.hpp",
                "chapters/03_masks/d.hpp includes chapters/04_x/e.hpp",
            ],
        )

    def test_a_circle_is_found(self) -> None:
        files = {"lib/a.hpp": '#include "lib/b.hpp"\n', "lib/b.hpp": '#include "lib/a.hpp"\n'}
        self.assertEqual(circles(files), ["lib/a.hpp -> lib/b.hpp -> lib/a.hpp"])

    def test_a_circle_of_folders_is_found(self) -> None:
        files = {
            "lib/a/x.hpp": '#include "lib/b/y.hpp"\n',
            "lib/b/y.hpp": '#include "lib/b/z.hpp"\n',
            "lib/b/w.cpp": '#include "lib/a/v.hpp"\n',
        }
        self.assertEqual(circles(files), [])
        self.assertEqual(circles(folders(files)), ["lib/a/* -> lib/b/* -> lib/a/*"])

    def test_a_name_for_a_later_chapter_is_found(self) -> None:
        files = {
            "lib/a.hpp": "struct Early {};\nvoid late(int x);\nvoid shared(int x);\n",
            "chapters/03_masks/d.cpp": "Early e; void f() { shared(1); }\n",
            "chapters/14_x/e.cpp": "void g() { late(1); shared(2); Early e; }\n",
        }
        self.assertEqual(of_later_chapters(files), ["lib/a.hpp: late"])

    def test_a_member_and_a_parameter_for_a_later_chapter_are_found(self) -> None:
        files = {
            "lib/a.hpp": "struct Early {\n    int here = 0;\n    int late = 1;\nprivate:\n    int own_;\n};\n"
            "void f(int x, int y = 0);\n",
            "lib/a.cpp": "void f(int x, int y) {\n    e.late = e.own_;\n}\n",
            "chapters/03_masks/d.cpp": "void i(Early e) {\n    f(e.here);\n}\n",
            "chapters/14_x/e.cpp": "void j() {\n    f(1, i({.late = 2}, 3));\n    e.own_;\n}\n",
        }
        self.assertEqual(of_later_chapters(files), ["lib/a.hpp: f with 2 arguments", "lib/a.hpp: late"])

    def test_a_template_argument_and_an_alias_for_a_later_chapter_are_found(self) -> None:
        files = {
            "lib/a.hpp": "template <class T>\nstruct Box {};\nusing Late = Box<int>;\nusing Early = Box<int>;\n",
            "chapters/03_masks/d.cpp": "Early b;\n",
            "chapters/14_x/e.cpp": "Box<float> c;\nLate d;\nEarly e;\n",
        }
        self.assertEqual(of_later_chapters(files), ["lib/a.hpp: Box<float>", "lib/a.hpp: Late"])


if __name__ == "__main__":
    unittest.main()
