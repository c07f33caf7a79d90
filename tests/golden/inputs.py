"""What each component is given: sizes, ids, masks, and the shapes of its inputs and parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformer import NOTEBOOK, Layer, Options, small

Values = dict[str, Tensor]
MAX_LEN = 9  # rows of a learned table of positions


@dataclass(frozen=True)
class Sizes:
    """The sizes of one case; a component takes those that it knows."""

    batch: int = 3
    length: int = 5
    keys: int = 7
    d_model: int = 15
    n_heads: int = 3
    d_ff: int = 11
    src_words: int = 11
    tgt_words: int = 13
    n_layers: int = 2


def nothing(_: Sizes) -> dict:
    return {}


# Ids and masks: pads (0) in the middle and at the end ---------------------------------------------


def words(batch: int, length: int, size: int) -> Tensor:
    """Ids from 1 on, with pads in the middle of row 1 and at the end of row 2; none alone."""
    ids = torch.arange(batch * length).reshape(batch, length) * 3 % (size - 1) + 1
    if batch > 1 and length > 2:
        ids[1, length // 2] = 0
    if batch > 2 and length > 1:
        ids[2, (length + 1) // 2 :] = 0
    return ids


def source(s: Sizes) -> Tensor:
    return words(s.batch, s.keys, s.src_words)


def target(s: Sizes) -> Tensor:
    return words(s.batch, s.length, s.tgt_words)


def next_words(s: Sizes) -> Tensor:
    ids = target(s)
    return torch.where(ids == 0, 0, (ids + 4) % (s.tgt_words - 1) + 1)


def past(s: Sizes) -> Tensor:
    return torch.ones(s.length, s.length, dtype=torch.bool).tril()


def hide_pads(queries: Tensor, keys: Tensor) -> Tensor:
    return (keys == 0)[:, None, :].expand(-1, queries.shape[1], -1)


def source_mask(s: Sizes) -> Values:
    return {"mask": hide_pads(source(s), source(s))}


def both_masks(s: Sizes) -> Values:
    return {
        "self_mask": ~past(s) | hide_pads(target(s), target(s)),
        "cross_mask": hide_pads(target(s), source(s)),
    }


def ids_of_model(s: Sizes) -> Values:
    return {"src": source(s), "tgt": target(s)}


def ids_of_loss(s: Sizes) -> Values:
    return ids_of_model(s) | {"target": next_words(s)}


def targets(s: Sizes) -> Values:
    return {"target": next_words(s)}


def src_ids(s: Sizes) -> Values:
    return {"src": source(s)}


def attention_mask(kind: str) -> Callable[[Sizes], Values]:
    def ids(s: Sizes) -> Values:
        hide = hide_pads(target(s), source(s))[:, None].clone()
        if kind == "hidden_row":
            hide[:, :, s.length // 2] = True
        return {"mask": ~hide if kind == "keep" else hide}

    return ids


def multi_head_mask(system: Options) -> Callable[[Sizes], Values]:
    def ids(s: Sizes) -> Values:
        hide = hide_pads(target(s), source(s))
        return {"mask": ~hide if system.mask_meaning == "keep" else hide}

    return ids


# Shapes -------------------------------------------------------------------------------------------


def x_of(s: Sizes) -> dict[str, tuple[int, ...]]:
    return {"x": (s.batch, s.length, s.d_model)}


def x_of_source(s: Sizes) -> dict[str, tuple[int, ...]]:
    return {"x": (s.batch, s.keys, s.d_model)}


def heads(s: Sizes) -> dict[str, tuple[int, ...]]:
    d_k = s.d_model // s.n_heads
    queries, keys = (s.batch, s.n_heads, s.length, d_k), (s.batch, s.n_heads, s.keys, d_k)
    return {"q": queries, "k": keys, "v": keys}


def query_key_value(s: Sizes) -> dict[str, tuple[int, ...]]:
    queries, keys = (s.batch, s.length, s.d_model), (s.batch, s.keys, s.d_model)
    return {"query": queries, "key": keys, "value": keys}


def shapes_of(make: Callable[[Sizes], nn.Module]) -> Callable[[Sizes], dict[str, tuple[int, ...]]]:
    return lambda s: {name: tuple(p.shape) for name, p in make(s).named_parameters()}


def sized(system: Options, s: Sizes, **changes) -> Options:
    return small(
        system,
        src_words=s.tgt_words if system.tied_embeddings == "all" else s.src_words,
        tgt_words=s.tgt_words,
        n_encoder_layers=s.n_layers,
        n_decoder_layers=s.n_layers,
        d_model=s.d_model,
        n_heads=s.n_heads,
        d_ff=s.d_ff,
        max_len=MAX_LEN,
        dropout=0.0,
        position_dropout=0.0,
        attention_scale=1 / math.sqrt(s.d_model) if system.attention_scale else 0.0,
        **changes,
    )


def matmul_shapes(s: Sizes) -> dict[str, tuple[int, ...]]:
    return {"a": (s.batch, s.length, s.keys), "b": (s.batch, s.keys, s.d_ff)}


def matmul_shapes_transposed(s: Sizes) -> dict[str, tuple[int, ...]]:
    return {"a": (s.batch, s.keys, s.length), "b": (s.batch, s.d_ff, s.keys)}


def linear_shapes(bias: bool) -> Callable[[Sizes], dict[str, tuple[int, ...]]]:
    return shapes_of(lambda s: nn.Linear(s.d_model, s.d_ff, bias=bias))


def feed_forward_shapes(bias: bool) -> Callable[[Sizes], dict[str, tuple[int, ...]]]:
    def shapes(s: Sizes) -> dict[str, tuple[int, ...]]:
        layer = Layer(sized(small(NOTEBOOK, ff_bias=bias), s), cross=False)
        return {n: tuple(p.shape) for n, p in layer.named_parameters() if n.startswith("linear")}

    return shapes


def logits_of(s: Sizes) -> dict[str, tuple[int, ...]]:
    return {"logits": (s.batch, s.length, s.tgt_words)}


def norm_shapes(s: Sizes) -> dict[str, tuple[int, ...]]:
    return {"weight": (s.d_model,), "bias": (s.d_model,)}


def branch(s: Sizes) -> dict[str, tuple[int, ...]]:
    return x_of(s) | {"s": (s.batch, s.length, s.d_model)}


TABLE = shapes_of(lambda s: nn.Embedding(s.src_words, s.d_model))
POSITIONS = shapes_of(lambda s: nn.Embedding(MAX_LEN, s.d_model))
