"""Every component of the book in PyTorch: what it is given, and what PyTorch makes of it.

Where PyTorch has a class or function for a component, that one is used; `transformer.py` fills in
what PyTorch lacks. Parameters go by the book's names. tests/proof/components.cpp has the same list.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from transformer import (
    ARTICLE,
    MARIAN,
    NOTEBOOK,
    SHARED_HEADS,
    TOY,
    Attention,
    Layer,
    Options,
    Stack,
    Transformer,
    loss_of,
    packed,
    sinusoid,
    small,
    to_pytorch_state,
)

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


@dataclass(frozen=True)
class Component:
    name: str
    parameters: Callable[[Sizes], dict[str, tuple[int, ...]]]
    inputs: Callable[[Sizes], dict[str, tuple[int, ...]]]
    ids: Callable[[Sizes], Values]
    run: Callable[[Values, Values, Values, Sizes], Tensor]


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


# Runs ---------------------------------------------------------------------------------------------


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


def attention_mask(kind: str) -> Callable[[Sizes], Values]:
    def ids(s: Sizes) -> Values:
        hide = hide_pads(target(s), source(s))[:, None].clone()
        if kind == "hidden_row":
            hide[:, :, s.length // 2] = True
        return {"mask": ~hide if kind == "keep" else hide}

    return ids


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


def multi_head_mask(system: Options) -> Callable[[Sizes], Values]:
    def ids(s: Sizes) -> Values:
        hide = hide_pads(target(s), source(s))
        return {"mask": ~hide if system.mask_meaning == "keep" else hide}

    return ids


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


def layers(name: str, system: Options, cross: bool, stack: bool, **changes) -> Component:
    def masks(s: Sizes) -> Values:
        found = both_masks(s) if cross else source_mask(s)
        return {m: ~v for m, v in found.items()} if system.mask_meaning == "keep" else found

    def inputs(s: Sizes) -> dict[str, tuple[int, ...]]:
        return x_of(s) | {"memory": (s.batch, s.keys, s.d_model)} if cross else x_of_source(s)

    make = lambda s: ours(system, cross, stack, s, **changes)
    return Component(
        name, shapes_of(make), inputs, masks, run_layers(system, cross, stack, **changes)
    )


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


def model(name: str, system: Options, with_loss: bool, **changes) -> Component:
    plain = {key: value for key, value in changes.items() if key != "smoothed"}
    make = lambda s: Transformer(sized(system, s, **plain))
    ids = ids_of_loss if with_loss else ids_of_model
    return Component(name, shapes_of(make), nothing, ids, run_model(system, with_loss, **changes))


def mask_shapes(name: str) -> Component:
    def run(p: Values, x: Values, ids: Values, s: Sizes) -> Tensor:
        if name == "padding_mask":
            return hide_pads(ids["tgt"], ids["src"]).double()
        if name == "look_ahead_mask":
            return torch.triu(torch.ones(s.batch, s.length, s.length), 1)
        return (~past(s) | hide_pads(ids["tgt"], ids["tgt"])).double()

    return Component(name, nothing, nothing, ids_of_model, run)


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


def targets(s: Sizes) -> Values:
    return {"target": next_words(s)}


def src_ids(s: Sizes) -> Values:
    return {"src": source(s)}


TABLE = shapes_of(lambda s: nn.Embedding(s.src_words, s.d_model))
POSITIONS = shapes_of(lambda s: nn.Embedding(MAX_LEN, s.d_model))
NO_BIAS = small(NOTEBOOK, bias_qkv=False, bias_out=False)

COMPONENTS = [
    Component("matmul", nothing, matmul_shapes, nothing, run_matmul),
    Component(
        "matmul_transposed", nothing, matmul_shapes_transposed, nothing, run_matmul_transposed
    ),
    Component("linear", linear_shapes(True), x_of, nothing, run_linear),
    Component("linear_no_bias", linear_shapes(False), x_of, nothing, run_linear),
    Component("embedding", TABLE, nothing, src_ids, run_embedding(False, None)),
    Component("embedding_scaled_padded", TABLE, nothing, src_ids, run_embedding(True, 0)),
    Component("positions_sinusoid", nothing, x_of, nothing, run_positions()),
    Component("positions_halves", nothing, x_of, nothing, run_positions(halves=True)),
    Component("positions_learned", POSITIONS, x_of, nothing, run_positions()),
    mask_shapes("padding_mask"),
    mask_shapes("look_ahead_mask"),
    mask_shapes("target_mask"),
    Component("softmax", nothing, x_of, nothing, lambda p, x, ids, s: torch.softmax(x["x"], -1)),
    Component("attention", nothing, heads, nothing, run_attention("sdpa")),
    Component("attention_masked", nothing, heads, attention_mask("sdpa"), run_attention("sdpa")),
    Component("attention_keep", nothing, heads, attention_mask("keep"), run_attention("keep")),
    Component(
        "attention_hidden_row", nothing, heads, attention_mask("hidden_row"), run_attention("fill")
    ),
    Component(
        "multi_head_attention",
        shapes_of(lambda s: Attention(sized(NOTEBOOK, s))),
        query_key_value,
        multi_head_mask(NOTEBOOK),
        run_multi_head(NOTEBOOK),
    ),
    Component(
        "multi_head_attention_no_bias",
        shapes_of(lambda s: Attention(sized(NO_BIAS, s))),
        query_key_value,
        multi_head_mask(NO_BIAS),
        run_multi_head(NO_BIAS),
    ),
    Component(
        "multi_head_attention_shared_maps",
        shapes_of(lambda s: Attention(sized(SHARED_HEADS, s))),
        query_key_value,
        multi_head_mask(SHARED_HEADS),
        run_multi_head(SHARED_HEADS),
    ),
    Component("relu", nothing, x_of, nothing, lambda p, x, ids, s: F.relu(x["x"])),
    Component("swish", nothing, x_of, nothing, lambda p, x, ids, s: F.silu(x["x"])),
    Component("feed_forward", feed_forward_shapes(True), x_of, nothing, run_feed_forward(F.relu)),
    Component(
        "feed_forward_no_bias", feed_forward_shapes(False), x_of, nothing, run_feed_forward(F.relu)
    ),
    Component(
        "feed_forward_swish", feed_forward_shapes(True), x_of, nothing, run_feed_forward(F.silu)
    ),
    Component("layer_norm", norm_shapes, x_of, nothing, run_norm),
    Component("layer_norm_fixed", nothing, x_of, nothing, run_norm),
    Component("add_norm_post", norm_shapes, branch, nothing, run_add_norm("post")),
    Component("add_norm_pre", norm_shapes, x_of, nothing, run_add_norm("pre")),
    layers("encoder_layer", NOTEBOOK, cross=False, stack=False),
    layers("encoder_layer_pre", NOTEBOOK, cross=False, stack=False, norm_placement="pre"),
    layers("encoder_layer_toy", TOY, cross=False, stack=False),
    layers("encoder_layer_shared_heads", SHARED_HEADS, cross=False, stack=False),
    layers("encoder", NOTEBOOK, cross=False, stack=True),
    layers("encoder_pre", NOTEBOOK, cross=False, stack=True, norm_placement="pre"),
    layers("decoder_layer", NOTEBOOK, cross=True, stack=False),
    layers("decoder_layer_pre", NOTEBOOK, cross=True, stack=False, norm_placement="pre"),
    layers("decoder_layer_toy", TOY, cross=True, stack=False),
    layers("decoder_layer_shared_heads", SHARED_HEADS, cross=True, stack=False),
    layers("decoder", NOTEBOOK, cross=True, stack=True),
    layers("decoder_pre", NOTEBOOK, cross=True, stack=True, norm_placement="pre"),
    Component("cross_entropy", nothing, logits_of, targets, run_cross_entropy(0.0)),
    Component("cross_entropy_smoothed", nothing, logits_of, targets, run_cross_entropy(0.1)),
    model("transformer_toy", TOY, with_loss=False),
    model("transformer_notebook", NOTEBOOK, with_loss=False),
    model("transformer_article", ARTICLE, with_loss=False),
    model("transformer_shared_heads", SHARED_HEADS, with_loss=False),
    model("transformer_pre", ARTICLE, with_loss=False, norm_placement="pre", padding_id=0),
    model("transformer_tied", ARTICLE, with_loss=False, tied_embeddings="target"),
    model("transformer_marian", MARIAN, with_loss=False),
    model("loss_toy", TOY, with_loss=True),
    model("loss_notebook", NOTEBOOK, with_loss=True),
    model("loss_article", ARTICLE, with_loss=True, smoothed=True),
    model("loss_shared_heads", SHARED_HEADS, with_loss=True),
    model("marian_loss", MARIAN, with_loss=True, smoothed=True),
]
