"""The driver of ./book bench, with systems that only speak its protocol."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parent.parent.parent


sys.path[:0] = [str(REPOSITORY / "lib/program"), str(REPOSITORY / "bench")]
import cli
import load
import plots
import tables
import translation
import turns
import works

import bench

UNKNOWN = mock.patch.object(load, "read_ticks", lambda: None)  # whatever else this machine does
QUIET = {"others": None, "spread": 0.0, "disturbed": False}


def shell(name: str, script: str) -> turns.System:
    return turns.System(name, ("sh", "-c", script), pause=0)


def fake(name: str, *times: float, peak: int = 1000) -> turns.System:
    """A system that takes these times, and counts any round beyond them as an error."""
    turns = "".join(f"read go && echo {t} && " for t in times)
    return shell(name, f"echo ready {name} 1.0; {turns} ! read go && echo {peak}")


def entry(systems: list[turns.System], rounds: int, **more: object) -> dict:
    with UNKNOWN:
        measured, absent, noise = turns.measure(systems, rounds)
    return {**turns.summary(measured), "noise": noise, "absent": absent, **more}


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
            with UNKNOWN:
                turns.measure([shell(name, script % (name, log)) for name in "abc"], 3)
            self.assertEqual("".join(log.read_text().split()), "abccbaabc")

    def test_a_turn_repeats_what_is_short_and_leaves_out_its_first(self) -> None:
        times = [21, 5, 22, 9, 9, 33]  # the first is long enough, so are 5 + 22, and 9 + 9 + 33
        script = f"echo ready; for t in {' '.join(map(str, times))}; do read go; echo $t; done; "
        short = turns.System("ours", ("sh", "-c", script + "echo 1"), pause=0, turn_ms=20)
        with UNKNOWN:
            measured, _, _ = turns.measure([short], 3)
        self.assertEqual(measured["ours"].times, [21, 22, 21])

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
            _, absent, _ = turns.measure([shell("eager", "sleep 100")], 1)
        self.assertIn("took more than", absent["eager"])

    def test_when_time_is_up_the_round_under_way_is_the_last(self) -> None:
        script = "echo ready; while read go; do echo 1; done; echo 1"
        measured, _, _ = turns.measure([shell("ours", script)], 5, turns.Clock(0))
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


class Disturbed(unittest.TestCase):
    def measure(self, others: list[float | None], *systems: turns.System) -> tuple:
        """With this load of others, measurement by measurement."""
        loads = iter(others)
        watch = mock.Mock(others=lambda: next(loads))
        with mock.patch.object(load, "Load", lambda: watch):
            result = turns.measure(list(systems), 3)
        self.assertEqual(list(loads), [])  # one for each measurement
        return result

    def test_others_above_10_percent_or_a_spread_above_30(self) -> None:
        for others, spread, disturbed in (
            (0.10, 0.30, False), (0.11, 0, True), (0, 0.31, True), (None, 0.30, False), (None, 0.31, True),
        ):
            with self.subTest(others=others, spread=spread):
                self.assertEqual(load.Noise(others, spread).disturbed, disturbed)

    def test_a_disturbed_measurement_is_repeated_and_the_quiet_one_counts(self) -> None:
        ours = fake("ours", 9, 9, 9, 4, 4, 4)
        measured, absent, noise = self.measure([0.5, 0.0], ours, fake("eager", *[8] * 6))
        self.assertEqual((absent, measured["ours"].times), ({}, [4, 4, 4]))
        self.assertFalse(noise.disturbed)

    def test_what_stays_disturbed_is_given_up_after_three_repeats(self) -> None:
        measured, absent, noise = self.measure([0.5] * 4, fake("ours", *range(1, 13)))
        self.assertEqual((absent, measured["ours"].times), ({}, [10, 11, 12]))
        self.assertTrue(noise.disturbed)
        self.assertEqual(noise.others, 0.5)

    def test_uneven_ratios_disturb_and_uneven_times_of_both_do_not(self) -> None:
        both = fake("ours", 1, 9, 1), fake("eager", 2, 18, 2)
        measured, _, noise = self.measure([None], *both)
        self.assertEqual((noise.spread, measured["ours"].times), (0, [1, 9, 1]))
        one = fake("ours", *[1, 9, 1] * 4), fake("eager", *[2] * 12)
        self.assertGreater(self.measure([None] * 4, *one)[2].spread, 0.3)
        self.assertTrue(self.measure([None] * 4, fake("ours", *[1, 9, 1] * 4))[2].disturbed)

    def test_a_repeat_that_is_cut_short_leaves_the_whole_measurement(self) -> None:
        left = iter([100] * 2 + [0] * 20)
        clock = turns.Clock()
        watch = mock.Mock(others=lambda: 0.5)
        systems = [shell("ours", "echo ready; for t in 1 1 9; do read go; echo $t; done; echo 1")]
        with (
            mock.patch.object(load, "Load", lambda: watch),
            mock.patch.object(turns.Clock, "at_most", lambda self, seconds: 5),
            mock.patch.object(turns.Clock, "left", lambda self: next(left)),
        ):
            measured, _, noise = turns.measure(systems, 2, clock)
        self.assertEqual(measured["ours"].times, [1, 1])
        self.assertTrue(noise.disturbed)

    def test_ours_are_all_that_we_started_and_what_they_started(self) -> None:
        def line(process: int, parent: int, *ticks: int, name: str = "sh") -> str:
            return f"{process} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {' '.join(map(str, ticks))} 20 0"

        processes = [
            line(1, 0, 1000, 1000, 0, 0),
            line(10, 1, 1, 2, 3, 4),  # we
            line(11, 10, 20, 0, 0, 0, name="a) S 1 (b"),
            line(12, 11, 300, 0, 0, 0),
            line(13, 1, 5000, 0, 0, 0),
        ]
        self.assertEqual(load.own_ticks(processes, 10), 330)

    def test_the_load_is_what_neither_idled_nor_was_ours(self) -> None:
        before, after = load.Ticks(1000, 300, 10000), load.Ticks(1250, 500, 10400)
        self.assertEqual(load.share_of_others(before, after), 50 / 400)
        self.assertEqual(load.share_of_others(before, load.Ticks(1250, 600, 10400)), 0)
        for unknown in ((None, after), (before, None), (before, before)):
            self.assertIsNone(load.share_of_others(*unknown))

    def test_this_machine_counts_what_a_child_did(self) -> None:
        before = load.read_ticks()
        if before is None:
            self.skipTest("this system does not count processor time")
        code = "import time\nwhile time.process_time() < 0.3: pass"
        subprocess.run([sys.executable, "-c", code], check=True)
        after = load.read_ticks()
        seconds = (after.own - before.own) / os.sysconf("SC_CLK_TCK")
        self.assertGreater(seconds, 0.25)  # in ticks of 0.01 s
        self.assertLess(seconds, 5)

    def test_operations_that_are_disturbed_are_measured_again_and_marked(self) -> None:
        asked = []

        def once(threads: list[int], names: str, quick: bool) -> list[dict]:
            asked.append(names)
            steady = {"name": "softmax/4x4", "threads": 2, "ms": 1, "times_ms": [1, 1, 1]}
            uneven = {"name": "relu", "threads": 2, "ms": 1, "times_ms": [1, 1, 5, 5]}
            return [uneven] if len(asked) > 1 else [steady, uneven]

        with UNKNOWN, mock.patch.object(bench, "measure_operations", once):
            operations = bench.run_operations([2], ".", False)
        self.assertEqual(asked, [".", *["^(relu/threads:2/)"] * 3])
        self.assertEqual([o["noise"]["disturbed"] for o in operations], [False, True])
        for o in operations:
            o["floor_ms"] = 0.5
        lines = tables.operations_table(operations).splitlines()
        self.assertEqual([line.endswith("disturbed") for line in lines[2:]], [False, True])


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

    def test_the_longer_of_memory_and_products(self) -> None:
        found = works.floor(works.Need(read=10**9, updated=2 * 10**9, flops=10**12), self.LIMITS)
        self.assertEqual((found["memory_ms"], found["products_ms"]), (1500, 1000))
        self.assertEqual(found["floor_ms"], 1500)

    def test_operations_are_held_against_their_own_streams(self) -> None:
        def least(name: str, **rates: float) -> float:
            return max(works.operation_parts({"name": name, "ms": 1000, **rates}, self.LIMITS))

        self.assertAlmostEqual(least("softmax/4x4", bytes_per_second=1e9), 500)
        self.assertAlmostEqual(least("sgd", bytes_per_second=1e9), 200 + 800 / 4)
        self.assertAlmostEqual(least("matmul_y/1", bytes_per_second=1, flops_per_second=1e11), 100)

    def test_caches_can_save_their_own_size_in_each_pass_and_no_more(self) -> None:
        def least(cache: int | None, passes: int = 1) -> float:
            return works.least_ms(1500, 1000, passes, cache, self.LIMITS)

        self.assertEqual(least(0), 1500)
        self.assertEqual(least(10**8), 1400)  # at the slowest stream's 1e9 bytes a second
        self.assertEqual(least(10**8, passes=3), 1200)
        self.assertEqual(least(10**9), 1000)  # products do not become fewer
        self.assertEqual(least(None), 1000)

    def test_caches_are_counted_once_and_instructions_do_not_count(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            caches = [("1", "Data", "32K"), ("1", "Instruction", "32K"), ("3", "Unified", "2M")]
            for cpu in (0, 1):
                for index, (level, kind, size) in enumerate(caches):
                    folder = Path(name) / f"cpu{cpu}/cache/index{index}"
                    folder.mkdir(parents=True)
                    shared = "0-1" if level == "3" else str(cpu)
                    for file, text in zip(
                        ("level", "type", "size", "shared_cpu_list"),
                        (level, kind, size, shared), strict=True,
                    ):
                        (folder / file).write_text(text + "\n")
            self.assertEqual(works.cache_bytes(Path(name)), 2 * (32 << 10) + (2 << 20))
            self.assertIsNone(works.cache_bytes(Path(name) / "none"))

    def test_more_than_5_percent_below_the_least_is_impossible(self) -> None:
        self.assertTrue(works.beats(0.94, 1))
        self.assertFalse(works.beats(0.96, 1))

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
            "OUT": folder / "build", "TREE": folder / "build",
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


class Gpu(unittest.TestCase):
    """bench/gpu, where there is no device."""

    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("bench_gpu", str(REPOSITORY / "bench" / "gpu"))
        self.gpu = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_gpu", loader))
        loader.exec_module(self.gpu)

    @unittest.skipUnless(shutil.which("dpkg-query"), "not Debian")
    def test_a_bundle_holds_what_cmake_finds(self):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            file = Path(name) / "packages.tar.gz"
            self.assertEqual(0, self.gpu.bundle(file))
            prefix = self.gpu.unpacked(file, Path(name) / "packages")[0].partition("=")[2]
            for config in ("Eigen3Config.cmake", "fmt-config.cmake", "CLI11Config.cmake", "nlohmann_jsonConfig.cmake"):
                self.assertTrue(list(Path(prefix).rglob(config)), config)

    def test_a_step_that_would_take_the_time_of_others_is_skipped(self):
        run = self.gpu.Run(minutes=1, build=Path("build"))
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual("a\n", run.step("one", ["echo", "a"], keep_free=30))
            self.assertIsNone(run.step("two", ["echo", "b"], keep_free=90))
        self.assertEqual(["ok", "no time was left"], [s["result"] for s in run.report["steps"]])
        self.assertFalse(run.failed)

    def test_the_table_compares_with_a_copy_and_with_peers(self):
        works = {"copy": {"bytes": 8e6, "us": {"ours": 2.0}}, "softmax": {"bytes": 8e6, "us": {"ours": 4.0, "PyTorch fp32": 3.0}}}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.gpu.print_table(works)
        self.assertRegex(printed.getvalue(), r"softmax +4.0 +2000 +50% +PyTorch fp32 0.75")


if __name__ == "__main__":
    unittest.main()
