"""./book bench from its options to its table, with systems that do no work: they take turns, and what disturbs them is noticed."""

import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import project  # noqa: F401 - it says where these are

import cli
import load
import turns
import works

import bench


def watched(*others: float | None) -> mock._patch:
    """With this load by other programs, measurement by measurement; after the last, with none."""
    loads = itertools.chain(others, itertools.repeat(None))
    return mock.patch.object(load, "Load", lambda: mock.Mock(others=lambda: next(loads)))


def shell(name: str, script: str) -> turns.System:
    return turns.System(name, ("sh", "-c", script), pause=0)


def fake(name: str, *times: float, peak: int = 1000) -> turns.System:
    """A system that takes these times, and counts any round beyond them as an error."""
    said = "".join(f"read go && echo {t} && " for t in times)
    return shell(name, f"echo ready {name} 1.0; {said} ! read go && echo {peak}")


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class CommandLine(unittest.TestCase):
    def run_main(self, *arguments: str, systems: list[turns.System]) -> tuple[int, str, str, dict]:
        limits = {"read": 1e12, "copy": 1e12, "update": 1e12, "product": 1e12, "disturbed": False}
        output, errors = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            replaced = {
                "RESULTS": Path(folder) / "build/results.json",
                "build": lambda: None,
                "installed": lambda python: {"torch"},
                "find_floors": lambda works, threads: (limits, {work.name: 5.0 for work in works}),
                "systems_for": lambda *_: systems,
            }
            with (
                mock.patch.multiple(bench, **replaced),
                mock.patch.object(sys, "argv", ["bench", *arguments]),
                watched(),
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(errors),
            ):
                status = cli.call(bench.main)
            file = replaced["RESULTS"]
            results = json.loads(file.read_text()) if file.exists() else {}
        return status, output.getvalue(), errors.getvalue(), results

    def test_a_whole_run(self) -> None:
        systems = [fake("ours", 10, 10, 10), *(fake(peer, 30, 30, 30, peak=2000) for peer in ("eager", "tuned"))]
        options = ["--quick", "--threads", "2", "--only", "toy_step", "--only", "growth", "--only", "base_decode"]
        status, output, errors, results = self.run_main(*options, systems=systems)
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(output, r"toy_step +2 +10\.0 +10\.0-10\.0 +3\.00 +3\.00 +1 +2\.00 +2\.00 +5\.00 +2\.00\n")
        self.assertRegex(output, r"length_512 +2 ")
        self.assertIn("CTranslate2: not installed", output)
        self.assertEqual(results["works"][0]["ratios"]["tuned"]["memory"], 2)

    def test_a_work_that_stays_disturbed_is_marked_and_a_failure_of_ours_fails_the_run(self) -> None:
        options = ["--quick", "--threads", "1", "--only", "toy_step"]
        status, output, errors, _ = self.run_main(*options, systems=[fake("ours", *[0.4, 0.5, 0.9] * 4)])
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("toy_step, 1 threads: disturbed, so it supports no conclusion:", output)
        self.assertRegex(output, r"toy_step .* disturbed\n")
        status, output, errors, _ = self.run_main(*options, systems=[shell("ours", "echo broken >&2; exit 1")])
        self.assertEqual((status, errors), (1, "bench: ours failed: toy_step\n"))
        self.assertIn("toy_step, 1 threads: ours failed: broken", output)
        self.assertRegex(output, r"toy_step +1 +- +- +- +5\.00 +-\n")

    def test_a_python_that_is_none_is_refused(self) -> None:
        with self.assertRaisesRegex(bench.Failure, "--python /no/python: No such file"):
            bench.installed("/no/python")

    def test_busy_processes_end_with_the_work_that_wants_them(self) -> None:
        with load.busy_processes(2) as pids:
            self.assertTrue(all(map(lives, pids)))
        self.assertFalse(any(map(lives, pids)))

    def test_products_of_fewer_bits_are_asked_of_all_systems_and_have_no_floor(self) -> None:
        work = next(w for w in works.WORKS if w.name == "one_decode_int8")
        commands = [s.command for s in works.systems_for(work, 2, "python3", {"torch", "ctranslate2"}, quick=False)]
        self.assertEqual([" ".join(c).count(" --precision int8 ") for c in commands], [1, 1])
        status, output, _, _ = self.run_main("--threads", "2", "--only", work.name, systems=[fake("ours", *[10] * 7)])
        self.assertEqual(status, 0)
        self.assertRegex(output, r"one_decode_int8 +2 +10\.0 +10\.0-10\.0 +1 +- +-\n")

    def test_a_published_model_is_given_to_all_systems_or_its_works_are_left_out(self) -> None:
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            found = works.with_model(works.WORKS, Path(file.name))
            work = next(w for w in found if w.name == "published_prompt")
            commands = [s.command for s in works.systems_for(work, 2, "python3", {*works.PACKAGES}, quick=False)]
            self.assertEqual([" ".join(c).count(f" --model {file.name} ") for c in commands], [1, 1, 1])
        status, output, errors, results = self.run_main("--threads", "2", "--only", "published", "--model", "none", systems=[])
        self.assertEqual((status, errors, results["works"]), (0, "", []))
        said = "published_tokens and published_prompt: there is no none, so not measured; ./book model smollm2 downloads it\n"
        self.assertIn(said, output)

    def test_each_work_has_its_own_name(self) -> None:
        names = [w.name for w in works.WORKS]
        self.assertEqual(len(names), len(set(names)))


