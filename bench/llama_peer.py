"""Chapter 15's model in PyTorch, for pytorch_peer.py: the same as a Llama of transformers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Options:
    """The widths of SmolLM2-135M, with fewer layers and words."""

    words: int = 8000
    n_layers: int = 4
    d_model: int = 576
    n_heads: int = 9
    n_kv_heads: int = 3
    d_ff: int = 1536
    base: float = 10000.0


def angles(o: Options, length: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines, `[length, d_k]`."""
    d_k = o.d_model // o.n_heads
    frequency = 1 / o.base ** (torch.arange(0, d_k, 2) / d_k)
    angle = torch.outer(torch.arange(length), frequency).repeat(1, 2)
    return angle.cos(), angle.sin()


def rotate_half(x: Tensor) -> Tensor:
    left, right = x.chunk(2, -1)
    return torch.cat((-right, left), -1)


class Maps(nn.Module):
    """Linear maps of one input: one after another or, tuned, in one product."""

    def __init__(self, d_in: int, tuned: bool, **widths: int) -> None:
        super().__init__()
        self.widths = [*widths.values()] if tuned else None
        for name, width in ({"all": sum(self.widths)} if self.widths else widths).items():
            self.add_module(name, nn.Linear(d_in, width, bias=False))

    def forward(self, x: Tensor) -> list[Tensor]:
        if self.widths:
            return self.all(x).split(self.widths, -1)
        return [linear(x) for linear in self.children()]


class Attention(nn.Module):
    def __init__(self, o: Options, tuned: bool) -> None:
        super().__init__()
        self.d_k, self.shared = o.d_model // o.n_heads, o.n_heads // o.n_kv_heads
        narrow = o.n_kv_heads * self.d_k
        self.maps = Maps(o.d_model, tuned, q_proj=o.d_model, k_proj=narrow, v_proj=narrow)
        self.o_proj = nn.Linear(o.d_model, o.d_model, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = (y.unflatten(2, (-1, self.d_k)).transpose(1, 2) for y in self.maps(x))
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = k.repeat_interleave(self.shared, 1), v.repeat_interleave(self.shared, 1)
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(context.transpose(1, 2).flatten(2))


class Network(nn.Module):
    def __init__(self, o: Options, tuned: bool) -> None:
        super().__init__()
        self.maps = Maps(o.d_model, tuned, gate_proj=o.d_ff, up_proj=o.d_ff)
        self.down_proj = nn.Linear(o.d_ff, o.d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.maps(x)
        return self.down_proj(F.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, o: Options, tuned: bool) -> None:
        super().__init__()
        self.self_attn = Attention(o, tuned)
        self.mlp = Network(o, tuned)
        self.input_layernorm = nn.RMSNorm(o.d_model, eps=1e-5)
        self.post_attention_layernorm = nn.RMSNorm(o.d_model, eps=1e-5)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, o: Options, length: int, tuned: bool) -> None:
        super().__init__()
        self.o, self.tuned = o, tuned
        self.embed_tokens = nn.Embedding(o.words, o.d_model)
        nn.init.normal_(self.embed_tokens.weight, std=o.d_model**-0.5)
        self.layers = nn.ModuleList(Block(o, tuned) for _ in range(o.n_layers))
        self.norm = nn.RMSNorm(o.d_model, eps=1e-5)
        self.lm_head = nn.Linear(o.d_model, o.words, bias=False)
        self.lm_head.weight = self.embed_tokens.weight
        cos, sin = angles(o, length)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits `[B, L, words]`."""
        table = (self.cos, self.sin) if self.tuned else angles(self.o, ids.shape[1])
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, *table)
        return self.lm_head(self.norm(x))
