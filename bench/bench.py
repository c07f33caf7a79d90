"""Measures this book's programs beside the same work in PyTorch and CTranslate2.

Training steps and decoding run in one process per system. The processes take turns, so that
whatever else the machine does affects all of them alike. A turn is one iteration, or as many as
take 0.1 s; the first only warms up. Results are medians, and ratios peer / ours, taken
within each round. Single operations are measured by Google Benchmark. The floor of each work
follows from the sizes of the model and from the speed of this machine's memory and products, which
the same run measures. A measurement that other programs disturb is repeated; if it stays disturbed,
the tables mark it. Writes results.json into build/bench, and plots into build/bench/plots.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from cli import Failure
from load import REPEATS, Load, Noise, busy_processes, spread
from machine import describe_machine
from systems import TREE, installed, peers_for, say_what_is_missing, systems_for
from tables import report
from turns import Clock, System, measure, quartiles, summary
from works import (
    OPERATIONS,
    OURS,
    PASSES,
    PEERS,
    WORKS,
    Limits,
    Work,
    beats,
    cache_bytes,
    find_limits,
    floor,
    least_ms,
    operation_parts,
    read_operations,
)

HERE = ROOT / "bench"
OUT = ROOT / "build" / "bench"
VENV = ROOT / "build" / "venv-bench" / "bin" / "python"
ROUNDS, QUICK_ROUNDS = 7, 3
QUICK_SECONDS = 150  # for measuring; what is under way at the end is cut short


def must(command: Sequence[object], why: str, seconds: float | None = None) -> str:
    """Returns what a command prints. It runs in its own session, so that we handle Ctrl-C."""
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failure(f"{why}: stopped after {seconds:.0f} s") from None
        raise
    if process.returncode != 0:
        sys.stderr.write(output[-4000:] if "cmake" in str(command[0]) else "")
        sys.stderr.write(errors[-4000:])
        raise Failure(why)
    return output


def build() -> None:
    must(["cmake", "--preset", "book", "-DABH_BENCH=ON"], "CMake could not set up the build")
    programs = ["bench_steps", "bench_operations"]
    must(["cmake", "--build", TREE, "--target", *programs], "the benchmark programs do not compile")


def show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    try:
        yield lambda text: show_progress(f"{what}: {text}")
    finally:
        show_progress("")


def run_operations(threads: Sequence[int], names: str, quick: bool) -> list[dict]:
    """Names, times and rates, and what may have disturbed them. Disturbed ones are repeated."""
    filters, done, start = names, {}, time.monotonic()
    for times in range(1, 2 + REPEATS):
        load = Load()
        operations = measure_operations(threads, filters, quick)
        others = load.others()
        for operation in operations:
            noise = Noise(others, spread(quartiles(operation["times_ms"])))
            operation["noise"] = entry_of(noise)
            done[operation["name"], operation["threads"]] = operation
        disturbed = [o for o in done.values() if o["noise"]["disturbed"]]
        once_more = (time.monotonic() - start) * (times + 1) / times
        if not disturbed or (quick and once_more > QUICK_SECONDS / 2):
            break
        again = {f"{o['name']}/threads:{o['threads']}/" for o in disturbed}
        filters = f"^({'|'.join(sorted(map(re.escape, again)))})"
    return list(done.values())


def measure_operations(threads: Sequence[int], names: str, quick: bool) -> list[dict]:
    command = [
        TREE / "bench" / "bench_operations",
        "--benchmark_format=json",
        f"--benchmark_filter={names}",
        f"--benchmark_min_time={0.02 if quick else 0.2}",
        f"--benchmark_repetitions={1 if quick else 5}",
        "--benchmark_enable_random_interleaving=true",  # so a slow minute hits more than one
        *threads,
    ]
    limit = QUICK_SECONDS / 2 if quick else None
    return read_operations(json.loads(must(command, "the operations could not be measured", limit)))


def entry_of(noise: Noise) -> dict[str, object]:
    return {**asdict(noise), "disturbed": noise.disturbed}


def run_work(work: Work, threads: int, systems: list[System], rounds: int, clock: Clock) -> dict:
    with progress(f"{work.name}, {threads} threads") as show:
        with busy_processes(len(os.sched_getaffinity(0)) if work.busy else 0):
            measured, absent, noise = measure(systems, rounds, clock, show)
    if noise.disturbed:
        print(f"{work.name}, {threads} threads: disturbed, so it supports no conclusion: {noise}")
    for name, why in absent.items():
        print(f"{work.name}, {threads} threads: {name} failed: {why}")
    done = max((len(m.times) for m in measured.values()), default=0)
    if 0 < done < rounds:
        print(f"{work.name}, {threads} threads: there was only time for {done} of {rounds} rounds")
    sizes = {"batch": work.batch, "length": work.length}
    entry = {"work": work.name, "kind": work.kind, "family": work.family, "threads": threads}
    return {**entry, **sizes, **summary(measured), "noise": entry_of(noise), "absent": absent}


def best_products(entries: list[dict]) -> dict[int, float]:
    """For each number of threads, the operations per second of any system's fastest product."""
    best: dict[int, float] = {}
    for entry in entries:
        if entry["kind"] == "product":
            for system in entry["systems"].values():
                rate = 2 * 1024**3 / (min(system["times_ms"]) / 1e3)
                best[entry["threads"]] = max(best.get(entry["threads"], 0.0), rate)
    return best


