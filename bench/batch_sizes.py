"""Counts the steps that chapter 9's grammar takes to a given loss, over the size of its batches.

    ./book run 09 --help                # builds the program
    python3 bench/batch_sizes.py        # writes build/bench/batch_sizes.json

Each size has the learning rate, of some, with which a seed of its own needs the fewest steps; then five other seeds are
counted. The loss is reached in the middle of the first 512 pairs with such a mean, or in the first such batch if it
is larger.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
import numpy as np

PROGRAM = ROOT / "build/book/chapters/09_training/training"
OUT = ROOT / "build/bench/batch_sizes.json"
SIZES, RATES, CHOOSES, SEEDS = (8, 16, 32, 64, 128, 256, 512), (0.001, 0.002, 0.004, 0.008), 6, (1, 2, 3, 4, 5)
LOSS, PAIRS, WARMUP = 0.75, 512, 30


def steps(size: int, rate: float, seed: int) -> float:
    """How many steps it takes; infinity if the run ends before."""
    with tempfile.TemporaryDirectory() as folder:
        recipe = ["--corpus", "grammar", "--batch", size, "--lr", rate, "--warmup", WARMUP, "--epochs", 3 + size // 20]
        command = [PROGRAM, *recipe, "--seed", seed, "--threads", 1, "--no-checkpoint", "--out", folder]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        losses = np.load(Path(folder) / "losses.npy")
    window = max(1, PAIRS // size)
    means = np.convolve(losses, np.full(window, 1 / window), "valid")
    below = np.flatnonzero(means < LOSS)
    return float(below[0] + (window + 1) / 2) if len(below) else math.inf


def main() -> None:
    if not PROGRAM.is_file():
        raise cli.Failure(f"there is no {PROGRAM}; ./book run 09 --help builds it")
    found = {}
    for size in SIZES:
        chosen = {rate: steps(size, rate, CHOOSES) for rate in RATES}
        rate = min(chosen, key=lambda one: chosen[one])
        counts = [steps(size, rate, seed) for seed in SEEDS]
        if math.isinf(max(counts)):
            raise cli.Failure(f"batches of {size}: a run with the rate {rate} has not reached a loss of {LOSS}")
        found[str(size)] = {"rate": rate, "chosen": {str(one): n for one, n in chosen.items() if n < math.inf},
                            "steps": counts,
                            "mean": statistics.fmean(counts), "pairs": size * statistics.fmean(counts),
                            "least": min(counts), "most": max(counts)}
        print(f"batches of {size:3}: rate {rate}, {min(counts):.0f} to {max(counts):.0f} steps", flush=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"date": f"{datetime.now(UTC):%Y-%m-%d}", "loss": LOSS, "sizes": found}, indent=1) + "\n")


if __name__ == "__main__":
    cli.run(main)
