"""The recorded results: that they are those of the programs as they are now, and how a machine is compared with them.

    build/venv/bin/python -m unittest discover tests/docs
"""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from project import ROOT

import record

CHAPTER = "04_small_attention"


def put(folder: Path, values: dict[str, Any]) -> None:
    """What a run leaves."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(values), encoding="utf-8")
    (folder / "stdout.txt").write_text("== Table ==\n", encoding="utf-8")


class TheRecord(unittest.TestCase):
    def test_every_run_is_recorded_by_the_program_as_it_is_now(self) -> None:
        wrong = list(record.stale(ROOT))
        self.assertEqual(wrong, [], "\n  ".join(["the record is not the programs' own; write it anew: ./book record", *wrong]))

    def test_it_is_small(self) -> None:
        live = ROOT / "recorded" / "live"  # has its own bound, in test_live.py
        files = [path for path in (ROOT / "recorded").rglob("*") if path.is_file() and live not in path.parents]
        self.assertLessEqual(sum(path.stat().st_size for path in files), record.LARGEST)


class Small(unittest.TestCase):
    """A project of one chapter with three runs, run here once and recorded."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "root"
        self.build = Path(folder.name) / "build"
        self.chapter = self.root / "chapters" / CHAPTER
        self.chapter.mkdir(parents=True)
        self.declare('abh_chapter(MAIN "--quick" RUNS "wide: --wide 3" "text: text"\n  MEASURES main)')
        (self.chapter / "main.cpp").write_text("int main() {}\n")
        (self.chapter / "text_command.cpp").write_text("int text() { return 0; }\n")
        self.values = {"mean": {"value": 1.5}, "ms": {"value": 2.0, "unit": "ms", "varies": True}}
        for name in ("main", "wide", "text"):
            put(self.build / "runs" / CHAPTER / name, self.values)
        record.write(self.root, self.build)

    def declare(self, call: str) -> None:
        (self.chapter / "CMakeLists.txt").write_text(f"project(chapter_04)\n{call}\n")

    def stale(self) -> str:
        return "\n".join(record.stale(self.root))

    def test_the_runs_are_those_that_cmake_is_told(self) -> None:
        commands = {key: run.command for key, run in record.declared(self.root).items()}
        self.assertEqual(commands, {
            f"{CHAPTER}/main": "./book run 04 --quick",
            f"{CHAPTER}/wide": "./book run 04 --wide 3",
            f"{CHAPTER}/text": "./book run 04 text",
        })
        self.assertEqual(self.stale(), "")

    def test_a_record_of_another_command_or_program_is_refused(self) -> None:
        self.declare('abh_chapter(MAIN "--quick" RUNS "wide: --wide 4" "text: text" "new: new" MEASURES main)')
        self.assertIn(f"{CHAPTER}/wide was recorded by ./book run 04 --wide 3, but its command is ./book run 04 --wide 4", self.stale())
        self.assertIn(f"{CHAPTER}/new (./book run 04 new) is not recorded", self.stale())
        self.declare('abh_chapter(MAIN "--quick" RUNS "text: text" MEASURES main)')
        self.assertEqual(self.stale(), f"{CHAPTER}/wide is recorded, but no chapter has such a run")
        self.declare('abh_chapter(MAIN "--quick" RUNS "wide: --wide 3" "text: text" MEASURES main)')
        for name in ("main.cpp", "text_command.cpp"):
            path = self.chapter / name
            old = path.read_text()
            path.write_text('#include "lib/a.hpp"\n// a comment\n' + old)
            self.assertEqual(self.stale(), "")
            path.write_text(old + "int changed;\n")
            self.assertIn(f"{CHAPTER}/main (./book run 04 --quick) was recorded by a program that has changed", self.stale())
            path.write_text(old)
        self.assertEqual(self.stale(), "")

    def test_a_record_needs_every_run(self) -> None:
        (self.build / "runs" / CHAPTER / "wide/stdout.txt").unlink()
        with self.assertRaisesRegex(record.cli.Failure, f"these runs are missing in .*: {CHAPTER}/wide"):
            record.write(self.root, self.build)

    def test_a_run_that_is_recorded_alone_has_a_machine_of_its_own(self) -> None:
        about = self.root / "recorded/about.json"
        kept = json.loads(about.read_text())
        about.write_text(json.dumps({**kept, "processor": "another", "date": "2020-01-01"}))
        put(self.build / "runs" / CHAPTER / "wide", {"mean": {"value": 2.5}})
        record.write_one(self.root, self.build, f"{CHAPTER}/wide")
        self.assertEqual(self.stale(), "")
        values = json.loads((self.root / "recorded" / CHAPTER / "wide/results.json").read_text())
        self.assertEqual(values["mean"]["value"], 2.5)
        record.gather(self.root, self.build.parent / "elsewhere")
        origin = json.loads((self.build.parent / "elsewhere/results/origin.json").read_text())
        self.assertEqual(origin[f"{CHAPTER}/main"]["processor"], "another")
        self.assertEqual(origin[f"{CHAPTER}/main"]["date"], "2020-01-01")
        self.assertEqual(origin[f"{CHAPTER}/wide"]["processor"], kept["processor"])
        self.assertNotEqual(origin[f"{CHAPTER}/wide"]["date"], "2020-01-01")
        with self.assertRaisesRegex(record.cli.Failure, f"no run {CHAPTER}/new"):
            record.write_one(self.root, self.build, f"{CHAPTER}/new")

    def test_pages_show_the_run_of_this_machine_where_there_is_one(self) -> None:
        put(self.build / "runs" / CHAPTER / "main", {**self.values, "mean": {"value": 1.75}})
        (self.build / "runs" / CHAPTER / "wide/stdout.txt").unlink()
        put(self.build / "results/03_gone/main", {})
        record.gather(self.root, self.build)
        results = self.build / "results"
        for name, mean in (("main", 1.75), ("wide", 1.5)):
            found = json.loads((results / CHAPTER / name / "results.json").read_text())
            self.assertEqual(found["mean"]["value"], mean)
        origin = json.loads((results / "origin.json").read_text())
        self.assertEqual({key: one["here"] for key, one in origin.items()}, {
            f"{CHAPTER}/main": True, f"{CHAPTER}/wide": False, f"{CHAPTER}/text": True,
        })
        self.assertFalse((results / "03_gone").exists())
        before = (results / CHAPTER / "main/results.json").stat().st_mtime_ns
        record.gather(self.root, self.build)
        self.assertEqual((results / CHAPTER / "main/results.json").stat().st_mtime_ns, before)

        # A run of an older program, which lacks a number, does not keep pages from rendering.
        put(self.build / "runs" / CHAPTER / "main", {"another": {"value": 1.75}})
        record.gather(self.root, self.build)
        self.assertEqual(json.loads((results / CHAPTER / "main/results.json").read_text())["mean"]["value"], 1.5)

    def compare(self) -> tuple[str, list[str]]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            differences = record.compare(self.root, self.build)
        return said.getvalue(), differences

    def test_a_difference_names_value_pages_record_and_run(self) -> None:
        put(self.build / "runs" / CHAPTER / "wide", {"mean": {"value": 1.6}, "ms": {"value": 3.0, "unit": "ms", "varies": True}})
        (self.chapter / "index.md").write_text("It is {value}`04/wide/mean:.2f > 1`.")
        table, (difference,) = self.compare()
        self.assertEqual(
            difference,
            f"mean is 1.5 in recorded/{CHAPTER}/wide, but 1.6 in build/runs/{CHAPTER}/wide; shown by chapters/{CHAPTER}/index.md",
        )
        counts = next(line for line in table.splitlines() if line.startswith(CHAPTER)).split()
        self.assertEqual(counts[1:], ["3", "2", "0", "1", "1.00"])