def run_all(options: argparse.Namespace, works: list[Work], with_operations: bool) -> dict:
    have = installed(options.python)
    say_what_is_missing(works, have, options.python)
    clock = Clock(QUICK_SECONDS if options.quick else None)
    rounds = QUICK_ROUNDS if options.quick else options.rounds
    with progress("operations") as show:
        show("memory, products" + (", all others" if with_operations else ""))
        names = "." if with_operations else "^(read|copy|update|matmul_y/1024x1024x1024)/"
        operations = run_operations(options.threads, names, options.quick)
    entries = []
    for work in works:
        for threads in options.threads:
            if clock.left() <= 0:
                print(f"{work.name}, {threads} threads: no time left")
                continue
            peers = peers_for(work, have, options.quick)
            systems = systems_for(work, threads, options.python, peers)
            entries.append(run_work(work, threads, systems, rounds, clock))

    limits = find_limits(operations, best_products(entries))
    add_floors(entries, operations, limits, {work.name: work.need for work in works})
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "quick": options.quick,
        "rounds": rounds,
        "limits": {str(threads): asdict(limit) for threads, limit in limits.items()},
        "operations": operations,
        "works": entries,
    }


def add_floors(
    entries: list[dict], operations: list[dict], limits: dict[int, Limits], needs: dict
) -> None:
    """Adds to each entry its floor, and the time that nothing can beat."""
    cache = cache_bytes()
    for entry in entries:
        need, limit = needs[entry["work"]], limits[entry["threads"]]
        if need:
            entry["need"] = asdict(need)
            least = entry["floor"] = floor(need, limit)
            parts = least["memory_ms"], least["products_ms"]
            entry["least_ms"] = least_ms(*parts, need.passes, cache, limit)
    for operation in operations:
        limit = limits[operation["threads"]]
        parts = operation_parts(operation, limit)
        operation["floor_ms"] = max(parts)
        operation["least_ms"] = least_ms(*parts, PASSES, cache, limit)


def impossible(results: dict) -> list[str]:
    """What was faster than possible, except if it was disturbed, or its limits were."""
    streams = [o for o in results["operations"] if o["name"] in ("read", "copy", "update")]
    unsure = {o["threads"] for o in streams if o["noise"]["disturbed"]}
    found = []
    for o in results["operations"]:
        found += [(o, o["name"], o["ms"])]
    for e in results["works"]:
        found += [(e, f"{e['work']}, {name}", s["ms"]["median"]) for name, s in e["systems"].items()]
    return [
        f"{name}, {entry['threads']} threads: {ms:.4g} ms, at least {entry['least_ms']:.4g} ms"
        for entry, name, ms in found
        if not entry["noise"]["disturbed"]
        and entry["threads"] not in unsure
        and beats(ms, entry.get("least_ms", 0.0))
    ]


def write(path: Path, text: str) -> None:
    """Writes to a file beside it, which is then renamed: the file is complete or not written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def plot(path: Path) -> None:
    python = ROOT / "build" / "venv" / "bin" / "python"
    if not python.exists():
        print("No plots: they need the book's own Python, which ./book build installs.")
        return
    drawn = must([python, HERE / "plots.py", path, OUT / "plots"], "the plots could not be drawn")
    print(drawn, end="")


def choose(names: Sequence[str], quick: bool) -> tuple[list[Work], bool]:
    """The works of these names, and whether single operations are among them. Without a name, these
    are all works, or in a quick run all works outside the families."""
    if not names:
        return [w for w in WORKS if not (quick and w.family)], True
    known = {w.name for w in WORKS} | {w.family for w in WORKS if w.family} | {OPERATIONS}
    for name in names:
        if name not in known:
            raise Failure(f"no work {name}; see --list")
    return [w for w in WORKS if w.name in names or w.family in names], OPERATIONS in names


def thread_counts(text: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = [0]
    if any(not 1 <= n <= 256 for n in counts) or len(set(counts)) < len(counts):
        raise argparse.ArgumentTypeError(f"{text}: expected numbers from 1 to 256, as in 1,2")
    return counts


def at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of at least 1")
    return int(text)


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
        "takes three minutes at most once the programs are built",
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
        "--rounds",
        type=at_least_one,
        default=ROUNDS,
        metavar="N",
        help=f"rounds of turns (default: {ROUNDS})",
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
        "--list", action="store_true", help="show the works and the peers, and exit"
    )

    options = parser.parse_args()
    options.threads = options.threads or (both[:1] if options.quick else both)
    return options


def list_works() -> str:
    rows = [["work", "what"], [OPERATIONS, "single operations, by Google Benchmark"]]
    rows += [[w.name, f"{w.text}{f' ({w.family})' if w.family else ''}"] for w in WORKS]
    width = max(len(row[0]) for row in rows) + 2
    works = [f"{name:<{width}}{text}" for name, text in rows[1:]]
    peers = [f"{name:<{width}}{text}" for name, text in PEERS.items()]
    return "\n".join(["Works:", *works, "", "Peers:", *peers])


def main() -> None:
    options = parse()
    works, with_operations = choose(options.only, options.quick)
    if options.list:
        print(list_works())
        return
    build()
    results = run_all(options, works, with_operations)
    path = OUT / "results.json"
    write(path, json.dumps(results, indent=1) + "\n")
    print(report(results, with_operations))
    print(f"\nAll numbers: {path.relative_to(ROOT)}")
    plot(path)
    failed = [e["work"] for e in results["works"] if OURS not in e["systems"]]
    if failed:
        raise Failure(f"ours failed: {', '.join(dict.fromkeys(failed))}")
    if wrong := impossible(results):
        raise Failure(f"faster than this machine can be: {'; '.join(wrong)}")


if __name__ == "__main__":
    cli.run(main)
