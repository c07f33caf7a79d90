"""./book bench from its options to its tables, with systems that do no work; and the trainings that are not repeated."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from fake_systems import REPOSITORY, UNKNOWN, fake, lives, shell

sys.path[:0] = [str(REPOSITORY / "lib/program"), str(REPOSITORY / "bench")]

import cli
import load
import plots
import translation
import turns
import works

import bench

QUIET = {"others": None, "spread": 0.0, "disturbed": False}


class CommandLine(unittest.TestCase):
    def run_main(self, folder: Path, *arguments: str, **patches: object) -> tuple[int, str, str]:
        operations = [
            {"name": name, "threads": n, "ms": 1.0, "bytes_per_second": 1e12, "noise": dict(QUIET)}
            for n in (1, 2)
            for name in ("read", "copy", "update")
        ]
        operations += [
            {"name": "matmul_y/8", "threads": n, "ms": 1.0, "flops_per_second": 1e12, "noise": QUIET}
            for n in (1, 2)
        ]
        replaced = {
            "ROOT": folder,
            "OUT": folder / "build",
            "build": lambda: None,
            "cache_bytes": lambda: 0,
            "installed": lambda python: {"torch"},
            "run_operations": lambda *_: [dict(o) for o in operations],
            "systems_for": lambda work, threads, python, peers: [
                fake("ours", *[2 if work.name == "product" else 10] * 3),
                *(fake(peer, 30, 30, 30, peak=2000) for peer in peers),
            ],
            **patches,
        }
        output, errors = io.StringIO(), io.StringIO()
        with (
            mock.patch.multiple(bench, **replaced),
            mock.patch.object(sys, "argv", ["bench", *arguments]),
            UNKNOWN,
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
        ):
            status = cli.call(bench.main)
        return status, output.getvalue(), errors.getvalue()

    def test_a_whole_run(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            options = ["--quick", "--threads", "2", "--only", "toy_step", "--only", "product"]
            status, output, errors = self.run_main(folder, *options)
            self.assertEqual((status, errors), (0, ""))
            self.assertRegex(output, r"toy_step +2 +10\.0 +10\.0-10\.0 +3\.00 +3\.00 ")
            self.assertNotIn("not installed", output)
            self.assertIn("No plots", output)
            results = json.loads((folder / "build" / "results.json").read_text())
            self.assertEqual([w["work"] for w in results["works"]], ["product", "toy_step"])
            self.assertEqual(results["works"][1]["ratios"]["tuned"]["memory"], 2)
            self.assertGreater(results["works"][1]["floor"]["floor_ms"], 0)
            self.assertEqual(results["limits"]["2"]["product"], 2 * 1024**3 / 0.002)
            self.assertEqual(os.listdir(folder / "build"), ["results.json"])
            drawn = [name for name, make in plots.FIGURES.items() if make(results)]
            self.assertEqual(drawn, ["ratios", "floors", "memory"])

    def test_what_beats_its_floor_fails_the_run_unless_it_is_disturbed(self) -> None:
        # a step of the toy takes 8e9 operations: 8 ms here
        options = ["--quick", "--threads", "2", "--only", "toy_step"]

        def run(*times: float, **patches: object) -> tuple[int, str, str]:
            systems = {"systems_for": lambda *_: [fake("ours", *times)]}
            with tempfile.TemporaryDirectory() as name:
                return self.run_main(Path(name), *options, **systems, **patches)

        status, output, errors = run(0.5, 0.5, 0.5)
        self.assertEqual(status, 1)
        self.assertIn("bench: faster than this machine can be: toy_step, ours, 2 threads: 0.5 ms", errors)
        self.assertRegex(output, r"toy_step +2 +0\.50 ")  # the table is there all the same
        status, output, errors = run(*[0.4, 0.5, 0.9] * 4)
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("toy_step, 2 threads: disturbed, so it supports no conclusion:", output)
        self.assertRegex(output, r"toy_step .* disturbed\n")
        self.assertIn("Disturbed, even when repeated: 1.", output)

    def test_without_peers_ours_is_measured_alone(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            status, output, _ = self.run_main(
                Path(name),
                "--quick",
                "--threads",
                "1",
                "--only",
                "toy_step",
                installed=lambda python: set(),
            )
            self.assertEqual(status, 0)
            self.assertIn("PyTorch: not installed", output)
            self.assertRegex(output, r"toy_step +1 +10\.0 +10\.0-10\.0 +1 ")

    def test_a_failure_of_ours_fails_the_run(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            status, output, errors = self.run_main(
                Path(name),
                "--quick",
                "--threads",
                "1",
                "--only",
                "toy_step",
                systems_for=lambda *_: [shell("ours", "echo broken >&2; exit 1")],
            )
            self.assertEqual((status, errors), (1, "bench: ours failed: toy_step\n"))
            self.assertIn("toy_step, 1 threads: ours failed: broken", output)

    def test_what_stops_the_run_is_one_line(self) -> None:
        def interrupted() -> None:
            raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as name:
            status, _, errors = self.run_main(Path(name), "--only", "nothing")
            self.assertEqual((status, errors), (1, "bench: no work nothing; see --list\n"))
            status, _, errors = self.run_main(Path(name), build=interrupted)
            self.assertEqual((status, errors), (130, "bench: stopped\n"))
            for wrong in (["--threads", "0"], ["--threads", "1,1"], ["--rounds", "x"]):
                status, _, errors = self.run_main(Path(name), *wrong)
                self.assertEqual(status, 1)
                self.assertRegex(errors, f"^bench: argument {wrong[0]}: {wrong[1]}: expected [^\n]*\n$")

    def test_a_python_that_is_none_is_refused(self) -> None:
        with self.assertRaisesRegex(bench.Failure, "--python /no/python: No such file"):
            bench.installed("/no/python")

    def test_a_quick_run_has_no_families_and_names_choose(self) -> None:
        chosen, operations = bench.choose([], quick=True)
        self.assertTrue(operations and all(not w.family for w in chosen))
        chosen, operations = bench.choose(["growth"], quick=True)
        self.assertTrue(not operations and {w.family for w in chosen} == {"growth"})
        names = [w.name for w in works.WORKS]
        self.assertEqual(len(names), len(set(names)))

    def test_busy_processes_run_as_long_as_a_work_that_wants_them_and_no_longer(self) -> None:
        kept: list[list[int]] = []

        def measure(*_: object) -> tuple:
            self.assertTrue(all(map(lives, kept[-1])))
            return {}, {}, load.Noise(0, 0)

        @contextlib.contextmanager
        def busy(count: int) -> Iterator[None]:
            with load.busy_processes(count) as pids:
                kept.append(pids)
                yield

        chosen = [w for w in works.WORKS if w.name in ("base_step", "busy_step")]
        with mock.patch.multiple(bench, measure=measure, busy_processes=busy):
            for work in chosen:
                bench.run_work(work, 2, [], 1, turns.Clock())
        self.assertEqual([len(pids) for pids in kept], [0, len(os.sched_getaffinity(0))])
        self.assertFalse(any(lives(pid) for pids in kept for pid in pids))


class Translation(unittest.TestCase):
    def test_a_finished_training_is_kept_until_its_command_or_a_file_changes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run, program = Path(folder), Path(folder) / "program"
            program.write_text("one")
            what = translation.identity(["train", "--seed", 1], program)
            self.assertIsNone(translation.finished(False, run, what))
            self.assertEqual(translation.keep(run, what, {"greedy": 29.5}), {"greedy": 29.5})
            self.assertEqual(translation.finished(False, run, what), {"greedy": 29.5})
            self.assertIsNone(translation.finished(True, run, what))
            self.assertIsNone(translation.finished(False, run, translation.identity(["train", "--seed", 2], program)))
            program.write_text("two")
            self.assertIsNone(translation.finished(False, run, translation.identity(["train", "--seed", 1], program)))


if __name__ == "__main__":
    unittest.main()
