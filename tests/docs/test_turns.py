"""Systems take turns, and what disturbs them is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from fake_systems import REPOSITORY, UNKNOWN, fake, lives, shell

sys.path[:0] = [str(REPOSITORY / "lib/program"), str(REPOSITORY / "bench")]

import load
import tables
import turns

import bench


def entry(systems: list[turns.System], rounds: int, **more: object) -> dict:
    with UNKNOWN:
        measured, absent, noise = turns.measure(systems, rounds)
    return {**turns.summary(measured), "noise": noise, "absent": absent, **more}


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


if __name__ == "__main__":
    unittest.main()
