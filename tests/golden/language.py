"""The parts of a language model of today (chapter 15) in PyTorch: their shapes, and their results."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from inputs import Sizes, Values
from torch import Tensor

BASE = 100.0  # of the angles; at 10000 those of the second pair would be next to nothing
FIRST = 2  # position of the first row that `rotary` turns

Shapes = dict[str, tuple[int, ...]]


def head_width(s: Sizes) -> int:
    """The width of a head that can be turned."""
    return max(s.d_model // s.n_heads // 2 * 2, 2)


def heads_of(sharing: str, s: Sizes) -> tuple[int, int]:
    """How many heads of queries, and how many of keys and values."""
    return {
        "one": (s.n_heads, 1),
        "pairs": (2 * s.n_heads, s.n_heads),
        "none": (s.n_heads, s.n_heads),
    }[sharing]


# Shapes -------------------------------------------------------------------------------------------


def rms_norm_shapes(s: Sizes) -> Shapes:
    return {"weight": (s.d_model,)}


def heads_side_by_side(sharing: str) -> Callable[[Sizes], Shapes]:
    return lambda s: {"x": (s.batch, s.length, heads_of(sharing, s)[0] * head_width(s))}


def gated_shapes(s: Sizes, width: int | None = None) -> Shapes:
    width = width or s.d_model
    return {
        "gate_proj.weight": (s.d_ff, width),
        "up_proj.weight": (s.d_ff, width),
        "down_proj.weight": (width, s.d_ff),
    }


def grouped_shapes(sharing: str) -> Callable[[Sizes], Shapes]:
    def shapes(s: Sizes) -> Shapes:
        width, narrow = (n * head_width(s) for n in heads_of(sharing, s))
        return {
            "q_proj.weight": (width, width),
            "k_proj.weight": (narrow, width),
            "v_proj.weight": (narrow, width),
            "o_proj.weight": (width, width),
        }

    return shapes


def block_shapes(sharing: str) -> Callable[[Sizes], Shapes]:
    def shapes(s: Sizes) -> Shapes:
        width = heads_of(sharing, s)[0] * head_width(s)
        return {
            "input_layernorm.weight": (width,),
            **{f"self_attn.{n}": shape for n, shape in grouped_shapes(sharing)(s).items()},
            "post_attention_layernorm.weight": (width,),
            **{f"mlp.{n}": shape for n, shape in gated_shapes(s, width).items()},
        }

    return shapes


# Results ------------------------------------------------------------------------------------------


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def turn(x: Tensor, pairing: str, first: int) -> Tensor:
    """Rotary positions of [B, H, L, d]."""
    d = x.shape[-1]
    frequencies = BASE ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angles = torch.outer(torch.arange(first, first + x.shape[-2], dtype=x.dtype), frequencies)
    if pairing == "neighbors":  # a pair is a complex number, as in Meta's code
        z = torch.view_as_complex(x.unflatten(-1, (d // 2, 2)).contiguous())
        return torch.view_as_real(z * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    angles = torch.cat([angles, angles], -1)  # two halves, as in the transformers library
    left, right = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-right, left], -1) * angles.sin()


def split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def join(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(-2)


def gated(x: Tensor, p: Values) -> Tensor:
    hidden = F.silu(F.linear(x, p["gate_proj.weight"])) * F.linear(x, p["up_proj.weight"])
    return F.linear(hidden, p["down_proj.weight"])


def grouped(x: Tensor, p: Values, heads: tuple[int, int], pairing: str) -> Tensor:
    q = turn(split(F.linear(x, p["q_proj.weight"]), heads[0]), pairing, 0)
    k = turn(split(F.linear(x, p["k_proj.weight"]), heads[1]), pairing, 0)
    v = split(F.linear(x, p["v_proj.weight"]), heads[1])
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return F.linear(join(y), p["o_proj.weight"])


def below(p: Values, prefix: str) -> Values:
    return {n.removeprefix(prefix): v for n, v in p.items() if n.startswith(prefix)}


def run_rms_norm(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
    return rms_norm(x["x"], p["weight"])


def run_rotary(pairing: str):
    return lambda p, x, ids, s: join(turn(split(x["x"], s.n_heads), pairing, FIRST))


def run_gated(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
    return gated(x["x"], p)


def run_grouped(sharing: str, pairing: str):
    return lambda p, x, ids, s: grouped(x["x"], p, heads_of(sharing, s), pairing)


def run_block(sharing: str, pairing: str):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        h = rms_norm(x["x"], p["input_layernorm.weight"])
        x1 = x["x"] + grouped(h, below(p, "self_attn."), heads_of(sharing, s), pairing)
        return x1 + gated(rms_norm(x1, p["post_attention_layernorm.weight"]), below(p, "mlp."))

    return run
