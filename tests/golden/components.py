"""Every component of the book in PyTorch: what it is given, and what PyTorch makes of it.

Parameters go by the book's names. tests/proof/components.cpp has the same list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from inputs import (
    POSITIONS,
    TABLE,
    Sizes,
    Values,
    attention_mask,
    both_masks,
    branch,
    feed_forward_shapes,
    heads,
    ids_of_loss,
    ids_of_model,
    linear_shapes,
    logits_of,
    matmul_shapes,
    matmul_shapes_transposed,
    multi_head_mask,
    norm_shapes,
    nothing,
    query_key_value,
    shapes_of,
    sized,
    source_mask,
    src_ids,
    targets,
    x_of,
    x_of_source,
)
from language import (
    block_shapes,
    gated_shapes,
    grouped_shapes,
    heads_side_by_side,
    rms_norm_shapes,
    run_block,
    run_gated,
    run_grouped,
    run_rms_norm,
    run_rotary,
)
from results import (
    ours,
    run_add_norm,
    run_attention,
    run_cross_entropy,
    run_embedding,
    run_feed_forward,
    run_layers,
    run_linear,
    run_mask,
    run_matmul,
    run_matmul_transposed,
    run_model,
    run_multi_head,
    run_norm,
    run_positions,
)
from torch import Tensor
from transformer import (
    ARTICLE,
    MARIAN,
    NOTEBOOK,
    SHARED_HEADS,
    TOY,
    Attention,
    Options,
    Transformer,
    small,
)


@dataclass(frozen=True)
class Component:
    name: str
    parameters: Callable[[Sizes], dict[str, tuple[int, ...]]]
    inputs: Callable[[Sizes], dict[str, tuple[int, ...]]]
    ids: Callable[[Sizes], Values]
    run: Callable[[Values, Values, Values, Sizes], Tensor]


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


def model(name: str, system: Options, with_loss: bool, **changes) -> Component:
    plain = {key: value for key, value in changes.items() if key != "smoothed"}
    make = lambda s: Transformer(sized(system, s, **plain))
    ids = ids_of_loss if with_loss else ids_of_model
    return Component(name, shapes_of(make), nothing, ids, run_model(system, with_loss, **changes))


def multi_head(name: str, system: Options) -> Component:
    make = lambda s: Attention(sized(system, s))
    masks, run = multi_head_mask(system), run_multi_head(system)
    return Component(name, shapes_of(make), query_key_value, masks, run)


def grouped(name: str, sharing: str, pairing: str) -> Component:
    x, run = heads_side_by_side(sharing), run_grouped(sharing, pairing)
    return Component(name, grouped_shapes(sharing), x, nothing, run)


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
    Component("padding_mask", nothing, nothing, ids_of_model, run_mask("padding_mask")),
    Component("look_ahead_mask", nothing, nothing, ids_of_model, run_mask("look_ahead_mask")),
    Component("target_mask", nothing, nothing, ids_of_model, run_mask("target_mask")),
    Component("softmax", nothing, x_of, nothing, lambda p, x, ids, s: torch.softmax(x["x"], -1)),
    Component("attention", nothing, heads, nothing, run_attention("sdpa")),
    Component("attention_masked", nothing, heads, attention_mask("sdpa"), run_attention("sdpa")),
    Component("attention_keep", nothing, heads, attention_mask("keep"), run_attention("keep")),
    Component(
        "attention_hidden_row", nothing, heads, attention_mask("hidden_row"), run_attention("fill")
    ),
    multi_head("multi_head_attention", NOTEBOOK),
    multi_head("multi_head_attention_no_bias", NO_BIAS),
    multi_head("multi_head_attention_shared_maps", SHARED_HEADS),
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
    Component("rms_norm", rms_norm_shapes, x_of, nothing, run_rms_norm),
    Component(
        "rotary_neighbors", nothing, heads_side_by_side("none"), nothing, run_rotary("neighbors")
    ),
    Component("rotary_halves", nothing, heads_side_by_side("none"), nothing, run_rotary("halves")),
    Component("gated_feed_forward", gated_shapes, x_of, nothing, run_gated),
    grouped("grouped_attention", "pairs", "halves"),
    grouped("grouped_attention_one", "one", "neighbors"),
    grouped("grouped_attention_all", "none", "halves"),
    Component(
        "block",
        block_shapes("one"),
        heads_side_by_side("one"),
        nothing,
        run_block("one", "halves"),
    ),
]
