#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

#include <algorithm>
#include <numeric>

namespace abh {
// [begin]
namespace {

/// 0..n-1
Ids first_numbers(Index n) {
    Ids numbers({n});
    std::iota(numbers.values().begin(), numbers.values().end(), 0);
    return numbers;
}

}  // namespace

IncrementalDecoder::IncrementalDecoder(const Transformer& model, const Ids& src)
    : model_(model), sentences_(first_numbers(src.dim(0))), prefixes_(sentences_) {
    const Index batch = src.dim(0);
    const Tensor memory = model.encode(src);  // [B, Ls, d_model]
    for (const DecoderLayer& layer : model.decoder.layers) {
        const MultiHeadAttention& cross = layer.cross_attn;
        const Index n_heads = cross.options().n_heads;
        const Tensor k = split_heads(cross.project(cross.w_k, memory), n_heads),
                     v = split_heads(cross.project(cross.w_v, memory), n_heads);
        const Tensor no_words(k.shape().with(2, 0));
        states_.push_back({{no_words, no_words}, {k, v}});
    }
    cross_hidden_ = hide_pads(src, model.options().pad).pads.reshape({batch, 1, src.dim(1), 1});
    self_hidden_ = Mask({batch, 1, 0, 1});
}
// [one query]
namespace {

/// Reads `[n, 1, d_model]` as `[n, H, 1, d_k]`: within a row the heads follow one another.
Tensor heads_of_one(const Tensor& row, Index n_heads) {
    return row.reshape({row.dim(0), n_heads, 1, row.dim(2) / n_heads});
}

Tensor attend(const MultiHeadAttention& attention, const Tensor& q, const KeyValues& kv,
              Index length, const Mask& hidden, const Ids& rows) {
    const MultiHeadOptions& o = attention.options();
    const Tensor context = attend_cached(heads_of_one(q, o.n_heads), kv, length, hidden, rows,
                                         o.attention);  // [n, H, 1, d_k]
    return attention.w_o.forward(context.reshape(q.shape()));
}

}  // namespace
// [attention]
/// Keeps the new word's key and value, and attends to those of all words so far.
Tensor IncrementalDecoder::self_attention(const MultiHeadAttention& attention, KeyValues& kv,
                                          const Tensor& h) const {
    const Index n_heads = attention.options().n_heads;
    const Tensor q = attention.project(attention.w_q, h), k = attention.project(attention.w_k, h),
                 v = attention.project(attention.w_v, h);  // [n, 1, d_model]
    append(kv, length_, heads_of_one(k, n_heads), heads_of_one(v, n_heads));
    return attend(attention, q, kv, length_ + 1, self_hidden_, prefixes_);
}

/// Asks the source, whose keys and values have been there from the beginning.
Tensor IncrementalDecoder::cross_attention(const MultiHeadAttention& attention, const KeyValues& kv,
                                           const Tensor& h) const {
    const Tensor q = attention.project(attention.w_q, h);  // [n, 1, d_model]
    return attend(attention, q, kv, cross_hidden_.dim(2), cross_hidden_, sentences_);
}
// [one word]
/// Sends the new word through the stack, as one row.
Tensor IncrementalDecoder::row(const Ids& words) {
    const Tensor vectors = model_.tgt_embed.forward(words);  // [n, 1, d_model]
    Tensor x = model_.tgt_positions.forward(vectors, nullptr, length_);
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const DecoderLayer& layer = model_.decoder.layers[i];
        LayerState& kept = states_[i];
        x = layer.around(
            x, [&](const Tensor& h) { return self_attention(layer.self_attn, kept.self, h); },
            [&](const Tensor& h) { return cross_attention(layer.cross_attn, kept.cross, h); });
    }
    if (model_.decoder.norm) x = model_.decoder.norm->forward(x);
    return model_.output.forward(x);  // [n, 1, tgt_words]
}
// [next]
Tensor IncrementalDecoder::next(const std::vector<std::int32_t>& words) {
    const Index n = static_cast<Index>(words.size()), room = self_hidden_.dim(2);
    require(n >= 1 && n == sentences_.size(), "incremental decoder: {} words for {} prefixes", n,
            sentences_.size());
    Ids ids({n, 1});
    std::copy(words.begin(), words.end(), ids.values().begin());
    if (length_ == room) gather(prefixes_, std::max<Index>(16, 2 * room));
    if (model_.options().mask_target_pads)
        for (Index i = 0; i < n; ++i)
            self_hidden_(i, 0, length_, 0) = ids(i, 0) == model_.options().pad;
    const Tensor logits = row(ids);
    ++length_;
    return logits;
}
// [select]
void IncrementalDecoder::select(const std::vector<std::int32_t>& parents) {
    const Ids old = sentences_;
    Ids rows({static_cast<Index>(parents.size())}), sentences(rows.shape());
    bool all_stay = rows.size() == old.size();
    for (Index i = 0; i < rows.size(); ++i) {
        const std::int32_t parent = parents[static_cast<std::size_t>(i)];
        require(parent >= 0 && parent < old.size(),
                "incremental decoder: parent {}, but there are {} prefixes", parent, old.size());
        rows(i) = parent;
        sentences(i) = old(parent);
        all_stay = all_stay && parent == i;
    }
    if (all_stay) return;
    gather(rows, self_hidden_.dim(2));
    sentences_ = sentences;
    prefixes_ = first_numbers(rows.size());
}

/// Prefix i becomes what prefix `parents[i]` was, including its pads, with room for `room` words.
void IncrementalDecoder::gather(const Ids& parents, Index room) {
    for (LayerState& state : states_) state.self = abh::gather(state.self, length_, parents, room);
    const Mask old = self_hidden_;
    self_hidden_ = Mask({parents.size(), 1, room, 1});
    for (Index i = 0; i < parents.size(); ++i)
        for (Index j = 0; j < room; ++j)
            self_hidden_(i, 0, j, 0) = j < length_ ? old(parents(i), 0, j, 0) : std::uint8_t{0};
}

}  // namespace abh
