"""The commands on the pages: that each has options that its program takes, and that a wrong one would be seen."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "tests"))
import command_options
import commands

PAGE = """Call `./book run 04`, or `echo Guten
Tag | ./book run 13 translate`; `softmax.cpp` is a file, `cmake` a program, and `--row` an option.

```console
$ cmake -S a \\
    -B b
(gdb) run
$ ./book test   # all of them
```

`bench/gpu` is a script.

```sh
#!/bin/bash
ctest -R 04
```
"""
TABLE = """
others = ["./book run"]
[names]
NAME = "ada"
[[run]]
why = "long"
commands = ["./book bench*"]
run = "{} --list"
[[run]]
why = "takes part in nothing"
commands = ["gdb *", "./book bench --record"]
"""


class Collecting(unittest.TestCase):
    def test_commands_are_found_in_blocks_and_in_sentences(self) -> None:
        self.assertEqual(
            [line for _, line in commands.of_page(PAGE)],
            ["./book run 04", "echo Guten Tag | ./book run 13 translate", "--row", "cmake -S a -B b", "./book test", "bench/gpu", "ctest -R 04"],
        )

    def test_commands_are_found_in_heads_of_scripts_and_in_help(self) -> None:
        script = '#!/usr/bin/env python3\n"""Makes it.\n\n    python docs/make.py --out DIR   writes\n    python docs/make.py [--help]\n"""\n# python docs/no.py'
        self.assertEqual([line for _, line in commands.of_script(script)], ["python docs/make.py --out DIR"])
        text = "  ./book serve [PORT]     serve\n  ./book progress         list: ./book run 04, ./book run x ...\n"
        self.assertEqual([line for _, line in commands.of_book(text)], ["./book progress", "./book run 04"])


class Listing(unittest.TestCase):
    def test_a_command_is_run_in_the_form_of_the_last_entry_that_fits(self) -> None:
        table = commands.Table(TABLE)
        lines = ("./book hunt --student NAME", "./book bench --only NAME", "./book bench --record", "gdb a", "./book RENAME")
        self.assertEqual([table.to_run(line) for line in lines], ["./book hunt --student ada", "./book bench --only ada --list", "", "", "./book RENAME"])

    def test_an_entry_that_is_for_no_command_is_an_error(self) -> None:
        found = commands.check([commands.Command("./book bench", "docs/a.md:1")], commands.Table(TABLE))
        self.assertEqual(
            found, [f"tests/commands.toml: {entry} is on no page" for entry in ("./book bench --record", "./book run", "NAME", "gdb *")]
        )


@unittest.skipUnless((command_options.BUILD / "chapters").is_dir(), "the programs are not built; ./book test builds them")
class Options(unittest.TestCase):
    def test_every_command_has_options_that_its_program_takes(self) -> None:
        table = commands.Table((ROOT / "tests/commands.toml").read_text(encoding="utf-8"))
        self.assertEqual(commands.check(table.ours(commands.commands()), table), [])

    def test_a_wrong_option_is_seen_in_each_kind_of_command(self) -> None:
        for line, reason in {
            "./book render": "there is no verb render",
            "./book build --mobi": "but not --mobi",
            "./book run 04 --column 3": "not expected: --column 3",
            "./book run 04 --row 9": "--row: Value 9 not in range 1 to 8",
            "echo a | ./book run 13 translate --bream 4": "not expected: --bream 4",
            "mpirun -n 2 ./book run 14 --shards 0 > log": "--shards",
            "./book proof --single --trials 2": "not expected: --trials 2",
            "./book check 04.2 --hints": "unrecognized arguments: --hints",
            "./book grade 04 --out marks": "required: --submissions",
            "./book mutate --plant": "unrecognized arguments: --plant",
            "./book check-pages --every": "does not know --every",
            "./book test -R nothing": "CTest finds no tests",
            "./book test -L slow": "CTest finds no tests",
            "build/ch04/scaled_dot_product_attention --why": "not expected: --why",
            "build/ch04/softmax": "there is no program build/ch04/softmax",
            "cmake --workflow --preset fast": "CMake finds no fast",
            "cmake -S chapters/04_attention -B build/ch04": "there is no chapters/04_attention",
            "cmake -S chapters/04_scaled_dot_product_attention -DABH_GPU=ON": "CMake finds no ABH_GPU",
            "cmake --build build/book --target test_04 bench_all": "CMake finds no bench_all",
            "ctest --preset fast": "CTest finds no fast",
            "cd a && python3 docs/tangle.py build/book/html --target b": "unrecognized arguments: --target b",
            "build/venv/bin/pip install -r docs/needs.txt": "there is no docs/needs.txt",
            "tests/compilers.sh --change": "does not know --change",
            "--rows": "nothing has an option --rows",
        }.items():
            with self.subTest(line):
                self.assertIn(reason, command_options.wrong_line(line))