class Turns(unittest.TestCase):
    def measure(self, *systems: turns.System, rounds: int = 3, others: list[float | None] = [], **more: object) -> tuple:  # noqa: B006
        with watched(*others):
            return turns.measure(systems, rounds, **more)

    def test_medians_spread_and_ratios_round_by_round(self) -> None:
        measured, absent, _ = self.measure(fake("ours", 4, 2, 3), fake("eager", 8, 6, 6, peak=2500))
        result = turns.summary(measured)
        self.assertEqual(result["systems"]["ours"]["ms"], {"median": 3, "low": 2.5, "high": 3.5})
        self.assertEqual(result["systems"]["ours"]["version"], "ours 1.0")
        eager = result["ratios"]["eager"]  # 2, 3, 2
        self.assertEqual((eager["time"]["median"], eager["time"]["high"], eager["memory"]), (2, 2.5, 2.5))
        self.assertEqual(absent, {})

    def test_every_second_round_goes_backwards(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            script = "echo ready; while read go; do echo %s >> '%s'; echo 1; done; echo 1"
            self.measure(*[shell(name, script % (name, log)) for name in "abc"])
            self.assertEqual("".join(log.read_text().split()), "abccbaabc")

    def test_a_turn_repeats_what_is_short_and_leaves_out_its_first(self) -> None:
        times = [21, 5, 22, 9, 9, 33]  # the first is long enough, so are 5 + 22, and 9 + 9 + 33
        script = f"echo ready; for t in {' '.join(map(str, times))}; do read go; echo $t; done; "
        short = turns.System("ours", ("sh", "-c", script + "echo 1"), pause=0, turn_ms=20)
        self.assertEqual(self.measure(short)[0]["ours"].times, [21, 22, 21])

    def test_a_peer_that_dies_is_left_out_and_the_others_go_on(self) -> None:
        dying = shell("eager", "echo ready; read go; echo 5; read go; echo no memory >&2; exit 3")
        mute = shell("tuned", "exit 3")
        measured, absent, _ = self.measure(fake("ours", 1, 1, 1), dying, mute, fake("ctranslate2", 2, 2, 2))
        self.assertEqual(absent, {"eager": "no memory", "tuned": "ended with status 3"})
        self.assertEqual(list(measured), ["ours", "ctranslate2"])

    def test_when_time_is_up_the_round_under_way_is_the_last(self) -> None:
        measured, _, noise = self.measure(fake("ours", 1), end=0, others=[0.5])
        self.assertEqual((measured["ours"].times, noise.others), ([1], 0.5))

    def test_nothing_is_left_running(self) -> None:
        def interrupt(text: str) -> None:
            if text == "round 2 of 2":
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            script = f"sleep 100 & echo $$ $! >> '{log}'; echo ready; "
            script += "while read go; do echo 1; done"
            with self.assertRaises(KeyboardInterrupt):
                self.measure(shell("a", script), shell("b", script), rounds=2, show=interrupt)
            pids = [int(pid) for pid in log.read_text().split()]
        self.assertEqual(len(pids), 4)
        end = time.monotonic() + 5
        while any(lives(pid) for pid in pids):  # what is killed may need a moment to die
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)

    def test_others_above_10_percent_or_a_spread_above_30_disturb(self) -> None:
        for others, spread, disturbed in (
            (0.10, 0.30, False), (0.11, 0, True), (0, 0.31, True), (None, 0.30, False), (None, 0.31, True),
        ):  # fmt: skip
            with self.subTest(others=others, spread=spread):
                self.assertEqual(load.Noise(others, spread).disturbed, disturbed)

    def test_a_disturbed_measurement_is_repeated_up_to_three_times(self) -> None:
        measured, _, noise = self.measure(fake("ours", 9, 9, 9, 4, 4, 4), fake("eager", *[8] * 6), others=[0.5, 0.0])
        self.assertEqual((measured["ours"].times, noise.disturbed), ([4, 4, 4], False))
        measured, _, noise = self.measure(fake("ours", *[1] * 9, 10, 11, 12), others=[0.5] * 4)
        self.assertEqual((measured["ours"].times, noise.others), ([10, 11, 12], 0.5))

    def test_uneven_ratios_disturb_and_uneven_times_of_both_do_not(self) -> None:
        measured, _, noise = self.measure(fake("ours", 1, 9, 1), fake("eager", 2, 18, 2))
        self.assertEqual((noise.spread, measured["ours"].times), (0, [1, 9, 1]))
        self.assertGreater(self.measure(fake("ours", *[1, 9, 1] * 4), fake("eager", *[2] * 12))[2].spread, 0.3)

    def test_the_load_is_what_neither_idled_nor_was_ours(self) -> None:
        for after, others in (((1250, 500, 10400), 50 / 400), ((1250, 600, 10400), 0), ((1000, 300, 10000), None)):
            ticks, clock = iter([(1000, 300, 10000), after]), iter([0, 1])
            with (
                mock.patch.object(load, "read_ticks", lambda ticks=ticks: next(ticks)),
                mock.patch.object(load.time, "monotonic", lambda clock=clock: next(clock)),
            ):
                self.assertEqual(load.Load().others(), others)

    def test_what_a_child_did_is_ours(self) -> None:
        before = load.read_ticks()[1]
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
        seconds = (load.read_ticks()[1] - before) / os.sysconf("SC_CLK_TCK")
        self.assertGreater(seconds, 0.25)  # in ticks of 0.01 s
        self.assertLess(seconds, 5)
