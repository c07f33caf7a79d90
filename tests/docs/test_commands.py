"""The commands on the pages: that there are such programs, files and options."""

import unittest

from project import ROOT

import commands


class Commands(unittest.TestCase):
    def test_every_command_can_be_right(self) -> None:
        table = commands.Table((ROOT / "tests/commands.toml").read_text(encoding="utf-8"))
        found = table.ours(commands.commands())
        self.assertGreater(len(found), 200)
        self.assertEqual(commands.check(found, table), [])

    def test_a_wrong_one_is_seen(self) -> None:
        for line, reason in {
            "./book render": "there is no program ./book render",
            "./book build --mobi": "does not know --mobi",
            "echo a | ./book run 13 translate --bream 4": "--bream",
            "./book grade 04 --submissions in --out out --mark": "arguments: --mark",
            "cmake --workflow --preset fast": "does not know fast",
            "cmake -S chapters/04_attention -B build/ch04": "there is no chapters/04_attention",
            "python3 docs/tangle.py build/book/html --target b": "does not know --target",
            "tests/compilers.sh --change": "does not know --change",
        }.items():
            with self.subTest(line):
                self.assertIn(reason, "".join(map(commands.wrong, commands.simple(line))))

    @unittest.skipUnless(commands.with_parser(["./book", "run", "09"]), "chapter 9's program is not built")
    def test_a_program_reads_values_too(self) -> None:
        self.assertIn("--epochs", commands.wrong(["./book", "run", "09", "--epochs", "several"]))
