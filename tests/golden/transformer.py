"""The book's Transformer as an ordinary PyTorch module.

Every option of the book's own model has its place here, and `state_dict` has the names and layouts of
a checkpoint of the book, so `load_state_dict` takes one as it is. `Options` reads the JSON that a
checkpoint carries in its notes. `to_pytorch_state` turns one into that of PyTorch's own
`nn.Transformer`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Options:
    """One field for each option of the book's model, under the same name."""

    src_words: int = 11
    tgt_words: int = 13
    n_encoder_layers: int = 6
    n_decoder_layers: int = 6
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    bias_qkv: bool = True
    bias_out: bool = True
    shared_head_projections: bool = False
    attention_scale: float = 0.0  # 0: 1 / sqrt(d_k)
    mask_meaning: str = "hide"
    mask_fill: float = -1e9
    mask_fill_place: str = "after_scale"
    ff_bias: bool = True
    activation: str = "relu"
    norm_placement: str = "post"
    norm_affine: bool = True
    norm_eps: float = 1e-5
    dropout: float = 0.0
    dropout_after_norm: float = 0.0
    scale_embedding: bool = False
    padding_id: int | None = None
    embedding_deviation: float = 1.0  # before training
    positions: str = "sinusoid"
    max_len: int = 5000
    position_dropout: float = 0.0
    output_bias: bool = True
    pad: int = 0
    mask_target_pads: bool = True
    tied_embeddings: str = "none"

    @staticmethod
    def read(text: str) -> Options:
        return Options(**json.loads(text))


# The systems of the four source texts at their own size.
TOY = Options(
    src_words=11,
    tgt_words=12,
    bias_qkv=False,
    bias_out=False,
    ff_bias=False,
    norm_affine=False,
    position_dropout=0.1,
    output_bias=False,
)
NOTEBOOK = Options(src_words=6, tgt_words=9, position_dropout=0.1)
ARTICLE = Options(
    src_words=1000, tgt_words=1000, scale_embedding=True, dropout=0.1, position_dropout=0.1
)
SHARED_HEADS = Options(
    src_words=10,
    tgt_words=10,
    d_model=256,
    d_ff=1024,
    bias_qkv=False,
    shared_head_projections=True,
    attention_scale=1 / 16,
    mask_meaning="keep",
    mask_fill=-1e20,
    mask_fill_place="before_scale",
    positions="learned",
    max_len=100,
    mask_target_pads=False,
)
# As Marian's models are: one table of words for all, swish, sines before cosines.
MARIAN = Options(
    src_words=13,
    tgt_words=13,
    activation="swish",
    scale_embedding=True,
    positions="sines_then_cosines",
    mask_target_pads=False,
    tied_embeddings="all",
)


