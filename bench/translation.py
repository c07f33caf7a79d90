"""Trains chapter 13's translator and its PyTorch twin, one after the other, seed by seed.

    python bench/translation.py quick --python build/venv-bench/bin/python --seeds 1 2 3

Both use the same pieces, pairs, sizes, recipe and number of epochs; see translation_peer.py. `--alone` leaves out the twin.
Recipes:

    quick      the book's pairs, the small model of `./book run 13 --quick`
    default    the book's pairs, the model of `./book run 13`

Prints a table, and writes all its numbers to build/bench/translation/RECIPE/result.json. Quality is
BLEU of the test pairs by the book's `score`, decoded greedily, and for the book also with a beam of 4
and of its best epoch, with the p of both differences by the paired test.
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


def scores(reference: Path, hypothesis: Path, other: Path | None = None) -> dict[str, float]:
    """BLEU and its half_width, and p and the other's BLEU if there is another."""
    run = hypothesis.parent
    command = [PROGRAM, "score", "--reference", reference, "--hypothesis", hypothesis]
    command += ["--other", other] if other else []
    must([*command, "--out", run / "score"], run / "score.log")
    return values_in(run / "score" / "results.json")


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

    def translated(name: str, model: str, beam: int) -> Path:
        command = [PROGRAM, "translate", "--model", run / model, "--beam", beam, "--threads", o.threads]
        (run / name).write_text(must(command, run / "messages.translate", sources))
        return run / name

    greedy = run / "test.translation.txt"
    epoch = translated("test.epoch.txt", f"epoch-{found['best_epoch']:04.0f}.safetensors", 1)
    of_epoch = scores(reference, greedy, epoch)
    of_beam = scores(reference, translated("test.beam4.txt", "model.safetensors", 4), greedy)
    return {
        "words_per_second": statistics.median(map(float, speeds)),
        "seconds": found["training_seconds"],
        "memory": found["memory"],
        "dev_bleu": found["dev_bleu"],
        "kept": "mean" if found["dev_bleu"] == found["average_bleu"] else "best epoch",
        "best_epoch": found["best_epoch"],
        "greedy": of_epoch["BLEU"],
        "greedy_half_width": of_epoch["BLEU_half_width"],
        "greedy_of_best_epoch": of_epoch["BLEU_other"],
        "p_of_best_epoch": of_epoch["BLEU_p"],
        "beam4": of_beam["BLEU"],
        "p_of_beam4": of_beam["BLEU_p"],
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
    return {**kept, "greedy": scores(ours / "test.reference.txt", run / "test.translation.txt")["BLEU"]}


def means(runs: list[dict]) -> dict[str, float]:
    """Of the book's scores."""
    mean = {
        name: statistics.fmean(run["ours"][name] for run in runs) for name in ("greedy_of_best_epoch", "greedy", "beam4")
    }
    return {**mean, "greedy_less_best_epoch": mean["greedy"] - mean["greedy_of_best_epoch"]}


def table(runs: list[dict]) -> str:
    lines = ["seed  system    words/s  seconds  MiB  dev BLEU  test BLEU  beam 4"]
    for run in runs:
        for system in ("ours", "PyTorch"):
            if (r := run.get(system)) is None:
                continue
            beam = f"{r['beam4']:6.2f}" if "beam4" in r else ""
            lines.append(
                f"{run['seed']:4}  {system:8}  {r['words_per_second']:7.0f}  {r['seconds']:7.0f}  {r['memory']:3.0f}"
                f"  {r['dev_bleu']:8.2f}  {r['greedy']:9.2f}  {beam}".rstrip()
            )
    runs = [run for run in runs if "PyTorch" in run]
    if not runs:
        return "\n".join(lines)
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
    parser.add_argument("--alone", action="store_true", help="without PyTorch")
    o = parser.parse_args()
    for file, what in (
        (PROGRAM, "cmake --build --preset release"),
        (o.python, "a virtual environment with bench/requirements.txt"),
    ):
        if not file.exists() and not (o.alone and file == o.python):
            parser.error(f"{file} does not exist; it comes from {what}")
    o.out = ROOT / "build/bench/translation" / o.recipe
    o.out.mkdir(parents=True, exist_ok=True)
    must([PROGRAM, "text", "--write", o.out / "text"], o.out / "text.log")
    runs = []
    for seed in o.seeds:
        print(f"seed {seed}: the book's program", flush=True)
        runs.append({"name": f"seed {seed}", "seed": seed, "ours": train_ours(o, seed)})
        if not o.alone:
            print(f"seed {seed}: PyTorch", flush=True)
            runs[-1]["PyTorch"] = train_peer(o, seed)
        report = {
            "recipe": o.recipe,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "processor": processor(),
            "threads": o.threads,
            "runs": runs,
            "means": means(runs),
        }
        (o.out / "result.json").write_text(json.dumps(report, indent=1) + "\n")
    print(table(runs))


if __name__ == "__main__":
    cli.run(main)
