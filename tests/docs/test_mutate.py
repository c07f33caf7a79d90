"""The list of faults of `./book mutate`: that it fits the sources as they are."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parent.parent.parent

sys.path.insert(0, str(REPOSITORY / "tests"))
import build_tree
import mutate
from cpp_tokens import places, tokens

MUTANTS = mutate.read_list()


def program(name: str) -> object:
    """A test program that is never run."""
    return build_tree.Program(name, "test", (), (), ".")


def words(source: str) -> list[str]:
    return [token.text for token in tokens(source)]


class Programs(unittest.TestCase):
    def test_only_those_that_follow_a_way_can_be_asked(self) -> None:
        def listed(name: str, label: str) -> dict:
            properties = {"LABELS": [label], "WORKING_DIRECTORY": "."}
            return {
                "name": name,
                "command": [str(build_tree.BUILD / "a" / "test"), "--colour-mode=none"],
                "properties": [{"name": n, "value": v} for n, v in properties.items()],
            }

        tests = [listed("04_fast", "fast"), listed("resume", "fast"), listed("fuzz_fast", "fuzz")]
        found = list(build_tree.programs_in({"tests": tests}))
        self.assertEqual([p.name for p in found], ["04_fast"])
        self.assertEqual((found[0].way, found[0].path), ("fast", "a/test"))


class Tokens(unittest.TestCase):
    def test_white_space_and_comments_are_dropped(self) -> None:
        self.assertEqual(words("a /* b\n c */ +\\\n\tb; // c\nd"), ["a", "+", "b", ";", "d"])
        self.assertEqual(words("// all\n/**/"), [])

    def test_operators_are_whole(self) -> None:
        spaced = "a ++ + b <<= c -> d :: e != f ..."
        self.assertEqual(" ".join(words("a+++b<<=c->d::e!=f...")), spaced)
        self.assertEqual(" ".join(words("Map<Row<T>>(x)")), "Map < Row < T > > ( x )")

    def test_numbers_are_whole(self) -> None:
        spaced = "1e-5f - .5 - 0x1p+2 + 1'000ull"
        self.assertEqual(" ".join(words("1e-5f - .5-0x1p+2+1'000ull")), spaced)

    def test_literals_are_whole_and_hide_comments(self) -> None:
        source = r"""f("a // \" b", 'x', '\'', u8"c", R"-(")" /* )-", L'"')"""
        literals = ['"a // \\" b"', "'x'", "'\\''", 'u8"c"', 'R"-(")" /* )-"', "L'\"'"]
        self.assertEqual([w for w in words(source) if w not in {"f", "(", ")", ","}], literals)

    def test_neighboring_string_literals_are_one(self) -> None:
        self.assertEqual(
            words('f("a "\n  "b" /**/ "c", "d")'), ["f", "(", '"a bc"', ",", '"d"', ")"]
        )

    def test_each_token_says_where_it_stands(self) -> None:
        source = 'x = "a"\n"b" ;'
        where = [source[token.begin : token.end] for token in tokens(source)]
        self.assertEqual(where, ["x", "=", '"a"\n"b"', ";"])


class Faults(unittest.TestCase):
    def test_each_fault_has_one_place_and_changes_it(self) -> None:
        for mutant in MUTANTS:
            with self.subTest(mutant.name):
                self.assertNotIn("\n", mutant.find + mutant.replace)
                self.assertEqual(mutate.check([mutant]), [])
                text = (REPOSITORY / mutant.file).read_text(encoding="utf-8")
                (begin, end), *_ = places(mutant.find, text)
                planted = words(text[:begin]) + words(mutant.replace) + words(text[end:])
                self.assertEqual(words(mutant.plant(text)), planted)  # nothing grew together
                self.assertNotEqual(planted, words(text))

    def test_names_are_unique(self) -> None:
        names = [mutant.name for mutant in MUTANTS]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_lib_and_every_chapter_have_faults(self) -> None:
        self.assertGreaterEqual(len(MUTANTS), 40)
        places = {mutant.file.split("/")[0] for mutant in MUTANTS}
        self.assertEqual(places, {"lib", "chapters"})
        chapters = {mutant.chapter() for mutant in MUTANTS}
        self.assertEqual(chapters, {f"{number:02d}" for number in range(15)})


class Machinery(unittest.TestCase):
    def test_a_fault_without_a_place_of_its_own_is_refused(self) -> None:
        mutant = mutate.Mutant("name", "lib/a.cpp", "x = y", "x = z")
        self.assertEqual(mutant.plant("1; x = y; 2"), "1; x = z; 2")
        for number, text in {0: "x == y", 2: "x = y; x=y"}.items():
            with self.assertRaisesRegex(
                mutate.Failure, f"name: {number} places in lib/a.cpp contain x ="
            ):
                mutant.plant(text)

    def test_a_part_of_a_name_or_of_a_literal_is_no_place(self) -> None:
        for text in ("xx", "x1", '"x"', "// x", "1x"):
            self.assertEqual(places("x", text), [], text)
        self.assertEqual(places("a < b", "a << b; a <= b"), [])

    def test_nothing_to_find_is_refused(self) -> None:
        for find in ("", "  ", "// a comment"):
            with self.assertRaisesRegex(mutate.Failure, "0 places"):
                mutate.Mutant("name", "lib/a.cpp", find, "y").plant("x // a comment")

    def test_a_reformatted_source_holds_the_fault(self) -> None:
        mutant = mutate.Mutant("name", "a.cpp", "f(x, y[i]) + 1; // why", "g();")
        sources = [
            "a = f(x, y[i]) + 1;",
            "a =\n    f( x,\n       y [ i ] )+1 ;",
            "a = f(x,  // the first\n y[i])\n /* one more */ + 1;",
            "a = f(x, \\\n y[i]) \\\n + 1;",
        ]
        for source in sources:
            with self.subTest(source):
                self.assertEqual(words(mutant.plant(source)), words("a = g();"))
                self.assertTrue(mutant.plant(source).startswith("a ="))

    def test_what_stands_beside_a_fault_is_left_as_it_is(self) -> None:
        source = "  /* before */ a  ( b )\t; // after\n"
        planted = "  /* before */ \t; // after\n"
        self.assertEqual(mutate.Mutant("name", "a.cpp", "a(b)", "").plant(source), planted)

    def test_check_lists_what_does_not_match(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cpp").write_text("f(x);\nf( x );\ng( y );\n")
            mutants = [
                mutate.Mutant("twice", "a.cpp", "f(x)", ""),
                mutate.Mutant("once", "a.cpp", "g(y)", ""),
                mutate.Mutant("never", "a.cpp", "h(z)", ""),
                mutate.Mutant("nowhere", "b.cpp", "g(y)", ""),
            ]
            self.assertEqual(
                mutate.check(mutants, Path(folder)),
                [
                    "2 places in a.cpp: twice: f(x)",
                    "0 places in a.cpp: never: h(z)",
                    "0 places in b.cpp (no such file): nowhere: g(y)",
                ],
            )

    def test_check_ends_with_a_status(self) -> None:
        for find, status in {"return": 1, "no_such_name": 1, "#pragma once": 0}.items():
            mutant = mutate.Mutant("name", "lib/tensor.hpp", find, "")
            output = io.StringIO()
            with (
                mock.patch.object(mutate, "read_list", return_value=[mutant]),
                mock.patch.object(sys, "argv", ["mutate", "--check"]),
                contextlib.redirect_stdout(output),
            ):
                self.assertEqual(mutate.main(), status, output.getvalue())

    def test_the_way_of_a_fault_is_that_of_its_file_unless_it_says_so(self) -> None:
        ways = {
            "lib/fast/parallel.hpp": "fast",
            "chapters/04_a/softmax.fast.hpp": "fast",
            "lib/fast/kernel.cu": "cuda",
            "lib/cuda/device.cpp": "cuda",
            "lib/tensor.cpp": "plain",
            "chapters/04_a/softmax.fast.cpp": "fast",
            "chapters/04_a/softmax.cu": "cuda",
            "chapters/04_a/softmax.cuh": "cuda",
            "chapters/04_a/softmax.cpp": "plain",
        }
        for file, way in ways.items():
            self.assertEqual(mutate.Mutant("name", file, "x", "y").way, way, file)
        self.assertEqual(mutate.Mutant("name", "lib/tensor.cpp", "x", "y", way="cuda").way, "cuda")
        with self.assertRaisesRegex(
            mutate.Failure, "name: way is quick, expected one of plain, fast, cuda"
        ):
            mutate.Mutant("name", "lib/tensor.cpp", "x", "y", way="quick")

    def test_tests_come_in_the_order_in_which_they_may_notice(self) -> None:
        names = ["04", "04_double", "05", "05_double", "10", "proof_double"]
        programs = [program(f"{name}_{way}") for name in names for way in ("cuda", "fast", "plain")]
        programs += [program(name) for name in ("12_fast", "12_double_fast")]

        def order(file: str) -> str:
            mutant = mutate.Mutant("name", file, "x", "y")
            return " ".join(program.name for program in mutate.in_order(programs, mutant))

        self.assertEqual(
            order("chapters/05_a/a.fast.cpp"),
            "05_double_fast 05_fast 12_double_fast proof_double_fast 10_fast 12_fast "
            "04_double_fast 04_fast "
            "05_double_plain 05_plain proof_double_plain 10_plain 04_double_plain 04_plain "
            "05_double_cuda 05_cuda proof_double_cuda 10_cuda 04_double_cuda 04_cuda",
        )
        self.assertRegex(order("chapters/05_a/a.cpp"), "^05_double_plain 05_plain ")
        self.assertRegex(order("chapters/05_a/a.cu"), "^05_double_cuda 05_cuda ")
        # a chapter whose tests are about the tuned code
        self.assertRegex(order("chapters/12_a/a.cpp"), "^12_double_fast 12_fast ")

    def test_a_program_is_of_a_chapter(self) -> None:
        for name in ("04_double_plain", "04_double_cuda"):
            self.assertEqual(program(name).chapter, "04")
        self.assertEqual(program("allocation_fast").chapter, "allocation")

    def test_programs_run_in_the_way_that_ctest_sets(self) -> None:
        def of(name: str, label: str) -> dict:
            properties = {"LABELS": [label], "WORKING_DIRECTORY": "/b"}
            if label != "pages":
                properties["ENVIRONMENT"] = [f"ABH_TEST_WAY={label}"]
            properties = [{"name": key, "value": value} for key, value in properties.items()]
            path = str(build_tree.BUILD / "tests" / "test_04")
            return {"name": name, "command": [path, "~[cuda]"], "properties": properties}

        tests = [of("04_plain", "plain"), of("04_cuda", "cuda"), of("pages", "pages")]
        with mock.patch.object(build_tree, "must", return_value=json.dumps({"tests": tests})):
            programs = build_tree.find_programs()
        self.assertEqual([program.name for program in programs], ["04_plain", "04_cuda"])
        self.assertEqual([program.way for program in programs], ["plain", "cuda"])
        expected = build_tree.Program(
            "04_cuda", "tests/test_04", ("~[cuda]",), ("ABH_TEST_WAY=cuda",), "/b"
        )
        self.assertEqual(programs[1], expected)

    def test_what_kills_is_named(self) -> None:
        def ends_with(status: int, xml: str, way: str = "plain") -> mutate.Verdict | None:
            with mock.patch.object(mutate, "run", return_value=(status, xml)):
                return mutate.test(program(f"04_{way}"))

        cases = '<TestCase name="first"/><TestCase name="a &lt; b">'
        self.assertIsNone(ends_with(0, cases))
        skipped = mutate.Verdict("skipped", "04_cuda", "", "there is no device")
        self.assertEqual(ends_with(77, "there is no device\n", "cuda"), skipped)
        failed = mutate.Verdict("killed", "04_plain", "a < b", "")
        self.assertEqual(ends_with(1, cases + "</TestCase><OverallResults failures='1'/>"), failed)
        self.assertEqual(ends_with(-11, cases).how, "crash, status -11")
        self.assertEqual(ends_with(-9, cases).how, "did not end in 120 s")
        self.assertEqual(ends_with(-9, cases, "cuda").how, "did not end in 480 s")

    def test_a_program_without_a_device_kills_nothing(self) -> None:
        programs = [program(f"04_{way}") for way in ("plain", "cuda")]
        objects = mock.Mock()
        objects.changed.return_value = ["a.o"]
        objects.compile.return_value = objects.link.return_value = (0, "")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cu").write_text("x")
            with mock.patch.multiple(
                mutate,
                ROOT=Path(folder),
                WORK=Path(folder),
                run=lambda *_, **__: (mutate.SKIPPED, "there is no device"),
            ):
                fault = mutate.Mutant("name", "a.cu", "x", "y")
                verdict, _ = mutate.judge(fault, programs, objects)
            self.assertEqual(verdict.outcome, "SURVIVED")
            self.assertEqual((Path(folder) / "a.cu").read_text(), "x")

    def test_programs_that_do_not_depend_on_the_file_are_left_out(self) -> None:
        objects = mock.Mock()
        objects.changed.return_value = []
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cpp").write_text("x")
            with mock.patch.multiple(mutate, ROOT=Path(folder), WORK=Path(folder)):
                fault = mutate.Mutant("name", "a.cpp", "x", "y")
                verdict, _ = mutate.judge(fault, [program("04_plain")], objects)
        self.assertEqual(verdict.outcome, "SURVIVED")
        objects.compile.assert_not_called()

    def test_an_endless_program_is_stopped_with_what_it_started(self) -> None:
        status, output = build_tree.run("sh", "-c", "echo begun; sleep 100 & sleep 100", limit=0.2)
        self.assertEqual((status, output), (-9, "begun\n"))

    def test_the_fault_is_compiled_and_linked_beside_the_build(self) -> None:
        root = build_tree.ROOT
        compiled = (
            f"c++ -DX -I{root} -isystem /e -Werror -MD -MT a.o -MF a.o.d -o a.o -c {root}/lib/a.cpp"
        )
        commands = {
            "a.o": compiled,
            "t.o": compiled.replace("a.o", "t.o").replace("lib/a.cpp", "tests/t.cpp"),
            "lib.a": ": && ar qc lib.a a.o && :",
            "t": ": && c++ -O3 t.o -o t lib.a /usr/lib/libm.so && :",
            "u.o": compiled.replace("a.o", "u.o"),
            "u": ": && c++ -O3 t.o u.o -o u lib.a && :",  # has lib's source in a build of its own
        }
        listed = json.dumps([{"output": o, "command": c} for o, c in commands.items()])
        inside = os.path.relpath(root, build_tree.BUILD)
        both = f"#deps 2\n    {inside}/lib/a.cpp\n    {root}/lib/a.hpp\n"
        files = f"a.o: {both}\nt.o: #deps 1\n    {inside}/lib/a.hpp\n\nu.o: {both}"
        with mock.patch.object(build_tree, "must", side_effect=["ninja: in\n" + listed, files]):
            objects = build_tree.Objects()
        self.assertEqual(objects.changed("t", "lib/a.cpp"), ["a.o"])
        self.assertEqual(objects.changed("t", "lib/a.hpp"), ["t.o", "a.o"])
        self.assertEqual(objects.changed("u", "lib/a.cpp"), ["u.o"])
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(build_tree, "run", return_value=(0, "")) as run,
        ):
            objects.compile("a.o", "lib/a.cpp", Path(folder))
            objects.link("t", ["t.o", "a.o"], Path(folder))
            (_, _, compile_), (_, _, link) = (call.args for call in run.call_args_list)
        self.assertEqual(
            compile_.split(),
            f"c++ -DX -I{folder} -I{root} -isystem /e -Werror -c {folder}/lib/a.cpp -w "
            f"-o {folder}/a.o".split(),
        )
        self.assertEqual(
            link.split(),
            f": && c++ -O3 {folder}/t.o {folder}/a.o -o {folder}/t lib.a /usr/lib/libm.so "
            "&& :".split(),
        )


if __name__ == "__main__":
    unittest.main()
