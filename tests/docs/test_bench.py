"""The driver of ./book bench, with systems that only speak its protocol."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parent.parent.parent


sys.path.insert(0, str(REPOSITORY / "bench"))
import plots
import turns
import works

import bench


def shell(name: str, script: str) -> turns.System:
    return turns.System(name, ("sh", "-c", script), pause=0)


def fake(name: str, *times: float, peak: int = 1000) -> turns.System:
    """A system that takes these times, and counts any round beyond them as an error."""
    turns = "".join(f"read go && echo {t} && " for t in times)
    return shell(name, f"echo ready {name} 1.0; {turns} ! read go && echo {peak}")


def entry(systems: list[turns.System], rounds: int, **more: object) -> dict:
    measured, absent = turns.measure(systems, rounds)
    return {**turns.summary(measured), "absent": absent, **more}


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return state.rsplit(")", 1)[1].split()[0] != "Z"


class Turns(unittest.TestCase):
    def test_medians_spread_and_ratios_round_by_round(self) -> None:
        result = entry([fake("ours", 4, 2, 3), fake("eager", 8, 6, 6, peak=2500)], 3)
        ours = result["systems"]["ours"]
        self.assertEqual(ours["ms"], {"median": 3, "low": 2.5, "high": 3.5})
        self.assertEqual((ours["times_ms"], ours["version"]), ([4, 2, 3], "ours 1.0"))
        eager = result["ratios"]["eager"]  # 2, 3, 2
        self.assertEqual((eager["time"]["median"], eager["time"]["high"]), (2, 2.5))
        self.assertEqual(eager["memory"], 2.5)
        self.assertEqual(result["absent"], {})

    def test_every_second_round_goes_backwards(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            script = "echo ready; while read go; do echo %s >> '%s'; echo 1; done; echo 1"
            turns.measure([shell(name, script % (name, log)) for name in "abc"], 3)
            self.assertEqual("".join(log.read_text().split()), "abccbaabc")

    def test_a_peer_that_dies_is_left_out_and_the_others_go_on(self) -> None:
        dying = shell("eager", "echo ready; read go; echo 5; read go; echo no memory >&2; exit 3")
        mute = shell("tuned", "echo ready; exit 3")
        result = entry([fake("ours", 1, 1, 1), dying, mute, fake("ctranslate2", 2, 2, 2)], 3)
        self.assertEqual(result["absent"], {"eager": "no memory", "tuned": "ended with status 3"})
        self.assertEqual(list(result["systems"]), ["ours", "ctranslate2"])
        self.assertEqual(list(result["ratios"]), ["ctranslate2"])

    def test_a_peer_that_cannot_start_or_talks_nonsense_is_named(self) -> None:
        missing = turns.System("eager", ("/no/such/program",))
        result = entry([fake("ours", 1), missing, shell("tuned", "echo hello; cat")], 1)
        self.assertEqual(result["absent"]["eager"], "No such file or directory: /no/such/program")
        self.assertEqual(result["absent"]["tuned"], "said 'hello' instead of ready")
        self.assertEqual(list(result["systems"]), ["ours"])

    def test_a_peer_that_hangs_is_given_up(self) -> None:
        with mock.patch.object(turns, "START_SECONDS", 0.1):
            _, absent = turns.measure([shell("eager", "sleep 100")], 1)
        self.assertIn("took more than", absent["eager"])

    def test_when_time_is_up_the_round_under_way_is_the_last(self) -> None:
        script = "echo ready; while read go; do echo 1; done; echo 1"
        measured, _ = turns.measure([shell("ours", script)], 5, turns.Clock(0))
        self.assertEqual(len(measured["ours"].times), 1)

    def test_nothing_is_left_running(self) -> None:
        def interrupt(text: str) -> None:
            if text == "round 2 of 2":
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            script = f"sleep 100 & echo $$ $! >> '{log}'; echo ready; "
            script += "while read go; do echo 1; done"
            with self.assertRaises(KeyboardInterrupt):
                turns.measure([shell("a", script), shell("b", script)], 2, show=interrupt)
            pids = [int(pid) for pid in log.read_text().split()]
        self.assertEqual(len(pids), 4)
        end = time.monotonic() + 5
        while any(lives(pid) for pid in pids):  # what is killed may need a moment to die
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)


class Floors(unittest.TestCase):
    LIMITS = works.Limits(read=1e9, copy=2e9, update=4e9, product=1e12)

    def test_sizes_of_the_models(self) -> None:
        self.assertEqual(works.TOY.parameters, 44_058_112)
        self.assertEqual(works.BASE.parameters, 56_434_496)

    def test_a_step_reads_the_weights_and_updates_them_with_what_the_optimizer_keeps(self) -> None:
        toy = works.step_need(works.TOY, 2, 8, 7)
        self.assertEqual(toy.read, 4 * works.TOY.matrices)
        self.assertEqual(toy.updated, 16 * works.TOY.parameters)
        # three products of 2 operations for every weight and word, and little for attention
        words = 6 * 2 * (8 * 6 * (works.TOY.encoder_layer + works.TOY.cross_maps))
        words += 6 * 2 * 7 * 6 * (works.TOY.decoder_layer - works.TOY.cross_maps)
        self.assertAlmostEqual(toy.flops / words, 1, delta=0.01)

    def test_a_cache_saves_products_but_not_the_reading_of_weights(self) -> None:
        plain = works.decode_need(works.BASE, 32, 24, 24, cached=False)
        cached = works.decode_need(works.BASE, 32, 24, 24, cached=True)
        self.assertEqual(plain.read, cached.read)
        self.assertGreater(plain.flops, 7 * cached.flops)

    def test_overlapped_and_summed(self) -> None:
        found = works.floor(works.Need(read=10**9, updated=2 * 10**9, flops=10**12), self.LIMITS)
        self.assertEqual((found["memory_ms"], found["products_ms"]), (1500, 1000))
        self.assertEqual((found["overlapped_ms"], found["summed_ms"]), (1500, 2500))

    def test_operations_are_held_against_their_own_streams(self) -> None:
        def least(name: str, **rates: float) -> float:
            return works.operation_floor({"name": name, "ms": 1000, **rates}, self.LIMITS)

        self.assertAlmostEqual(least("softmax/4x4", bytes_per_second=1e9), 500)
        self.assertAlmostEqual(least("sgd", bytes_per_second=1e9), 200 + 800 / 4)
        self.assertAlmostEqual(least("matmul_y/1", bytes_per_second=1, flops_per_second=1e11), 100)

    def test_limits_come_from_the_report(self) -> None:
        def line(name: str, us: float, kind: str = "iteration", **rates: float) -> dict:
            return {
                "name": f"{name}/threads:2/real_time",
                "run_type": kind,
                "real_time": us,
                "time_unit": "us",
                **rates,
            }

        streams = [line(name, 5, bytes_per_second=7) for name in ("read", "copy", "update")]
        products = [line("matmul_y/8", us, flops_per_second=us) for us in (10, 30, 20)]
        wrong = line("matmul_y/8", 1e9, "aggregate", flops_per_second=1e9)
        operations = works.read_operations({"benchmarks": [*streams, *products, wrong]})
        self.assertEqual(operations[-1]["ms"], 0.02)
        self.assertEqual(works.find_limits(operations, {})[2], works.Limits(7, 7, 7, 20))
        self.assertEqual(works.find_limits(operations, {2: 25})[2].product, 25)


class CommandLine(unittest.TestCase):
    def run_main(self, folder: Path, *arguments: str, **patches: object) -> tuple[int, str, str]:
        operations = [
            {"name": name, "threads": n, "ms": 1.0, "bytes_per_second": 1e10}
            for n in (1, 2)
            for name in ("read", "copy", "update")
        ]
        operations += [
            {"name": "matmul_y/8", "threads": n, "ms": 1.0, "flops_per_second": 1e11}
            for n in (1, 2)
        ]
        replaced = {
            "ROOT": folder,
            "BUILD": folder / "build",
            "build": lambda: None,
            "busy": lambda: 0.0,
            "installed": lambda python: {"torch"},
            "run_operations": lambda *_: [dict(o) for o in operations],
            "systems_for": lambda work, threads, python, peers: [
                fake("ours", 10, 10, 10),
                *(fake(peer, 30, 30, 30, peak=2000) for peer in peers),
            ],
            **patches,
        }
        output, errors = io.StringIO(), io.StringIO()
        with (
            mock.patch.multiple(bench, **replaced),
            mock.patch.object(sys, "argv", ["bench", *arguments]),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
        ):
            status = bench.main()
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
            self.assertGreater(results["works"][1]["floor"]["summed_ms"], 0)
            self.assertEqual(results["limits"]["2"]["product"], 2 * 1024**3 / 0.01)
            self.assertEqual(os.listdir(folder / "build"), ["results.json"])
            drawn = [name for name, make in plots.FIGURES.items() if make(results)]
            self.assertEqual(drawn, ["ratios", "floors", "memory"])

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
                with self.assertRaises(SystemExit):
                    self.run_main(Path(name), *wrong)

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


if __name__ == "__main__":
    unittest.main()
