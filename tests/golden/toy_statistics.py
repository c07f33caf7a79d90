"""Train the Chinese-English toy on many seeds, in PyTorch and with the book's own programs.

    python tests/golden/toy_statistics.py pytorch
    python tests/golden/toy_statistics.py book --programs build/release/chapters
    python tests/golden/toy_statistics.py summary

The first two write toy_statistics_pytorch.json and toy_statistics_book.json beside this file: for each
way of training and each seed the last loss that training printed, how many of the three training
sentences come out exactly, how many decodes of four do not end, and what the model says to the
sentence that it never saw. On two cores each takes half an hour; --runs and --seeds choose a part,
which replaces that part of the file. `summary` needs neither PyTorch nor programs: it prints both
files side by side, and fails if they tell different stories.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli

HERE = Path(__file__).parent
CAP = 50  # words after which a decode counts as endless
SOURCE = [[1, 2, 3, 4, 5, 6, 7, 0], [1, 2, 8, 4, 9, 6, 7, 0], [1, 2, 3, 4, 10, 6, 7, 0]]
TARGET_IN = [[9, 1, 2, 3, 4, 5, 11], [9, 1, 2, 6, 7, 5, 11], [9, 1, 2, 3, 8, 5, 11]]
TARGET_OUT = [[1, 2, 3, 4, 5, 11, 10], [1, 2, 6, 7, 5, 11, 10], [1, 2, 3, 8, 5, 11, 10]]
UNSEEN = [1, 2, 3, 4, 9, 6, 7, 0]  # I have a girl friend .
WORDS = ["P", "I", "have", "a", "good", "friend", "zero", "girl", "boy", "S", "E", "."]
START, END = 9, 10


@dataclass(frozen=True)
class Run:
    optimizer: str
    rate: float
    epochs: int
    seeds: int


RUNS = {
    "sgd": Run("sgd", 1e-3, 100, seeds=20),
    "adam_large": Run("adam", 1e-3, 100, seeds=6),
    "adam_small": Run("adam", 1e-4, 100, seeds=6),
    "sgd_long": Run("sgd", 1e-3, 1000, seeds=3),
}


def train_pytorch(run: Run, seed: int) -> dict:
    import torch
    from transformer import TOY, Transformer, loss_of

    torch.set_num_threads(1)  # one seed a core
    random = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = Transformer(TOY)
    source, target_in, target_out = (torch.tensor(x) for x in (SOURCE, TARGET_IN, TARGET_OUT))
    if run.optimizer == "sgd":
        moving = torch.optim.SGD(model.parameters(), lr=run.rate, momentum=0.99)
    else:
        moving = torch.optim.Adam(model.parameters(), lr=run.rate)
    last = 0.0
    for _ in range(run.epochs):
        for batch in torch.randperm(3, generator=random).split(2):
            loss = loss_of(model(source[batch], target_in[batch]), target_out[batch], TOY.pad)
            moving.zero_grad()
            loss.backward()
            moving.step()
            last = loss.item()

    @torch.no_grad()
    def decode(ids: list[int]) -> list[int]:
        src = torch.tensor([ids])
        memory, words = model.encode(src), [START]
        while len(words) <= CAP:
            word = int(model.decode(torch.tensor([words]), memory, src)[0, -1].argmax())
            if word == END:
                break
            words.append(word)
        return words[1:]

    def right(said: list[list[int]]) -> int:
        return sum(words == TARGET_OUT[i % 3][:-1] for i, words in enumerate(said))

    model.eval()
    said = [decode(ids) for ids in [*SOURCE, UNSEEN]]
    result = {
        "final_loss": last,
        "exact": right(said[:3]),
        "endless": sum(len(words) == CAP for words in said),
        "unseen": " ".join(WORDS[i] for i in said[3]),
    }
    if run.optimizer == "sgd":
        model.train()
        result["exact_of_15_with_dropout"] = right(
            [decode(ids) for _ in range(5) for ids in SOURCE]
        )
    return result


def train_book(run: Run, seed: int, programs: Path) -> dict:
    with tempfile.TemporaryDirectory() as folder:

        def call(program: str, *options: str) -> str:
            common = ["--threads", "1", "--seed", str(seed), "--checkpoint", f"{folder}/toy"]
            command = [str(programs / program), *common, "--out", f"{folder}/out", *options]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        def value(name: str) -> float | str:
            return json.loads(Path(folder, "out/results.json").read_text())[name]["value"]

        options = ["--optimizer", run.optimizer, "--lr", str(run.rate), "--epochs", str(run.epochs)]
        call("09_training/training", *options)
        result = {"final_loss": value("final_loss")}
        printed = call("10_greedy_decoding/greedy_decoding", "--max-words", str(CAP))
        sentences = printed[: printed.index("== Word by word ==")]
        return result | {
            "exact": int(value("train_right")),
            "endless": sentences.count(f"stopped after {CAP} words"),
            "unseen": value("unseen_answer"),
        }


def train(system: str, name: str, programs: Path | None, seed: int) -> dict:
    """One seed of one run, in a process of its own, with one thread."""
    if programs:
        result = train_book(RUNS[name], seed, programs.resolve())
    else:  # PyTorch has one random state and one number of threads in each process
        call = f"t.train_pytorch(t.RUNS[{name!r}], {seed})"
        command = [sys.executable, "-c", f"import toy_statistics as t; print(repr({call}))"]
        done = subprocess.run(command, check=True, cwd=HERE, capture_output=True, text=True)
        result = ast.literal_eval(done.stdout)
    print(system, name, seed, result, flush=True)
    return {"seed": seed, **result}


# The story that both tell -------------------------------------------------------------------------

EXPECTED = "I have a girl friend ."
TRAINED = tuple(f"I have {what} friend ." for what in ("a good", "zero girl", "a boy"))


@dataclass(frozen=True)
class Summary:
    """What came of one way of training in one system."""

    seeds: int
    low: float  # of the last loss: quartiles, or extremes where there are fewer than ten seeds
    median: float
    high: float
    exact: int  # of three training sentences a seed
    endless: int  # decodes of four a seed
    unseen: int  # seeds that translate the unseen sentence
    known: int  # seeds that answer it with a sentence of training

    @staticmethod
    def of(found: list[dict]) -> Summary:
        losses = sorted(one["final_loss"] for one in found)
        low, high = losses[0], losses[-1]
        if len(losses) >= 10:
            low, _, high = statistics.quantiles(losses, n=4, method="inclusive")
        return Summary(
            seeds=len(found),
            low=low,
            median=statistics.median(losses),
            high=high,
            exact=sum(one["exact"] for one in found),
            endless=sum(one["endless"] for one in found),
            unseen=sum(one["unseen"] == EXPECTED for one in found),
            known=sum(one["unseen"] in TRAINED for one in found),
        )

    def line(self) -> str:
        loss = f"{self.median:.1e} ({self.low:.1e} to {self.high:.1e})"
        exact, unseen = f"{self.exact} of {3 * self.seeds}", f"{self.unseen} of {self.seeds}"
        return f"{self.seeds:5}  {loss:28}  {exact:>8}  {self.endless:6}  {unseen:>7}"


def disagreement(ours: Summary, theirs: Summary) -> str:
    """Why the two do not tell one story; empty if they do."""
    if ours.low > theirs.high or theirs.low > ours.high:
        return (
            f"losses from {ours.low:g} to {ours.high:g} and from {theirs.low:g} to {theirs.high:g}"
        )
    rates = [one.exact / (3 * one.seeds) for one in (ours, theirs)]
    if abs(rates[0] - rates[1]) > 0.05:
        return f"{rates[0]:.0%} and {rates[1]:.0%} of the training sentences are right"
    if abs(ours.unseen / ours.seeds - theirs.unseen / theirs.seeds) > 0.1:
        return f"{ours.unseen} and {theirs.unseen} seeds translate the unseen sentence"
    return ""


def summarize(out: Path | None) -> None:
    systems = ("book", "pytorch")
    files = {
        name: json.loads((HERE / f"toy_statistics_{name}.json").read_text()) for name in systems
    }
    print(f"{'':32}seeds  {'last loss: median (spread)':28}  {'exact':>8}  no end   unseen")
    values, complaints = {}, []
    for name, run in RUNS.items():
        found = {system: Summary.of(files[system][name]) for system in systems}
        why = disagreement(found["book"], found["pytorch"])
        complaints += [f"{name}: {why}"] if why else []
        for system in systems:
            how = f"{run.optimizer} {run.rate:.0e}, {run.epochs} epochs" if system == "book" else ""
            label = "ours" if system == "book" else "PyTorch"
            print(f"{how:24}{label:7} {found[system].line()}")
            for field, value in asdict(found[system]).items():
                values[f"{system}_{name}_{field}"] = value
            values[f"{system}_{name}_sentences"] = 3 * found[system].seeds
            values[f"{system}_{name}_decodes"] = 4 * found[system].seeds
    dropout = [one["exact_of_15_with_dropout"] for one in files["pytorch"]["sgd"]]
    values |= {"dropout_right": sum(dropout), "dropout_of": 15 * len(dropout)}
    values["pytorch"] = files["pytorch"]["system"]
    if out:
        results = {n: {"value": v, "unit": "", "varies": False} for n, v in values.items()}
        (out / "results.json").write_text(json.dumps(results, indent=1))
    if complaints:
        raise cli.Failure("they do not agree: " + "; ".join(complaints))


def version(system: str) -> str:
    if system == "book":
        return "Attention by Hand"
    import torch

    return f"PyTorch {torch.__version__.split('+')[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("system", choices=["pytorch", "book", "summary"])
    parser.add_argument("--out", type=Path, help="of summary: folder for results.json")
    parser.add_argument("--programs", type=Path, help="the book's built programs, BUILD/chapters")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--seeds", type=int, help="the first seeds of each run only")
    arguments = parser.parse_args()
    if arguments.system == "summary":
        summarize(arguments.out)
        return
    if arguments.system == "book" and not arguments.programs:
        parser.error("book needs --programs")
    if arguments.system == "pytorch":
        arguments.programs = None

    path = HERE / f"toy_statistics_{arguments.system}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found["system"] = version(arguments.system)
    for name in arguments.runs:
        one = partial(train, arguments.system, name, arguments.programs)
        seeds = range(1, (arguments.seeds or RUNS[name].seeds) + 1)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found[name] = list(pool.map(one, seeds))
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    cli.run(main)
