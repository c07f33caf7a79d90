"""What PyTorch makes of each component.

Where PyTorch has a class or function for it, that one is used; `transformer.py` fills in what
PyTorch lacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from inputs import Sizes, Values, hide_pads, past, sized
from torch import Tensor, nn
from torch.func import functional_call
from transformer import (
    Attention,
    Layer,
    Options,
    Stack,
    Transformer,
    loss_of,
    packed,
    sinusoid,
    to_pytorch_state,
)


def run_matmul(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
    return x["a"] @ x["b"]


def run_matmul_transposed(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
    return 0.25 * (x["a"].transpose(-1, -2) @ x["b"].transpose(-1, -2))


def run_linear(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
    return F.linear(x["x"], p["weight"], p.get("bias"))


def run_embedding(scale: bool, padding: int | None):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        y = F.embedding(ids["src"], p["weight"], padding_idx=padding)
        return y * math.sqrt(s.d_model) if scale else y

    return run


def run_positions(halves: bool = False):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        code = p["weight"][: s.length] if p else sinusoid(s.length, s.d_model, x["x"], halves)
        return x["x"] + code

    return run


def run_mask(name: str):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        if name == "padding_mask":
            return hide_pads(ids["tgt"], ids["src"]).double()
        if name == "look_ahead_mask":
            return torch.triu(torch.ones(s.batch, s.length, s.length), 1)
        return (~past(s) | hide_pads(ids["tgt"], ids["tgt"])).double()

    return run


def run_attention(kind: str):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        q, k, v, mask = x["q"], x["k"], x["v"], ids.get("mask")
        if kind == "sdpa":
            keep = None if mask is None else mask == 0
            return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        if kind == "keep":  # filled before the scale, as in the shared-head block
            scores = (q @ k.transpose(-1, -2)).masked_fill(mask == 0, -1e20) / math.sqrt(s.d_model)
        else:  # a row with every key hidden: the weights are even
            scores = q @ k.transpose(-1, -2) / math.sqrt(s.d_model // s.n_heads)
            scores = scores.masked_fill(mask == 1, -1e9)
        return torch.softmax(scores, -1) @ v

    return run


def run_multi_head(system: Options):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        o, hide = sized(system, s), ids["mask"] == (0 if system.mask_meaning == "keep" else 1)
        if o.shared_head_projections or o.bias_qkv != o.bias_out:
            module = Attention(o).to(x["query"])
            return functional_call(module, p, (x["query"], x["key"], x["value"], ~hide))
        module = nn.MultiheadAttention(o.d_model, o.n_heads, bias=o.bias_out, batch_first=True)
        blocked = hide.repeat_interleave(o.n_heads, 0)
        arguments = (x["query"], x["key"], x["value"])
        return functional_call(
            module, packed(p, ""), arguments, {"attn_mask": blocked, "need_weights": False}
        )[0]

    return run


def run_feed_forward(activation: Callable[[Tensor], Tensor]):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        hidden = activation(F.linear(x["x"], p["linear1.weight"], p.get("linear1.bias")))
        return F.linear(hidden, p["linear2.weight"], p.get("linear2.bias"))

    return run


def run_norm(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
    return F.layer_norm(x["x"], (s.d_model,), p.get("weight"), p.get("bias"), 1e-5)


def run_add_norm(placement: str):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        if placement == "pre":  # around a sublayer that squares its input
            return x["x"] + run_norm(p, x, ids, s) ** 2
        return run_norm(p, {"x": x["x"] + x["s"]}, ids, s)

    return run


def theirs(o: Options, cross: bool, stack: bool) -> nn.Module:
    """PyTorch's own encoder or decoder layer, or a stack of them."""
    kind = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    layer = kind(
        o.d_model,
        o.n_heads,
        o.d_ff,
        dropout=0.0,
        batch_first=True,
        norm_first=o.norm_placement == "pre",
    )
    if not stack:
        return layer
    norm = nn.LayerNorm(o.d_model) if o.norm_placement == "pre" else None
    if cross:
        return nn.TransformerDecoder(layer, o.n_decoder_layers, norm)
    return nn.TransformerEncoder(layer, o.n_encoder_layers, norm, enable_nested_tensor=False)


def ours(system: Options, cross: bool, stack: bool, s: Sizes, **changes) -> nn.Module:
    o = sized(system, s, **changes)
    return Stack(o, s.n_layers, cross) if stack else Layer(o, cross)


def run_layers(system: Options, cross: bool, stack: bool, **changes):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        o = sized(system, s, **changes)
        if o.shared_head_projections or not o.norm_affine:
            module = ours(system, cross, stack, s, **changes).to(x["x"])
            masks = [~(ids[m] != 0) for m in (("self_mask", "cross_mask") if cross else ("mask",))]
            if o.mask_meaning == "keep":
                masks = [~m for m in masks]
            arguments = (x["x"], masks[0], x["memory"], masks[1]) if cross else (x["x"], masks[0])
            return functional_call(module, p, arguments)
        module = theirs(o, cross, stack).to(x["x"])
        every_head = {m: ids[m].bool().repeat_interleave(o.n_heads, 0) for m in ids}
        if not cross:
            name = "mask" if stack else "src_mask"
            return functional_call(module, packed(p, ""), (x["x"],), {name: every_head["mask"]})
        masks = {"tgt_mask": every_head["self_mask"], "memory_mask": every_head["cross_mask"]}
        return functional_call(module, packed(p, ""), (x["x"], x["memory"]), masks)

    return run


def run_cross_entropy(smoothing: float):
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        return loss_of(x["logits"], ids["target"], 0, smoothing).reshape(1)

    return run


def run_model(system: Options, with_loss: bool, **changes):
    always = changes.pop("smoothed", False)

    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        o = sized(system, s, **changes)
        smoothing = 0.1 if x.get("smoothing", always) else 0.0
        module = Transformer(o).to(next(iter(p.values())))
        logits = functional_call(module, p, (ids["src"], ids["tgt"]))
        own = to_pytorch_state(o, p)
        if own is not None:  # PyTorch has this very class: it has the last word
            their_module, state = own
            src, tgt = (module_embed(module, p, side, ids[side]) for side in ("src", "tgt"))
            masks = {
                "src_key_padding_mask": ids["src"] == o.pad,
                "memory_key_padding_mask": ids["src"] == o.pad,
                "tgt_key_padding_mask": ids["tgt"] == o.pad,
                "tgt_mask": ~past(s),
            }
            y = functional_call(their_module.to(src), state, (src, tgt), masks)
            table = {"none": "output", "target": "tgt_embed", "all": "src_embed"}[o.tied_embeddings]
            check = F.linear(y, p[f"{table}.weight"], p.get("output.bias"))
            bound = 1e-12 if check.dtype == torch.float64 else 1e-4
            assert (check - logits).abs().max() <= bound * check.abs().max(), (
                "transformer.py differs"
            )
            logits = check
        if not with_loss:
            return logits
        return loss_of(logits, ids["target"], o.pad, smoothing).reshape(1)

    return run


def module_embed(module: Transformer, p: Values, side: str, ids: Tensor) -> Tensor:
    o = module.o
    table = p["src_embed.weight" if o.tied_embeddings == "all" else f"{side}_embed.weight"]
    x = F.embedding(ids, table, padding_idx=o.padding_id)
    x = x * math.sqrt(o.d_model) if o.scale_embedding else x
    return x + sinusoid(ids.shape[1], o.d_model, like=x)
