"""Chapter 13's training in PyTorch: the same pieces, pairs, model, batches and recipe.

    build/venv-bench/bin/python bench/translation_peer.py --model RUN/model.safetensors --train FILE --dev FILE --test FILE

Sizes, options and subwords come from a model that `./book run 13` has trained; the options of
training have the names and defaults of that program. FILE has a line for each pair, with a tab
between the two; `./book run 13 text --write FOLDER` writes the book's own pairs. The maps, attention and optimizer are those of pytorch_peer.py's style `tuned`. Writes
OUT/peer.json and OUT/test.translation.txt; BLEU is computed by sacrebleu.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli
import sacrebleu
import sentencepiece
import torch
import torch.nn.functional as F
from pytorch_peer import CachedDecoder, FastTransformer, book, onednn_is_faster, use_onednn
from safetensors import safe_open
from torch import Tensor, nn

PAD, START, END = 0, 2, 3
SMOOTHING, CLIP, AVERAGED = 0.1, 1.0, 4  # of labels; largest norm of the gradient; epochs
Ids = list[int]


@dataclass(frozen=True)
class Pair:
    source: Ids
    target: Ids
    reference: str

    @property
    def words(self) -> int:
        """As the book counts them: with the source's end symbol and the target's start symbol."""
        return len(self.source) + len(self.target) + 2


def read_texts(file: str) -> list[tuple[str, str]]:
    lines = Path(file).read_text(encoding="utf-8").rstrip("\n").split("\n")
    return [tuple(line.split("\t")[:2]) for line in lines]


class Data:
    """Reads pairs as ids, with the subwords of one of the book's models."""

    def __init__(self, notes: dict[str, str], longest: int) -> None:
        self.source, self.target = (
            sentencepiece.SentencePieceProcessor(model_proto=bytes.fromhex(notes[f"{side}_subwords"]))
            for side in ("source", "target")
        )
        self.longest = longest

    def read(self, file: str, held_out: bool) -> list[Pair]:
        pairs = []
        for source, target in read_texts(file):
            shorter, longer = sorted((len(source.encode()), len(target.encode())))
            if shorter == 0 or (longer > 6 * shorter and not held_out):
                continue
            pair = Pair(self.source.encode(source), self.target.encode(target), target)
            if held_out or max(len(pair.source), len(pair.target)) < self.longest:
                pairs.append(pair)
        return pairs


class Batches:
    """Like those of token_batches.cpp: windows of random pairs, sorted by length, cut by words."""

    def __init__(self, pairs: Sequence[Pair], tokens: int, seed: int) -> None:
        self.pairs, self.tokens, self.random = list(pairs), tokens, random.Random(seed)

    def epoch(self) -> list[list[Pair]]:
        self.random.shuffle(self.pairs)
        batches: list[list[Pair]] = []
        window: list[Pair] = []
        words = 0
        for pair in self.pairs:
            window.append(pair)
            words += pair.words
            if words >= 64 * self.tokens:
                batches += self.cut(window)
                window, words = [], 0
        batches += self.cut(window)
        self.random.shuffle(batches)
        return batches

    def cut(self, window: list[Pair]) -> Iterator[list[Pair]]:
        batch: list[Pair] = []
        words = 0
        for pair in sorted(window, key=lambda p: (len(p.target), len(p.source))):
            if words + pair.words > self.tokens:
                yield batch
                batch, words = [], 0
            batch.append(pair)
            words += pair.words
        if batch:
            yield batch


def padded(rows: Sequence[Ids]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def tensors(batch: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    return (
        padded([pair.source + [END] for pair in batch]),
        padded([[START] + pair.target for pair in batch]),
        padded([pair.target + [END] for pair in batch]),
    )


def build(options: book.Options) -> FastTransformer:
    model = FastTransformer(options)
    for table in (model.src_embed.weight, model.tgt_embed.weight):
        nn.init.normal_(table, std=options.d_model**-0.5)
    if onednn_is_faster():
        use_onednn(model)
    return model


@torch.inference_mode()
def translate(model: FastTransformer, pairs: Sequence[Pair]) -> list[Ids]:
    """Translates greedily, 64 sentences of similar length at a time."""
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].source))
    found: list[Ids] = [[] for _ in pairs]
    for first in range(0, len(order), 64):
        numbers = order[first : first + 64]
        source = padded([pairs[i].source + [END] for i in numbers])
        most = 2 * source.shape[1] + 10
        decoder = CachedDecoder(model, source, most)
        ids = torch.full((len(numbers), 1), START)
        ended = torch.zeros(len(numbers), dtype=torch.bool)
        for _ in range(most):
            ids = decoder.step(ids).argmax(-1, keepdim=True)
            ended |= ids[:, 0] == END
            for number, word, over in zip(numbers, ids[:, 0].tolist(), ended.tolist(), strict=True):
                if not over:
                    found[number].append(word)
            if ended.all():
                break
    return found


@torch.inference_mode()
def mean_loss(model: FastTransformer, pairs: Sequence[Pair]) -> float:
    total, words = 0.0, 0
    order = sorted(pairs, key=lambda p: len(p.source))
    for first in range(0, len(order), 16):
        source, target_in, target_out = tensors(order[first : first + 16])
        logits = model(source, target_in)
        total += F.cross_entropy(logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD, reduction="sum").item()
        words += int((target_out != PAD).sum())
    return total / words


