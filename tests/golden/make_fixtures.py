"""Make the fixtures that tests/09_golden.cpp compares this book's Transformer with.

    python tests/golden/make_fixtures.py

A Transformer written with PyTorch's own functions, in double precision, for each of the four source
systems at a small size: seeded random weights, and a batch with padding and with a sentence of one
word. Each file holds the ids, every parameter, the logits, the loss, the gradient of every parameter,
and every parameter after ten steps of SGD with momentum and of Adam, with warm-up. Names and layouts
of parameters are those of a checkpoint of this book.

Made with PyTorch 1.13.1 on the CPU; needs PyTorch only here, never to build, test or read the book.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

D, HEADS, D_FF, LAYERS, SRC_WORDS, TGT_WORDS, MAX_LEN = 12, 3, 17, 2, 11, 13, 9
STEPS, RATE, WARMUP, MOMENTUM = 10, 0.01, 4, 0.9


@dataclass(frozen=True)
class System:
    """Where the four source systems differ."""

    name: str
    bias: bool = True  # in the feed-forward, the attention's output and the final map
    bias_qkv: bool = True
    learned_norm: bool = True
    scale_embedding: bool = False
    padding_row: bool = False
    shared_heads: bool = False  # one small map, scale 1/sqrt(d_model), filled before scaling
    learned_positions: bool = False
    mask_target_pads: bool = True
    smoothing: float = 0.0


SYSTEMS = (
    System("toy", bias=False, bias_qkv=False, learned_norm=False),
    System("notebook"),
    System("article", scale_embedding=True, padding_row=True, smoothing=0.1),
    System(
        "shared_heads",
        bias_qkv=False,
        shared_heads=True,
        learned_positions=True,
        mask_target_pads=False,
    ),
)

# Row 2 ends in pads, row 3 is one word (its target one word and the end).
SRC = [[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 1, 2, 0, 0], [3, 0, 0, 0, 0, 0, 0]]
TGT = [[11, 1, 2, 3, 4], [11, 5, 6, 0, 0], [11, 7, 0, 0, 0]]
TARGET = [[1, 2, 3, 4, 12], [5, 6, 12, 0, 0], [7, 12, 0, 0, 0]]


def shapes(s: System) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all parameters."""
    found: dict[str, tuple[int, ...]] = {}

    def linear(name: str, d_out: int, d_in: int, bias: bool) -> None:
        found[f"{name}.weight"] = (d_out, d_in)
        if bias:
            found[f"{name}.bias"] = (d_out,)

    def norm(name: str) -> None:
        if s.learned_norm:
            found[f"{name}.weight"] = (D,)
            found[f"{name}.bias"] = (D,)

    def attention(name: str) -> None:
        width = D // HEADS if s.shared_heads else D
        for which in ("w_q", "w_k", "w_v"):
            linear(f"{name}.{which}", width, width, s.bias_qkv)
        linear(f"{name}.w_o", D, D, s.bias)

    for side, words in (("src", SRC_WORDS), ("tgt", TGT_WORDS)):
        found[f"{side}_embed.weight"] = (words, D)
        if s.learned_positions:
            found[f"{side}_positions.weight"] = (MAX_LEN, D)
    for stack, blocks in (("encoder", ("self_attn",)), ("decoder", ("self_attn", "multihead_attn"))):
        for i in range(LAYERS):
            layer = f"{stack}.layers.{i}"
            for number, block in enumerate(blocks, 1):
                attention(f"{layer}.{block}")
                norm(f"{layer}.norm{number}")
            linear(f"{layer}.linear1", D_FF, D, s.bias)
            linear(f"{layer}.linear2", D, D_FF, s.bias)
            norm(f"{layer}.norm{len(blocks) + 1}")
    linear("output", TGT_WORDS, D, s.bias)
    return found


def sinusoid(length: int) -> Tensor:
    position = torch.arange(length)[:, None].double()
    frequency = torch.exp(torch.arange(0, D, 2).double() * (-math.log(10000.0) / D))
    table = torch.zeros(length, D)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table


