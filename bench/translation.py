"""Trains chapter 13's translator and its PyTorch twin, one after the other, seed by seed.

    python bench/translation.py quick --python build/venv-bench/bin/python --seeds 1 2 3

Both use the same pieces, pairs, sizes, recipe and number of epochs; see translation_peer.py.
Recipes:

    quick      the book's pairs, the small model of `./book run 13 --quick`
    default    the book's pairs, the model of `./book run 13`

Prints a table, and writes all its numbers to build/bench/translation/RECIPE/result.json. Quality is
BLEU of the test pairs by the book's `score`, decoded greedily, and for the book also with a beam of 4.
Speed is words per second, without pads and validation: the median over all epochs. Memory is the
peak of the whole process.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from machine import processor
from works import KEEP_MEMORY

PROGRAM = ROOT / "build/release/chapters/13_real_translation/real_translation"
PEER = ROOT / "bench" / "translation_peer.py"


# Further options of the book's program, and options of both.
RECIPES = {
    "quick": (["--quick"], ["--epochs", 5, "--tokens", 1024, "--lr", 3e-3, "--warmup", 200]),
    "default": ([], ["--epochs", 20, "--lr", 1e-3, "--warmup", 400]),
}


def must(
    command: Sequence[object],
    log: Path,
    text: str | None = None,
    environment: dict[str, str] | None = None,
) -> str:
    """Returns what a command prints; its error messages go into a file."""
    with log.open("w") as errors:
        done = subprocess.run(
            [str(part) for part in command],
            input=text,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
            env={**os.environ, **(environment or {})},
        )
    if done.returncode != 0:
        raise cli.Failure(f"{command[0]}: ended with status {done.returncode}; {log} says why")
    return done.stdout


def bleu(reference: Path, hypothesis: Path) -> float:
    run = hypothesis.parent
    command = [PROGRAM, "score", "--reference", reference, "--hypothesis", hypothesis]
    must([*command, "--out", run / "score"], run / "score.log")
    return values_in(run / "score" / "results.json")["BLEU"]


def values_in(file: Path) -> dict[str, float]:
    return {name: entry["value"] for name, entry in json.loads(file.read_text()).items()}


def train_ours(o: argparse.Namespace, seed: int) -> dict:
    run = o.out / f"ours-{seed}"
    run.mkdir(parents=True, exist_ok=True)
    own, of_both = RECIPES[o.recipe]
    command = [PROGRAM, *own, *of_both, "--seed", seed, "--threads", o.threads]
    command += ["--minutes", 0, "--patience", 0, "--save", run, "--out", run / "results"]
    log = must(command, run / "messages")
    found = values_in(run / "results" / "results.json")
    speeds = re.findall(r"^epoch .* (\d+) words/s$", log, re.MULTILINE)
    reference, sources = run / "test.reference.txt", (run / "test.source.txt").read_text()
    translate = [PROGRAM, "translate", "--model", run / "model.safetensors", "--beam", 4]
    beam = run / "test.beam4.txt"
    beam.write_text(must([*translate, "--threads", o.threads], run / "messages.translate", sources))
    return {
        "words_per_second": statistics.median(map(float, speeds)),
        "seconds": found["training_seconds"],
        "memory": found["memory"],
        "dev_bleu": found["dev_bleu"],
        "greedy": bleu(reference, run / "test.translation.txt"),
        "beam4": bleu(reference, beam),
    }


def train_peer(o: argparse.Namespace, seed: int) -> dict:
    run, ours = o.out / f"peer-{seed}", o.out / f"ours-{seed}"
    run.mkdir(parents=True, exist_ok=True)
    command = [o.python, PEER, "--model", ours / "model.safetensors", *RECIPES[o.recipe][1]]
    for part in ("train", "dev", "test"):
        command += [f"--{part}", o.out / "text" / f"{part}.tsv"]
    command += ["--seed", seed, "--threads", o.threads, "--out", run]
    must(command, run / "messages", environment=KEEP_MEMORY)
    found = json.loads((run / "peer.json").read_text())
    kept = {name: found[name] for name in ("words_per_second", "seconds", "memory", "dev_bleu")}
    return {**kept, "greedy": bleu(ours / "test.reference.txt", run / "test.translation.txt")}


def table(runs: list[dict]) -> str:
    lines = ["seed  system    words/s  seconds  MiB  dev BLEU  test BLEU  beam 4"]
    for run in runs:
        for system in ("ours", "PyTorch"):
            r = run[system]
            beam = f"{r['beam4']:6.2f}" if "beam4" in r else ""
            lines.append(
                f"{run['seed']:4}  {system:8}  {r['words_per_second']:7.0f}  {r['seconds']:7.0f}  {r['memory']:3.0f}"
                f"  {r['dev_bleu']:8.2f}  {r['greedy']:9.2f}  {beam}".rstrip()
            )
    speed = statistics.median(r["ours"]["words_per_second"] / r["PyTorch"]["words_per_second"] for r in runs)
    better = statistics.fmean(r["ours"]["greedy"] - r["PyTorch"]["greedy"] for r in runs)
    return "\n".join([*lines, f"ours / PyTorch, words per second: {speed:.2f}; BLEU, mean difference: {better:+.2f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument(
        "--python", type=Path, default=ROOT / "build/venv-bench/bin/python", help="Python with bench/requirements.txt"
    )
    parser.add_argument("--threads", type=int, default=2, help="threads of each system (default 2)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one pair of trainings for each seed")
    o = parser.parse_args()
    for file, what in (
        (PROGRAM, "cmake --build --preset release"),
        (o.python, "a virtual environment with bench/requirements.txt"),
    ):
        if not file.exists():
            parser.error(f"{file} does not exist; it comes from {what}")
    o.out = ROOT / "build/bench/translation" / o.recipe
    o.out.mkdir(parents=True, exist_ok=True)
    must([PROGRAM, "text", "--write", o.out / "text"], o.out / "text.log")
    runs = []
    for seed in o.seeds:
        print(f"seed {seed}: the book's program", flush=True)
        ours = train_ours(o, seed)
        print(f"seed {seed}: PyTorch", flush=True)
        runs.append({"seed": seed, "ours": ours, "PyTorch": train_peer(o, seed)})
        report = {
            "recipe": o.recipe,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "processor": processor(),
            "threads": o.threads,
            "runs": runs,
        }
        (o.out / "result.json").write_text(json.dumps(report, indent=1) + "\n")
    print(table(runs))


if __name__ == "__main__":
    cli.run(main)