@dataclass
class Validation:
    loss: float
    bleu: float
    translations: list[str]


def validate(model: FastTransformer, pairs: Sequence[Pair], data: Data) -> Validation:
    model.eval()
    texts = [data.target.decode(ids) for ids in translate(model, pairs)]
    bleu = sacrebleu.corpus_bleu(texts, [[pair.reference for pair in pairs]])
    loss = mean_loss(model, pairs)
    model.train()
    return Validation(loss, bleu.score, texts)


class Run:
    def __init__(self, o: argparse.Namespace, model: FastTransformer, train: Sequence[Pair]) -> None:
        self.o, self.model = o, model.train()
        self.batches = Batches(train, o.tokens, o.seed)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=o.lr, betas=(0.9, 0.98), eps=1e-8, fused=True)
        self.steps = 0

    def rate(self) -> float:
        o = self.o
        return o.lr * min(self.steps / o.warmup, math.sqrt(o.warmup / self.steps))

    def step(self, batch: Sequence[Pair]) -> float:
        source, target_in, target_out = tensors(batch)
        loss = F.cross_entropy(
            self.model(source, target_in).flatten(0, 1),
            target_out.flatten(),
            ignore_index=PAD,
            label_smoothing=SMOOTHING,
        )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.optimizer.step()
        return loss.item()

    def epoch(self) -> tuple[float, float]:
        """Trains for an epoch. Returns the steps' mean loss, and words per second without pads."""
        start = time.perf_counter()
        batches = self.batches.epoch()
        losses = [self.step(batch) for batch in batches]
        seconds = time.perf_counter() - start
        return statistics.fmean(losses), sum(p.words for b in batches for p in b) / seconds


def mean_of(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: sum(state[name] for state in states) / len(states) for name in states[0]}


def train(o: argparse.Namespace) -> None:
    with safe_open(o.model, "pt") as file:
        notes = file.metadata()
    options = book.Options.read(notes["options"])
    data = Data(notes, options.max_len)
    pairs, dev, test = (data.read(f, f is not o.train) for f in (o.train, o.dev, o.test))
    print(f"{len(pairs)} pairs to train on, {len(dev)} to validate with, {len(test)} to test with")
    o.out.mkdir(parents=True, exist_ok=True)  # fails now, not after training
    torch.manual_seed(o.seed)
    run = Run(o, build(options), pairs)
    epochs, last, best = [], [], None
    start = time.perf_counter()
    for epoch in range(1, o.epochs + 1):
        loss, speed = run.epoch()
        held = validate(run.model, dev, data)
        epochs.append({"loss": loss, "dev_loss": held.loss, "bleu": held.bleu, "words_per_second": speed})
        print(
            f"epoch {epoch:2}  loss {loss:.3f}  dev loss {held.loss:.3f}  BLEU {held.bleu:5.2f}  "
            f"{time.perf_counter() - start:.0f} s after the start, {speed:.0f} words/s",
            flush=True,
        )
        state = copy.deepcopy(run.model.state_dict())
        last = [*last, state][-AVERAGED:]
        if best is None or held.bleu > best[0].bleu:
            best = held, state
    seconds = time.perf_counter() - start
    on_dev, on_test = {}, {}
    for rule, state in (("best epoch", best[1]), ("mean", mean_of(last))):
        run.model.load_state_dict(state)
        on_dev[rule], on_test[rule] = validate(run.model, dev, data), validate(run.model, test, data)
    kept = min(on_dev, key=lambda rule: on_dev[rule].loss)  # as the book chooses
    print(f"test, {kept}: loss {on_test[kept].loss:.3f}, BLEU {on_test[kept].bleu:.2f}")
    (o.out / "test.translation.txt").write_text("".join(t + "\n" for t in on_test[kept].translations))
    result = {
        "version": torch.__version__,
        "seconds": seconds,
        "words_per_second": statistics.median(e["words_per_second"] for e in epochs),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "kept": kept,
        "dev_bleu": on_dev[kept].bleu,
        "test_bleu_of": {rule: held.bleu for rule, held in on_test.items()},
        "epochs": epochs,
    }
    (o.out / "peer.json").write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, type=Path, help="model file of `./book run 13`")
    for part in ("train", "dev", "test"):
        parser.add_argument(f"--{part}", required=True, help="file of pairs")
    parser.add_argument("--out", type=Path, default=Path("build/bench/translation"), help="folder for the results")
    parser.add_argument("--threads", type=int, default=2, help="number of threads")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    parser.add_argument("--epochs", type=int, default=6, help="number of epochs")
    parser.add_argument("--tokens", type=int, default=2048, help="most words per batch")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate at its peak")
    parser.add_argument("--warmup", type=int, default=400, help="steps until that peak")
    options = parser.parse_args()
    torch.set_flush_denormal(True)  # before there are other threads, which inherit it
    torch.set_num_threads(options.threads)
    train(options)


if __name__ == "__main__":
    cli.run(main)