class Verdicts(unittest.TestCase):
    def verdict(self, recorded: Any, here: Any, **declared: Any) -> str:
        return record.Pair("", "", {"value": recorded, **declared}, {"value": here, **declared}).verdict

    def test_of_pairs_of_values(self) -> None:
        for recorded, here, declared, verdict in (
            (1.5, 1.5, {}, "equal"),
            (1.5, 1.5 * (1 + 0.9e-5), {}, "within"),
            (1.5, 1.5 * (1 + 1.2e-5), {}, "different"),
            (-1.5, 1.5, {}, "different"),
            (2e-7, -6e-7, {}, "within"),  # what is left where numbers cancel
            (44058112, 44058113, {}, "different"),  # counts
            (1000.0, 1000.5, {}, "different"),
            ("yes", "yes", {}, "equal"),
            ("yes", "no", {}, "different"),
            ("yes", 1.0, {}, "different"),
            (1.0, 9.0, {"varies": True}, "varies"),
        ):
            with self.subTest(recorded=recorded, here=here):
                self.assertEqual(self.verdict(recorded, here, **declared), verdict)

    def test_a_disturbed_time_says_nothing_of_the_speed(self) -> None:
        def time(here: float, **more: Any) -> record.Pair:
            entry = {"unit": "ms", "varies": True}
            return record.Pair("", "", {"value": 2.0, **entry}, {"value": here, **entry, **more})

        self.assertEqual(record.speed([time(3.0), time(5.0), time(90.0, disturbed=True), time(4.0)]), 2.0)
        self.assertIsNone(record.speed([]))
