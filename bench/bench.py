"""Measures this book's programs beside the same work in PyTorch and CTranslate2.

Training steps, decoding, attention and a product run in one process per system. The processes take
turns, so that whatever else the machine does affects all of them alike. A turn is one iteration, or
as many as take 0.1 s; the first only warms up. Results are medians, and ratios peer / ours, taken
within each round. The floor of each work follows from the sizes of the model and from the speed of
this machine's memory and products, which the same run measures. A measurement that other programs
disturb is repeated; if it stays disturbed, the table marks it. Writes build/bench/results.json.
"""

import argparse
import datetime
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from cli import Failure
from load import busy_processes
from machine import describe_machine
from tables import report
from turns import OURS, System, measure, summary
from works import (
    MODEL,
    PEERS,
    PROGRAM,
    WORKS,
    Work,
    installed,
    say_what_is_missing,
    systems_for,
    with_model,
)

RESULTS = ROOT / "build" / "bench" / "results.json"
VENV = ROOT / "build" / "venv-bench" / "bin" / "python"
ROUNDS, QUICK_ROUNDS = 7, 3
QUICK_SECONDS = 150  # for measuring


def build() -> None:
    tree = PROGRAM.parent.parent
    for command in (["--preset", "book"], ["--build", tree, "--target", PROGRAM.name]):
        done = subprocess.run(["cmake", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.stderr.write((done.stdout + done.stderr)[-8000:])
            raise Failure("the benchmark program cannot be built")


def show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def find_floors(works: Sequence[Work], threads: int) -> tuple[dict[str, float], dict[str, float]]:
    """What this machine reaches, and the floor of each work in milliseconds."""
    show_progress(f"memory and products, {threads} threads")
    command = [PROGRAM, "floors", "--threads", str(threads)]
    if model := next((work.model for work in works if work.model), None):
        command += ["--model", str(model)]
    asked = "".join(f"{work.kind} {work.batch} {work.length}\n" for work in works)
    lines = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    limits, *floors = map(json.loads, lines.splitlines())
    return limits, {work.name: ms for work, ms in zip(works, floors, strict=True)}


def run_work(work: Work, threads: int, systems: list[System], rounds: int, end: float) -> dict:
    what = f"{work.name}, {threads} threads"
    with busy_processes(len(os.sched_getaffinity(0)) if work.busy else 0):
        measured, absent, noise = measure(
            systems, rounds, end, lambda text: show_progress(f"{what}: {text}")
        )
    show_progress("")
    if noise.disturbed:
        print(f"{what}: disturbed, so it supports no conclusion: {noise}")
    for name, why in absent.items():
        print(f"{what}: {name} failed: {why}")
    done = max((len(m.times) for m in measured.values()), default=rounds)
    if done < rounds:
        print(f"{what}: there was only time for {done} of {rounds} rounds")
    entry = {"work": work.name, "family": work.family, "threads": threads}
    entry |= {"batch": work.batch, "length": work.length, **summary(measured)}
    return {**entry, "noise": {**asdict(noise), "disturbed": noise.disturbed}, "absent": absent}


def run_all(options: argparse.Namespace, works: list[Work]) -> dict:
    works = with_model(works, options.model)
    have = installed(options.python)
    say_what_is_missing(works, have, options.python)
    end = time.monotonic() + QUICK_SECONDS if options.quick else math.inf
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    floored = [w for w in works if w.precision == "float"]
    found = {threads: find_floors(floored, threads) for threads in options.threads}
    entries = []
    for work in works:
        for threads in options.threads:
            if time.monotonic() > end:
                print(f"{work.name}, {threads} threads: no time left")
                continue
            systems = systems_for(work, threads, options.python, have, options.quick)
            entry = run_work(work, threads, systems, rounds, end)
            entries.append({**entry, "floor_ms": found[threads][1].get(work.name)})
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "quick": options.quick,
        "rounds": rounds,
        "limits": {str(threads): limits for threads, (limits, _) in found.items()},
        "works": entries,
    }


def choose(names: Sequence[str], quick: bool) -> list[Work]:
    """The works of these names. Without a name, these are all works, or in a quick run all works
    outside the families."""
    if not names:
        return [w for w in WORKS if not (quick and w.family)]
    for name in set(names) - {w.name for w in WORKS} - {w.family for w in WORKS if w.family}:
        raise Failure(f"no work {name}; see --list")
    return [w for w in WORKS if w.name in names or w.family in names]


def thread_counts(text: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = [0]
    if any(not 1 <= n <= 256 for n in counts) or len(set(counts)) < len(counts):
        raise argparse.ArgumentTypeError(f"{text}: expected numbers from 1 to 256, as in 1,2")
    return counts


def parse() -> argparse.Namespace:
    cores = len(os.sched_getaffinity(0))
    both = [cores, 1] if cores > 1 else [1]
    parser = argparse.ArgumentParser(
        prog="./book bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_ROUNDS} rounds, on all processors only, without families and torch.compile;\n"
        "takes three minutes at most once the program is built",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORK",
        help="measure this work or family only; may be repeated; --list shows the names",
    )
    parser.add_argument(
        "--threads",
        type=thread_counts,
        metavar="N,...",
        help=f"numbers of threads to measure with (default: {','.join(map(str, both))};"
        f" with --quick: {cores})",
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        type=Path,
        default=VENV if VENV.exists() else Path("python3"),
        help="Python that has the peers (default: that of build/venv-bench\n"
        "if it exists, else python3)",
    )
    parser.add_argument(
        "--model",
        type=Path,
        default=MODEL,
        metavar="FILE",
        help="the published model, a GGUF file (default: build/models/smollm2.gguf)",
    )
    parser.add_argument(
        "--list", action="store_true", help="show the works and the peers, and exit"
    )
    options = parser.parse_args()
    options.threads = options.threads or (both[:1] if options.quick else both)
    return options


def list_works() -> str:
    works = [f"{w.name:<24}{w.text}{f' ({w.family})' if w.family else ''}" for w in WORKS]
    peers = [f"{name:<24}{text}" for name, text in PEERS.items()]
    return "\n".join(["Works:", *works, "", "Peers:", *peers])


def main() -> None:
    options = parse()
    works = choose(options.only, options.quick)
    if options.list:
        print(list_works())
        return
    build()
    results = run_all(options, works)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(report(results))
    print(f"\nAll numbers: {RESULTS}")
    if failed := [e["work"] for e in results["works"] if OURS not in e["systems"]]:
        raise Failure(f"ours failed: {', '.join(dict.fromkeys(failed))}")


if __name__ == "__main__":
    cli.run(main)
