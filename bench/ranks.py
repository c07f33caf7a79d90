"""Times a step of the base model on one, two and four processes beside PyTorch's DistributedDataParallel.

    cmake --preset book && cmake --build build/book --target bench_steps on_many_machines
    python bench/ranks.py

Ranks have one thread each and share 32 sentences of 24 words, cut into as many shards as there are
ranks, four of them where there are four cores; the optimizer is Adam. PyTorch uses gloo, and the style `tuned` of pytorch_peer.py. One rank of two threads is also
compared with the same step without ranks. All take turns, each time with processes of their own.
The results are medians over steps, and then over rounds; they are written to build/bench/ranks.json.
Python needs torch. With --speedup only our ranks of one thread are timed (two minutes, to speedup.json).
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from machine import processor
from turns import in_turns, ratios

BUILD = ROOT / "build" / "book"
PROGRAM = BUILD / "chapters/14_on_many_machines/on_many_machines"
STEPS = BUILD / "bench/bench_steps"
PORT = "29517"
ROUNDS, TIMED = 5, 7  # and steps that are timed


def ours(ranks: int, threads: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        sizes = ["--ranks", ranks, "--shards", ranks, "--threads", threads, "--steps", TIMED]
        command = [PROGRAM, "step", *sizes, "--out", folder]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
        return json.loads((Path(folder) / "results.json").read_text())["step_ms"]["value"]


def without_ranks(threads: int) -> float:
    command = [str(STEPS), "base_step", "--threads", str(threads), "--batch", "32", "--length", "24"]
    done = subprocess.run(command, input="go\n" * (TIMED + 2), capture_output=True, text=True, check=True)
    times = [float(line) for line in done.stdout.splitlines()[1:-1]]
    return statistics.median(times[2:])


def pytorch(ranks: int) -> float:
    """The milliseconds of a step on rank 0."""
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--rank", str(rank)],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1"}
            | {"MASTER_PORT": PORT, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    said = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise cli.Failure("PyTorch failed; its messages are above")
    return float(said[0])


def one_rank_of_pytorch() -> None:
    import time

    import torch
    import torch.distributed
    from pytorch_peer import BASE, random_batch, training_step
    from torch.nn.parallel import DistributedDataParallel

    torch.set_flush_denormal(True)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    batch = tuple(ids.chunk(size)[rank] for ids in random_batch(BASE, 32, 24))
    step = training_step(
        BASE,
        batch,
        "adam",
        "tuned",
        lambda model: DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True),
    )
    times = []
    for i in range(-2, TIMED):
        torch.distributed.barrier()
        start = time.perf_counter()
        step()
        if i >= 0:
            times.append(1000 * (time.perf_counter() - start))
    if rank == 0:
        print(statistics.median(times))
    torch.distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--speedup", action="store_true", help="only time our ranks of one thread")
    options = parser.parse_args()
    if options.rank is not None:
        return one_rank_of_pytorch()
    if not (PROGRAM.exists() and (options.speedup or STEPS.exists())):
        raise cli.Failure("the programs are missing; its first lines say how to build them")
    alone, four, two, torch, one, none = (
        "one rank of one thread",
        "four ranks of one thread",
        "two ranks of one thread",
        "PyTorch, two of one",
        "one rank of two threads",
        "no ranks, two threads",
    )
    systems = {
        two: lambda: ours(2, 1),
        torch: lambda: pytorch(2),
        one: lambda: ours(1, 2),
        none: lambda: without_ranks(2),
        alone: lambda: ours(1, 1),
    }
    if len(os.sched_getaffinity(0)) >= 4:
        systems[four] = lambda: ours(4, 1)
    if options.speedup:
        systems = {name: run for name, run in systems.items() if name in (alone, two, four)}
    ms = in_turns(systems, ROUNDS)
    for name, times in ms.items():
        print(f"{name:25} {statistics.median(times):8.1f} ms")
    pairs = {
        "PyTorch / ours": (torch, two),
        "one rank of two threads / two ranks of one": (one, two),
        "one rank / no ranks": (one, none),
        "one rank of one thread / two ranks of one": (alone, two),
        "one rank of one thread / four ranks of one": (alone, four),
    }
    of_rounds = {name: ratios(ms[a], ms[b]) for name, (a, b) in pairs.items() if a in ms and b in ms}
    for name, values in of_rounds.items():
        print(f"{name:45} {statistics.median(values):.3f}, {min(values):.3f} to {max(values):.3f}")
    report = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
        "ms": ms,
        "ratios": {name: statistics.median(values) for name, values in of_rounds.items()},
        "least": {name: min(values) for name, values in of_rounds.items()},
        "most": {name: max(values) for name, values in of_rounds.items()},
    }
    out = ROOT / "build" / "bench" / f"{'speedup' if options.speedup else 'ranks'}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    cli.run(main)