def transformer(s: System, p: dict[str, Tensor], src: Tensor, tgt: Tensor) -> Tensor:
    """Logits [B, Lt, TGT_WORDS] of a post-norm Transformer without dropout."""

    def linear(name: str, x: Tensor) -> Tensor:
        return F.linear(x, p[f"{name}.weight"], p.get(f"{name}.bias"))

    def norm(name: str, x: Tensor) -> Tensor:
        return F.layer_norm(x, (D,), p.get(f"{name}.weight"), p.get(f"{name}.bias"), 1e-5)

    def embed(side: str, ids: Tensor) -> Tensor:
        padding = 0 if s.padding_row else None
        x = F.embedding(ids, p[f"{side}_embed.weight"], padding_idx=padding)
        x = x * (math.sqrt(D) if s.scale_embedding else 1.0)
        length = ids.shape[1]
        return x + (
            p[f"{side}_positions.weight"][:length] if s.learned_positions else sinusoid(length)
        )

    def attention(name: str, query: Tensor, key: Tensor, hide: Tensor) -> Tensor:
        def heads(which: str, x: Tensor) -> Tensor:
            if s.shared_heads:
                x = linear(f"{name}.{which}", x.reshape(*x.shape[:2], HEADS, D // HEADS))
            else:
                x = linear(f"{name}.{which}", x).reshape(*x.shape[:2], HEADS, D // HEADS)
            return x.transpose(1, 2)

        scores = heads("w_q", query) @ heads("w_k", key).transpose(-1, -2)
        if s.shared_heads:
            scores = scores.masked_fill(hide[:, None], -1e20) / math.sqrt(D)
        else:
            scores = (scores / math.sqrt(D // HEADS)).masked_fill(hide[:, None], -1e9)
        context = torch.softmax(scores, -1) @ heads("w_v", key)
        return linear(f"{name}.w_o", context.transpose(1, 2).reshape(query.shape))

    def feed_forward(name: str, x: Tensor) -> Tensor:
        return linear(f"{name}.linear2", torch.relu(linear(f"{name}.linear1", x)))

    def pads(queries: Tensor, keys: Tensor) -> Tensor:
        return (keys == 0)[:, None, :].expand(-1, queries.shape[1], -1)

    memory = embed("src", src)
    for i in range(LAYERS):
        name = f"encoder.layers.{i}"
        attended = attention(f"{name}.self_attn", memory, memory, pads(src, src))
        memory = norm(f"{name}.norm1", memory + attended)
        memory = norm(f"{name}.norm2", memory + feed_forward(name, memory))

    length = tgt.shape[1]
    future = torch.triu(torch.ones(length, length, dtype=torch.bool), 1).expand(len(tgt), -1, -1)
    hide = future | pads(tgt, tgt) if s.mask_target_pads else future
    y = embed("tgt", tgt)
    for i in range(LAYERS):
        name = f"decoder.layers.{i}"
        y = norm(f"{name}.norm1", y + attention(f"{name}.self_attn", y, y, hide))
        crossed = attention(f"{name}.multihead_attn", y, memory, pads(tgt, src))
        y = norm(f"{name}.norm2", y + crossed)
        y = norm(f"{name}.norm3", y + feed_forward(name, y))
    return linear("output", y)


def save(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write a safetensors file of F64 tensors."""
    header, data, offset = {}, b"", 0
    for name in sorted(tensors):
        raw = tensors[name].detach().double().contiguous().numpy().tobytes()
        shape = list(tensors[name].shape)
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make(s: System, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    start = {}
    for name, shape in shapes(s).items():
        start[name] = torch.randn(shape, generator=generator) * 0.5
        if ".norm" in name and name.endswith(".weight"):
            start[name] += 1
        if s.padding_row and name.endswith("_embed.weight"):
            start[name][0] = 0
    src, tgt, target = (torch.tensor(ids) for ids in (SRC, TGT, TARGET))

    def loss_of(p: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        logits = transformer(s, p, src, tgt)
        flat = logits.reshape(-1, TGT_WORDS), target.reshape(-1)
        return logits, F.cross_entropy(*flat, ignore_index=0, label_smoothing=s.smoothing)

    def fresh() -> dict[str, Tensor]:
        return {name: value.clone().requires_grad_() for name, value in start.items()}

    p = fresh()
    logits, loss = loss_of(p)
    loss.backward()
    tensors = {"src": src, "tgt": tgt, "target": target, "logits": logits, "loss": loss}
    tensors |= {f"param.{name}": value for name, value in start.items()}
    tensors |= {f"grad.{name}": value.grad for name, value in p.items()}
    for method in ("sgd", "adam"):
        p = fresh()
        values = list(p.values())
        optimizer = (
            torch.optim.SGD(values, lr=RATE, momentum=MOMENTUM)
            if method == "sgd"
            else torch.optim.Adam(values, lr=RATE)
        )
        for step in range(1, STEPS + 1):
            ratio = step / WARMUP
            optimizer.param_groups[0]["lr"] = RATE * min(ratio, ratio**-0.5)
            optimizer.zero_grad()
            loss_of(p)[1].backward()
            optimizer.step()
        tensors |= {f"{method}.{name}": value for name, value in p.items()}
    return tensors


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    for number, system in enumerate(SYSTEMS, 1):
        file = Path(__file__).parent / f"{system.name}.safetensors"
        save(file, make(system, number))
        print(file.name, file.stat().st_size)
