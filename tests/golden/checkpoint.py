"""Carry checkpoints of the book into PyTorch and back.

    build/venv-golden/bin/python tests/golden/checkpoint.py translate checkpoints/toy-seed1.safetensors "我 有 一 个 好 朋 友 P"
    build/venv-golden/bin/python tests/golden/checkpoint.py train new.safetensors
    ./book run 10 --checkpoint new.safetensors --translate "我 有 一 个 好 朋 友 P"
    build/venv-golden/bin/python tests/golden/checkpoint.py convert checkpoints/toy-seed1.safetensors toy.pt
    build/venv-golden/bin/python tests/golden/checkpoint.py convert toy.pt again.safetensors

`translate` decodes in PyTorch what the book has trained. `train` trains the toy in PyTorch and writes
a checkpoint that the book's programs load. `convert` writes a checkpoint as a file of `torch.save`,
`{"options": ..., "source_words": ..., "target_words": ..., "state_dict": ...}`, or such a file as a
checkpoint, with every bit of the weights kept. A model that `nn.Transformer` can be is checked against
that class as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformer import TOY, Options, Transformer, to_pytorch_state

NOTES = ("source_words", "target_words")


def read(path: Path) -> tuple[Transformer, dict[str, list[str]]]:
    """A model and both vocabularies from a checkpoint, or from a file that `convert` wrote."""
    if path.suffix == ".pt":
        file = torch.load(path, weights_only=True)
        options, words = Options(**file["options"]), {name: file[name] for name in NOTES}
        state = file["state_dict"]
    else:
        with safe_open(path, "pt") as file:
            notes = file.metadata()
        options = Options.read(notes["options"])
        words = {name: json.loads(notes[name]) for name in NOTES}
        state = load_file(path)
    model = Transformer(options)
    # a table that several share stands there once, under its first name
    shared = {n: state[first_name(model, n)] for n in model.state_dict() if n not in state}
    model.load_state_dict(state | shared)  # strict: every name and shape must fit
    return model.eval(), words


def first_name(model: Transformer, name: str) -> str:
    """The first of the names that this parameter has."""
    own = model.get_parameter(name)
    return next(n for n, p in model.named_parameters() if p is own)


def write(path: Path, model: Transformer, words: dict[str, list[str]]) -> None:
    if path.suffix == ".pt":
        torch.save(
            {"options": asdict(model.o), **words, "state_dict": model.state_dict()},
            path,
        )
        return
    notes = {"options": json.dumps(asdict(model.o))}
    notes |= {name: json.dumps(words[name], ensure_ascii=False) for name in NOTES}
    save_file({n: p.detach().contiguous() for n, p in model.named_parameters()}, path, notes)


@torch.no_grad()
def translate(
    model: Transformer, words: dict[str, list[str]], sentence: str, cap: int = 50
) -> list[tuple[str, float]]:
    """The likeliest word each time, with its probability, up to and with the end symbol E."""
    source, target = words["source_words"], words["target_words"]
    src = torch.tensor([[source.index(word) for word in sentence.split()]])
    memory, ids, said = model.encode(src), [target.index("S")], []
    while len(said) < cap:
        logits = model.decode(torch.tensor([ids]), memory, src)[0, -1]
        best = int(logits.argmax())
        said.append((target[best], float(logits.softmax(-1)[best])))
        if target[best] == "E":
            break
        ids.append(best)
    return said


@torch.no_grad()
def distance_to_pytorch(model: Transformer, words: dict[str, list[str]], sentence: str) -> str:
    """How far `nn.Transformer` with the same weights is, where it can be this model."""
    own = to_pytorch_state(model.o, model.state_dict())
    if own is None:
        return "nn.Transformer lacks an option of this model"
    module, state = own
    module.load_state_dict(state)
    src = torch.tensor([[words["source_words"].index(word) for word in sentence.split()]])
    tgt = torch.tensor([[words["target_words"].index("S")]])
    y = module.eval()(
        model.embed("src", src),
        model.embed("tgt", tgt),
        src_key_padding_mask=src == model.o.pad,
        memory_key_padding_mask=src == model.o.pad,
    )
    off = (model.output(y) - model(src, tgt)).abs().max()
    return f"logits of nn.Transformer with the same weights differ by {off:.1e} at most"


def train(seed: int) -> tuple[Transformer, dict[str, list[str]]]:
    import toy_statistics as toy

    words = {
        "source_words": ["P", "我", "有", "一", "个", "好", "朋", "友", "零", "女", "男"],
        "target_words": toy.WORDS,
    }
    torch.manual_seed(seed)
    model = Transformer(TOY)
    moving = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.99)
    source, target_in, target_out = map(torch.tensor, (toy.SOURCE, toy.TARGET_IN, toy.TARGET_OUT))
    for epoch in range(100):
        for batch in torch.randperm(3).split(2):
            logits = model(source[batch], target_in[batch])
            loss = F.cross_entropy(
                logits.flatten(0, 1), target_out[batch].flatten(), ignore_index=0
            )
            moving.zero_grad()
            loss.backward()
            moving.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss.item():.6f}", file=sys.stderr)
    return model.eval(), words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("translate", help="decode a sentence in PyTorch")
    verb.add_argument("file", type=Path)
    verb.add_argument("sentence")
    verb = verbs.add_parser("train", help="train the toy in PyTorch for the book's programs")
    verb.add_argument("file", type=Path)
    verb.add_argument("--seed", type=int, default=1)
    verb = verbs.add_parser("convert", help="between a checkpoint and a file of torch.save (.pt)")
    verb.add_argument("file", type=Path)
    verb.add_argument("new", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "train":
        arguments.file.open("ab").close()  # fails now, not after training
        write(arguments.file, *train(arguments.seed))
        return
    model, words = read(arguments.file)
    if arguments.verb == "convert":
        write(arguments.new, model, words)
        return
    for word, probability in translate(model, words, arguments.sentence):
        print(f"{word:10} {probability:.6f}")
    print(distance_to_pytorch(model, words, arguments.sentence))


if __name__ == "__main__":
    cli.run(main)
