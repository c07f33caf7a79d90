#include "chapters/10_greedy_decoding/greedy_decoding.hpp"

#include <algorithm>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

namespace abh {
// [check]
namespace {

void check(const Transformer& model, const Ids& src, const DecodingOptions& options) {
    require(src.rank() == 2 && src.dim(0) == 1 && src.dim(1) >= 1,
            "greedy decoding: src has shape {}, expected [1, Ls] with Ls >= 1", src.shape());
    require(src.dim(1) <= model.src_positions.max_len(),
            "greedy decoding: the sentence has {} words, the model takes at most {}", src.dim(1),
            model.src_positions.max_len());
    require(options.max_words >= 1, "greedy decoding: max_words is {}, expected at least 1",
            options.max_words);
    require(options.start != model.options().pad || !model.options().mask_target_pads,
            "greedy decoding: start symbol {} is padding, which the decoder hides", options.start);
}

/// The number of words after which we stop: the model has a position for each word that it reads.
Index limit(const Transformer& model, const DecodingOptions& options) {
    return std::min(options.max_words, model.tgt_positions.max_len());
}
// [choose]
/// Appends the likeliest word of the last row of `logits`. Returns false at the end symbol.
bool append_likeliest(const Tensor& logits, const DecodingOptions& options, Translation& result) {
    const Tensor p = softmax(logits);  // [1, t, tgt_words]
    const auto row = p.values().last(static_cast<std::size_t>(logits.dim(2)));
    const auto best = std::max_element(row.begin(), row.end());
    const auto word = static_cast<std::int32_t>(best - row.begin());
    result.probabilities.push_back(*best);
    result.finished = word == options.end;
    if (!result.finished) result.ids.push_back(word);
    return !result.finished;
}

}  // namespace
// [greedy]
Translation greedy_decode(const Transformer& model, const Ids& src, const DecodingOptions& options,
                          bool with_maps) {
    check(model, src, options);
    Transformer::Cache cache;  // never read: a layer drops out where it is given a cache
    Transformer::Cache* const training = options.dropout ? &cache : nullptr;
    Translation result;
    Transformer::Maps* const maps = with_maps ? &result.maps : nullptr;

    const Tensor memory = model.encode(src, training, maps);  // [1, Ls, d_model]
    do {
        Ids prefix({1, static_cast<Index>(result.ids.size()) + 1});  // [1, t]
        prefix(0, 0) = options.start;
        std::copy(result.ids.begin(), result.ids.end(), prefix.data() + 1);
        const Tensor logits = model.decode(prefix, memory, src, training, maps);
        if (!append_likeliest(logits, options, result)) break;
    } while (static_cast<Index>(result.ids.size()) < limit(model, options));
    return result;
}
// [cached: begin]
IncrementalDecoder::IncrementalDecoder(const Transformer& model, const Ids& src) : model_(model) {
    const Tensor memory = model.encode(src);  // [1, Ls, d_model]
    cross_mask_ = model.source_mask(Ids({1, 1}, {0}), src);
    for (const DecoderLayer& layer : model.decoder.layers) {
        const MultiHeadAttention& cross = layer.cross_attn;
        states_.push_back(
            {Tensor(), Tensor(), cross.heads(cross.w_k, memory), cross.heads(cross.w_v, memory)});
    }
}
// [cached: mask]
/// The new word's row of the mask: of what came before it hides the pads, and there is no future.
Mask IncrementalDecoder::self_mask() const {
    if (!model_.options().mask_target_pads) return Mask();  // nothing is hidden
    Ids keys({1, static_cast<Index>(words_.size())});       // [1, t]
    std::copy(words_.begin(), words_.end(), keys.data());
    return model_.source_mask(Ids({1, 1}, {0}), keys);  // [1, 1, t]; of the query only its length
}
// [cached: append]
namespace {

/// `[1, H, t, d_k]` and `[1, H, 1, d_k]` one after the other along the third axis.
Tensor append_row(const Tensor& rows, const Tensor& row) {
    if (rows.empty()) return row;
    const Index heads = row.dim(1), t = rows.dim(2), d = row.dim(3);
    Tensor result({1, heads, t + 1, d});
    for (Index h = 0; h < heads; ++h) {
        std::copy_n(rows.data() + h * t * d, t * d, result.data() + h * (t + 1) * d);
        std::copy_n(row.data() + h * d, d, result.data() + (h * (t + 1) + t) * d);
    }
    return result;
}

}  // namespace
// [cached: layer]
Tensor IncrementalDecoder::layer(const DecoderLayer& layer, LayerState& state, const Mask& mask,
                                 const Tensor& x) const {
    const MultiHeadAttention &self = layer.self_attn, &cross = layer.cross_attn;
    const Tensor h1 = layer.norm1.before(x);                            // [1, 1, d_model]
    state.self_k = append_row(state.self_k, self.heads(self.w_k, h1));  // [1, H, t, d_k]
    state.self_v = append_row(state.self_v, self.heads(self.w_v, h1));  // [1, H, t, d_k]
    const Tensor s1 = self.attend(self.heads(self.w_q, h1), state.self_k, state.self_v, mask);
    const Tensor x1 = layer.norm1.after(x, s1);

    const Tensor h2 = layer.norm2.before(x1);
    const Tensor s2 =
        cross.attend(cross.heads(cross.w_q, h2), state.cross_k, state.cross_v, cross_mask_);
    const Tensor x2 = layer.norm2.after(x1, s2);

    const Tensor s3 = layer.ff.forward(layer.norm3.before(x2));
    return layer.norm3.after(x2, s3);  // [1, 1, d_model]
}
// [cached: one word]
Tensor IncrementalDecoder::next(std::int32_t word) {
    const Index position = static_cast<Index>(words_.size());
    words_.push_back(word);
    const Mask mask = self_mask();                                        // [1, 1, t]
    const Tensor vector = model_.tgt_embed.forward(Ids({1, 1}, {word}));  // [1, 1, d_model]
    Tensor x = model_.tgt_positions.forward(vector, nullptr, position);
    for (std::size_t i = 0; i < states_.size(); ++i)
        x = layer(model_.decoder.layers[i], states_[i], mask, x);
    if (model_.decoder.norm) x = model_.decoder.norm->forward(x);
    return model_.output.forward(x);  // [1, 1, tgt_words]
}
// [cached: greedy]
Translation greedy_decode_cached(const Transformer& model, const Ids& src,
                                 const DecodingOptions& options) {
    check(model, src, options);
    require(!options.dropout, "greedy decoding: dropout cannot stay on with a key-value cache");
    Translation result;
    IncrementalDecoder decoder(model, src);
    std::int32_t word = options.start;
    while (append_likeliest(decoder.next(word), options, result) &&
           static_cast<Index>(result.ids.size()) < limit(model, options))
        word = result.ids.back();
    return result;
}
// [cost]
Index decoder_multiply_adds(const TransformerOptions& o, Index src_words, Index words,
                            bool cached) {
    const MultiHeadOptions& a = o.layer.attention;
    const Index d = a.d_model;
    const Index map = a.shared_head_maps ? d * d / a.n_heads : d * d;  // q, k or v of one row
    const Index row = 4 * map + 2 * d * d + 2 * d * o.layer.d_ff;      // all maps of one row
    const Index memory = 2 * map * src_words;                          // cross keys and values
    Index layer = cached ? memory : 0, output = 0;
    for (Index t = 1; t <= words; ++t) {
        const Index rows = cached ? 1 : t;
        layer += rows * (row + 2 * d * (t + src_words)) + (cached ? 0 : memory);
        output += rows * d * o.tgt_words;
    }
    return o.n_decoder_layers * layer + output;
}

}  // namespace abh
