#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace abh {
// [begin]
IncrementalDecoder::IncrementalDecoder(const Transformer& model, const Ids& src)
    : model_(model), sentences_({src.dim(0)}) {
    const Index batch = src.dim(0), first_room = 16;
    const Tensor memory = model.encode(src);  // [B, Ls, d_model]
    for (const DecoderLayer& layer : model.decoder.layers) {
        const MultiHeadAttention& cross = layer.cross_attn;
        const Index n_heads = cross.options().n_heads;
        const Tensor k = split_heads(cross.project(cross.w_k, memory), n_heads),
                     v = split_heads(cross.project(cross.w_v, memory), n_heads);
        const Shape room = k.shape().with(2, first_room);
        states_.push_back({{Tensor(room), Tensor(room)}, {k, v}});
    }
    cross_hidden_ = model.source_mask(src).pads.reshape({batch, 1, src.dim(1), 1});
    self_hidden_ = Mask({batch, 1, first_room, 1});
    std::ranges::fill(self_hidden_.values(), std::uint8_t{0});
    std::iota(sentences_.values().begin(), sentences_.values().end(), 0);
}
// [room]
void IncrementalDecoder::make_room() {
    const Index room = self_hidden_.dim(2);
    if (length_ < room) return;
    for (LayerState& state : states_)
        state.self = {double_room(state.self.k, sentences_), double_room(state.self.v, sentences_)};
    Mask hidden({self_hidden_.dim(0), 1, 2 * room, 1});
    for (Index b = 0; b < hidden.dim(0); ++b)
        for (Index j = 0; j < 2 * room; ++j)
            hidden(b, 0, j, 0) = j < room ? self_hidden_(b, 0, j, 0) : std::uint8_t{0};
    self_hidden_ = hidden;
}

/// Hides the words that are pads, where the model does so. Without any, the mask stays as it is.
void IncrementalDecoder::hide_pads(const Ids& words) {
    if (!model_.options().mask_target_pads) return;
    for (Index i = 0; i < words.size(); ++i)
        if (words(i, 0) == model_.options().pad)
            self_hidden_(std::as_const(sentences_)(i), 0, length_, 0) = 1;
}
// [attention]
namespace {

/// `[n, 1, d_model]` as `[n, H, 1, d_k]`: of one row, the heads lie one behind the other.
Tensor heads_of_one(const Tensor& row, Index n_heads) {
    return row.reshape({row.dim(0), n_heads, 1, row.dim(2) / n_heads});
}

}  // namespace

Tensor IncrementalDecoder::attend(const MultiHeadAttention& attention, const Tensor& q,
                                  const KeyValues& kv, Index length, const Mask& hidden) const {
    const MultiHeadOptions& o = attention.options();
    const Tensor context = attend_cached(heads_of_one(q, o.n_heads), kv, length, hidden, sentences_,
                                         o.attention);  // [n, H, 1, d_k]
    return attention.w_o.forward(context.reshape(q.shape()));
}

/// Keeps the new word's key and value, and looks at those of all words so far.
Tensor IncrementalDecoder::self_attention(const MultiHeadAttention& attention, KeyValues& kv,
                                          const Tensor& h) const {
    const Index n_heads = attention.options().n_heads;
    const Tensor q = attention.project(attention.w_q, h), k = attention.project(attention.w_k, h),
                 v = attention.project(attention.w_v, h);  // [n, 1, d_model]
    append(kv, heads_of_one(k, n_heads), heads_of_one(v, n_heads), length_, sentences_);
    return attend(attention, q, kv, length_ + 1, self_hidden_);
}
// [one word]
Tensor IncrementalDecoder::next(const std::vector<std::int32_t>& words) {
    const Index n = static_cast<Index>(words.size());
    require(n >= 1 && n == sentences_.size(), "incremental decoder: {} words for {} sentences", n,
            sentences_.size());
    Ids ids({n, 1});
    std::copy(words.begin(), words.end(), ids.values().begin());
    const Tensor vectors = model_.tgt_embed.forward(ids);  // [n, 1, d_model]
    Tensor x = model_.tgt_positions.forward(vectors, nullptr, length_);

    make_room();
    hide_pads(ids);
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const DecoderLayer& layer = model_.decoder.layers[i];
        LayerState& state = states_[i];
        x = layer.around(
            x, [&](const Tensor& h) { return self_attention(layer.self_attn, state.self, h); },
            [&](const Tensor& h) {
                const Tensor q = layer.cross_attn.project(layer.cross_attn.w_q, h);
                return attend(layer.cross_attn, q, state.cross, cross_hidden_.dim(2),
                              cross_hidden_);
            });
    }
    ++length_;
    if (model_.decoder.norm) x = model_.decoder.norm->forward(x);
    return model_.output.forward(x);  // [n, 1, tgt_words]
}

void IncrementalDecoder::keep(const std::vector<std::int32_t>& sentences) {
    const std::span<const std::int32_t> now = this->sentences();
    require(std::includes(now.begin(), now.end(), sentences.begin(), sentences.end()),
            "incremental decoder: not some of the {} sentences that go on, ascending", now.size());
    if (sentences.size() == now.size()) return;
    sentences_ = Ids({static_cast<Index>(sentences.size())});
    std::copy(sentences.begin(), sentences.end(), sentences_.values().begin());
}

}  // namespace abh