def sinusoid(length: int, d_model: int, like: Tensor, halves: bool = False) -> Tensor:
    position = torch.arange(length)[:, None].double()
    frequency = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10000.0) / d_model))
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)[:, : d_model // 2]
    if halves:
        table = torch.cat((table[:, 0::2], table[:, 1::2]), dim=1)
    return table.to(like)


class Attention(nn.Module):
    """Multi-head attention; `keep` is true where a query may look, `[B, Lq, Lk]`."""

    def __init__(self, o: Options) -> None:
        super().__init__()
        self.o = o
        width = o.d_model // o.n_heads if o.shared_head_projections else o.d_model
        self.w_q = nn.Linear(width, width, bias=o.bias_qkv)
        self.w_k = nn.Linear(width, width, bias=o.bias_qkv)
        self.w_v = nn.Linear(width, width, bias=o.bias_qkv)
        self.w_o = nn.Linear(o.d_model, o.d_model, bias=o.bias_out)

    def heads(self, linear: nn.Linear, x: Tensor) -> Tensor:
        cut = (*x.shape[:2], self.o.n_heads, self.o.d_model // self.o.n_heads)
        y = linear(x.reshape(cut)) if self.o.shared_head_projections else linear(x).reshape(cut)
        return y.transpose(1, 2)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor) -> Tensor:
        o, hide = self.o, ~keep[:, None]
        scale = o.attention_scale or 1 / math.sqrt(o.d_model // o.n_heads)
        scores = self.heads(self.w_q, query) @ self.heads(self.w_k, key).transpose(-1, -2)
        if o.mask_fill_place == "before_scale":
            scores = scores.masked_fill(hide, o.mask_fill) * scale
        else:
            scores = (scores * scale).masked_fill(hide, o.mask_fill)
        context = torch.softmax(scores, -1) @ self.heads(self.w_v, value)
        return self.w_o(context.transpose(1, 2).reshape(query.shape))


class Layer(nn.Module):
    """An encoder layer, or, with `cross`, a decoder layer."""

    def __init__(self, o: Options, cross: bool) -> None:
        super().__init__()
        self.pre = o.norm_placement == "pre"
        self.activation = F.silu if o.activation == "swish" else F.relu
        self.branch_dropout = nn.Dropout(o.dropout)
        self.norm_dropout = nn.Dropout(o.dropout_after_norm)
        self.self_attn = Attention(o)
        if cross:
            self.multihead_attn = Attention(o)
        self.linear1 = nn.Linear(o.d_model, o.d_ff, bias=o.ff_bias)
        self.linear2 = nn.Linear(o.d_ff, o.d_model, bias=o.ff_bias)
        for i in range(1, 4 if cross else 3):
            norm = nn.LayerNorm(o.d_model, o.norm_eps, elementwise_affine=o.norm_affine)
            self.add_module(f"norm{i}", norm)

    def around(self, norm: nn.LayerNorm, x: Tensor, sublayer) -> Tensor:
        if self.pre:
            return x + self.branch_dropout(sublayer(norm(x)))
        return self.norm_dropout(norm(x + self.branch_dropout(sublayer(x))))

    def forward(self, x: Tensor, keep: Tensor, memory=None, keep_memory=None) -> Tensor:
        x = self.around(self.norm1, x, lambda h: self.self_attn(h, h, h, keep))
        if memory is not None:
            cross = lambda h: self.multihead_attn(h, memory, memory, keep_memory)
            x = self.around(self.norm2, x, cross)
        last = self.norm2 if memory is None else self.norm3
        return self.around(last, x, lambda h: self.linear2(self.activation(self.linear1(h))))


class Stack(nn.Module):
    def __init__(self, o: Options, n_layers: int, cross: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(o, cross) for _ in range(n_layers))
        if o.norm_placement == "pre":
            self.norm = nn.LayerNorm(o.d_model, o.norm_eps, elementwise_affine=o.norm_affine)

    def forward(self, x: Tensor, *masks_and_memory: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, *masks_and_memory)
        return self.norm(x) if hasattr(self, "norm") else x


class Transformer(nn.Module):
    def __init__(self, o: Options) -> None:
        super().__init__()
        self.o = o
        self.src_embed = nn.Embedding(o.src_words, o.d_model, padding_idx=o.padding_id)
        self.tgt_embed = nn.Embedding(o.tgt_words, o.d_model, padding_idx=o.padding_id)
        if o.positions == "learned":
            self.src_positions = nn.Embedding(o.max_len, o.d_model)
            self.tgt_positions = nn.Embedding(o.max_len, o.d_model)
        self.position_dropout = nn.Dropout(o.position_dropout)
        self.encoder = Stack(o, o.n_encoder_layers, cross=False)
        self.decoder = Stack(o, o.n_decoder_layers, cross=True)
        self.output = nn.Linear(o.d_model, o.tgt_words, bias=o.output_bias)
        if o.tied_embeddings == "all":
            self.tgt_embed.weight = self.src_embed.weight
        if o.tied_embeddings != "none":
            self.output.weight = self.tgt_embed.weight

    def embed(self, side: str, ids: Tensor) -> Tensor:
        o, length = self.o, ids.shape[1]
        x = getattr(self, f"{side}_embed")(ids) * (math.sqrt(o.d_model) if o.scale_embedding else 1)
        if o.positions == "none":
            return self.position_dropout(x)
        if o.positions == "learned":
            code = getattr(self, f"{side}_positions").weight[:length]
        else:
            code = sinusoid(length, o.d_model, x, halves=o.positions == "sines_then_cosines")
        return self.position_dropout(x + code)

    def keep_words(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (keys != self.o.pad)[:, None, :].expand(-1, queries.shape[1], -1)

    def encode(self, src: Tensor) -> Tensor:
        return self.encoder(self.embed("src", src), self.keep_words(src, src))

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        length = tgt.shape[1]
        past = torch.ones(length, length, dtype=torch.bool).tril().expand(len(tgt), -1, -1)
        keep = past & self.keep_words(tgt, tgt) if self.o.mask_target_pads else past
        y = self.decoder(self.embed("tgt", tgt), keep, memory, self.keep_words(tgt, src))
        return self.output(y)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits `[B, Lt, tgt_words]`."""
        return self.decode(tgt, self.encode(src), src)


def packed(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The part under `prefix.` in the names of PyTorch's own classes: `nn.MultiheadAttention` keeps
    the maps of queries, keys and values one below the other, in `in_proj_weight`."""
    result: dict[str, Tensor] = {}
    for name, value in state.items():
        if not name.startswith(prefix):
            continue
        name = name[len(prefix) :]
        if ".w_o." in name or name.startswith("w_o."):
            result[name.replace("w_o.", "out_proj.")] = value
        elif "w_q." in name:
            parts = [state[prefix + name.replace("w_q.", f"w_{x}.")] for x in "qkv"]
            result[name.replace("w_q.", "in_proj_")] = torch.cat(parts)
        elif "w_k." not in name and "w_v." not in name:
            result[name] = value
    return result


def to_pytorch_state(o: Options, state: dict[str, Tensor]) -> tuple[nn.Transformer, dict] | None:
    """PyTorch's own `nn.Transformer` for these options, and the part of `state` that is its own, under
    its names. None where that class lacks an option: it has biases everywhere, a learned norm, a map
    for each head, and hides the pads of the target."""
    biases = o.bias_qkv and o.bias_out and o.ff_bias
    if not biases or not o.norm_affine or o.shared_head_projections or not o.mask_target_pads:
        return None
    module = nn.Transformer(
        o.d_model,
        o.n_heads,
        o.n_encoder_layers,
        o.n_decoder_layers,
        o.d_ff,
        o.dropout,
        F.silu if o.activation == "swish" else F.relu,
        layer_norm_eps=o.norm_eps,
        batch_first=True,
        norm_first=o.norm_placement == "pre",
    )
    if o.norm_placement == "post":  # PyTorch adds a last norm in both cases
        module.encoder.norm = module.decoder.norm = None
    return module, packed(
        {n: v for n, v in state.items() if n.startswith(("encoder.", "decoder."))}, ""
    )


def loss_of(logits: Tensor, target: Tensor, pad: int, smoothing: float = 0.0) -> Tensor:
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        target.reshape(-1),
        ignore_index=pad,
        label_smoothing=smoothing,
    )


def small(o: Options, **changes) -> Options:
    """The same system in another size."""
    return replace(o, **changes)
