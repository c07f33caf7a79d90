#include "chapters/03_masks/masks.hpp"
#include "chapters/06_feed_forward/relu.hpp"
#include "tests/15_language_model/trials.hpp"
#include "tests/proof/models.hpp"
#include "tests/proof/proof.hpp"

namespace abh::proof {
namespace {

LayerOptions with(LayerOptions o, NormPlacement placement, Real dropout = 0,
                  Real dropout_after_norm = 0) {
    o.add_norm.placement = placement;
    o.add_norm.dropout = dropout;
    o.add_norm.dropout_after_norm = dropout_after_norm;
    return o;
}

/// Without dropout.
TransformerOptions plain(TransformerOptions o) {
    o.layer.add_norm.dropout = o.layer.add_norm.dropout_after_norm = o.positions.dropout = 0;
    return o;
}

}  // namespace

const std::vector<Component>& components() {
    using enum NormPlacement;
    using T = TransformerOptions;
    T pre_norm = plain(T::article()), tied = pre_norm, marian = pre_norm;
    pre_norm.layer.add_norm.placement = pre;
    pre_norm.embedding.padding_id = 0;
    tied.tied = Tied::target;
    // as Marian's models are: one table of words for all, swish, sines before cosines
    marian.tied = Tied::all;
    marian.layer.activation = Activation::swish;
    marian.positions.kind = Positions::sines_then_cosines;
    marian.mask_target_pads = false;
    const LayerOptions full = notebook_layer(), toy = toy_layer(), shared = shared_head_layer();
    constexpr Real p = Real(0.3);
    static const std::vector<Component> list = {
        {"matmul", 0, matmul_of(false)},
        {"matmul_transposed", 0, matmul_of(true)},
        {"linear", 0, linear(true)},
        {"linear_no_bias", 0, linear(false)},
        {"embedding", 1, embedding({})},
        {"embedding_scaled_padded", 1, embedding({.scale = true, .padding_id = 0})},
        {"positions_sinusoid", 2, positions(Positions::sinusoid, 0)},
        {"positions_halves", 2, positions(Positions::sines_then_cosines, 0)},
        {"positions_learned", 2, positions(Positions::learned, 0)},
        {"positions_dropout", 2, positions(Positions::learned, p), false},
        {"dropout", 2, dropout, false},
        {"padding_mask", 3,
         masks([](const Ids& src, const Ids& tgt) { return padding_mask(tgt, src); }), true, false},
        {"look_ahead_mask", 3,
         masks([](const Ids&, const Ids& tgt) { return look_ahead_mask(tgt); }), true, false},
        {"target_mask", 3, masks([](const Ids&, const Ids& tgt) {
             return mask_or(look_ahead_mask(tgt), padding_mask(tgt, tgt));
         }),
         true, false},
        {"softmax", 4, of_result(softmax, softmax_backward)},
        {"attention", 4, attention_of(false, false)},
        {"attention_masked", 4, attention_of(true, false)},
        {"attention_keep", 4, attention_of(true, true)},
        {"attention_hidden_row", 4, attention_of(true, false)},
        {"multi_head_attention", 5, multi_head(full.attention)},
        {"multi_head_attention_no_bias", 5, multi_head({.bias_qkv = false, .bias_out = false})},
        {"multi_head_attention_shared_maps", 5, multi_head(shared.attention)},
        {"relu", 6, of_result(relu, relu_backward)},
        {"swish", 6, of_result(swish, swish_backward, true)},
        {"feed_forward", 6, feed_forward(true)},
        {"feed_forward_no_bias", 6, feed_forward(false)},
        {"feed_forward_swish", 6, feed_forward(true, Activation::swish)},
        {"layer_norm", 6, layer_norm({})},
        {"layer_norm_fixed", 6, layer_norm({.affine = false})},
        {"add_norm_post", 6, add_norm({})},
        {"add_norm_pre", 6, add_norm({.placement = pre})},
        {"add_norm_dropout", 6, add_norm({.dropout = p, .dropout_after_norm = p}), false},
        {"encoder_layer", 7, encoder<EncoderLayer>(full)},
        {"encoder_layer_pre", 7, encoder<EncoderLayer>(with(full, pre))},
        {"encoder_layer_toy", 7, encoder<EncoderLayer>(toy)},
        {"encoder_layer_shared_heads", 7, encoder<EncoderLayer>(shared)},
        {"encoder_layer_dropout", 7, encoder<EncoderLayer>(with(full, post, p, p)), false},
        {"encoder", 7, encoder<Encoder>(full)},
        {"encoder_pre", 7, encoder<Encoder>(with(full, pre))},
        {"decoder_layer", 8, decoder<DecoderLayer>(full)},
        {"decoder_layer_pre", 8, decoder<DecoderLayer>(with(full, pre))},
        {"decoder_layer_toy", 8, decoder<DecoderLayer>(toy)},
        {"decoder_layer_shared_heads", 8, decoder<DecoderLayer>(shared)},
        {"decoder_layer_dropout", 8, decoder<DecoderLayer>(with(full, pre, p)), false},
        {"decoder", 8, decoder<Decoder>(full)},
        {"decoder_pre", 8, decoder<Decoder>(with(full, pre))},
        {"cross_entropy", 9, cross_entropy_of(0)},
        {"cross_entropy_smoothed", 9, cross_entropy_of(Real(0.1))},
        {"transformer_toy", 9, transformer(plain(T::toy()))},
        {"transformer_notebook", 9, transformer(plain(T::notebook()))},
        {"transformer_article", 9, transformer(plain(T::article()))},
        {"transformer_shared_heads", 9, transformer(plain(T::shared_heads()))},
        {"transformer_pre", 9, transformer(pre_norm)},
        {"transformer_tied", 9, transformer(tied)},
        {"transformer_marian", 9, transformer(marian)},
        {"transformer_dropout", 9, transformer(T::article()), false},
        {"loss_toy", 9, transformer(plain(T::toy()), true)},
        {"loss_notebook", 9, transformer(plain(T::notebook()), true)},
        {"loss_article", 9, transformer(plain(T::article()), true, Real(0.1))},
        {"loss_shared_heads", 9, transformer(plain(T::shared_heads()), true)},
        {"marian_loss", 9, transformer(marian, true, Real(0.1))},
        {"rms_norm", 15, rms_norm()},
        {"rotary_neighbors", 15, rotary(Pairing::neighbors)},
        {"rotary_halves", 15, rotary(Pairing::halves)},
        {"gated_feed_forward", 15, gated_feed_forward()},
        {"grouped_attention", 15, grouped_attention(Sharing::pairs, Pairing::halves)},
        {"grouped_attention_one", 15, grouped_attention(Sharing::one, Pairing::neighbors)},
        {"grouped_attention_all", 15, grouped_attention(Sharing::none, Pairing::halves)},
        {"block", 15, block(Sharing::one, Pairing::halves)},
        {"block_dropout", 15, block(Sharing::pairs, Pairing::halves, {.dropout = p}), false},
    };
    return list;
}

}  // namespace abh::proof
