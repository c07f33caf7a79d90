#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

#include <algorithm>
#include <numeric>

#include "chapters/03_masks/masks.hpp"
#include "chapters/10_greedy_decoding/incremental_decoder.cuh"
#include "lib/eigen.hpp"
#include "lib/exp.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [begin]
IncrementalDecoder::IncrementalDecoder(const Transformer& model, const Ids& src)
    : model_(model), sentences_({src.dim(0)}) {
    const Index batch = src.dim(0), first_room = 16;
    const Tensor memory = model.encode(src);  // [B, Ls, d_model]
    for (const DecoderLayer& layer : model.decoder.layers) {
        const MultiHeadAttention& cross = layer.cross_attn;
        const Tensor k = cross.heads(cross.w_k, memory), v = cross.heads(cross.w_v, memory);
        const Shape room = k.shape().with(2, first_room);
        states_.push_back({{Tensor(room), Tensor(room)}, {k, v}});
    }
    const Ids queries({batch, 1});  // of them only their length matters
    cross_hidden_ =
        padding_mask(queries, src, model.options().pad).reshape({batch, 1, src.dim(1), 1});
    self_hidden_ = Mask({batch, 1, first_room, 1});
    std::iota(sentences_.values().begin(), sentences_.values().end(), 0);
}
// [room]
namespace {

/// `[B, H, room, d]` becomes `[B, H, 2 room, d]`: what these sentences have, and new room behind
/// it.
template <class T>
BasicTensor<T> doubled(const BasicTensor<T>& rows, const Ids& sentences) {
    BasicTensor<T> result(rows.shape().with(2, 2 * rows.dim(2)));
    if (on_cuda()) return cuda::copy_rows(result, rows, sentences), result;
    const Index heads = rows.dim(1), n = rows.dim(2) * rows.dim(3);
    for (Index b : sentences.values())
        for (Index i = b * heads; i < (b + 1) * heads; ++i)
            std::copy_n(rows.data() + i * n, n, result.data() + i * 2 * n);
    return result;
}

}  // namespace

void IncrementalDecoder::make_room() {
    if (length_ < self_hidden_.dim(2)) return;
    for (LayerState& state : states_)
        state.self = {doubled(state.self.k, sentences_), doubled(state.self.v, sentences_)};
    self_hidden_ = doubled(self_hidden_, sentences_);
}

/// The new word's rows `[n, H, 1, d_k]` go behind those of their sentences, `[B, H, room, d_k]`.
void IncrementalDecoder::put(KeyValues& rows, const Tensor& k, const Tensor& v) const {
    if (on_cuda()) return cuda::put(rows, k, v, length_, sentences_);
    const Index heads = k.dim(1), d = k.dim(3);
    Index from = 0;
    for (Index b : sentences_.values())
        for (Index h = 0; h < heads; ++h, from += d) {
            std::copy_n(k.data() + from, d, &rows.k(b, h, length_, 0));
            std::copy_n(v.data() + from, d, &rows.v(b, h, length_, 0));
        }
}
// [one query]
namespace {

void check_one(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
               const Ids& sentences) {
    require_shape(kv.v.shape(), kv.k.shape(), "attend_one", "v");
    require(q.rank() == 4 && kv.k.rank() == 4, "attend_one: q {} and k {} must have four axes",
            q.shape(), kv.k.shape());
    const Index n = sentences.size(), room = kv.k.dim(2);
    require_shape(q.shape(), kv.k.shape().with(0, n).with(2, 1), "attend_one", "q");
    require_shape(hidden.shape(), {kv.k.dim(0), 1, room, 1}, "attend_one", "hidden");
    require(length >= 1 && length <= room, "attend_one: {} keys where there is room for {}", length,
            room);
    for (Index b : sentences.values())
        require(b >= 0 && b < kv.k.dim(0), "attend_one: sentence {} of {}", b, kv.k.dim(0));
}

/// Softmax in place.
void to_weights(VectorMap scores) {
    scores *= 1 / exp_and_sum(scores.data(), scores.maxCoeff(), scores.data(), scores.size());
}

}  // namespace
// [one query: all heads]
Tensor attend_one(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                  const Ids& sentences, const AttentionOptions& o) {
    const Timed timed("attention of one query");
    check_one(q, kv, length, hidden, sentences);
    const Index n = q.dim(0), heads = q.dim(1), d = q.dim(3);
    const Real scale = scale_of(o, d), fill = fill_of(o, d);
    Tensor weights({n, heads, length}), y(q.shape());
    if (on_cuda()) return cuda::attend_one(y, weights, q, kv, hidden, sentences, scale, fill), y;
    const auto at = [&](const auto& rows, Index h, Index i) {  // where those of query i begin
        return &rows(sentences(i / heads), h, 0, 0);
    };
    const auto one_head = [&](Index i, Index next) {
        const ConstMatrixMap k(at(kv.k, i % heads, i), length, d);
        const ConstMatrixMap v(at(kv.v, i % heads, i), length, d);
        const std::uint8_t* const hide = at(hidden, 0, i);
        prefetch(v.data(), v.size());
        VectorMap w(weights.data() + i * length, length);
        w.noalias() = scale * k * ConstVectorMap(q.data() + i * d, d);
        for (Index j = 0; j < length; ++j)
            if (hide[j]) w(j) = fill;
        to_weights(w);
        prefetch(at(kv.k, next % heads, next), k.size());
        VectorMap(y.data() + i * d, d).noalias() = v.transpose() * w;
    };
    const Index grain = std::max<Index>(1, (1 << 14) / (length * d));  // enough to wake a thread
    parallel_ranges(n * heads, grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) one_head(i, std::min(i + 1, end - 1));
    });
    return y;
}
// [layer]
namespace {

/// `[n, 1, d_model]` as `[n, H, 1, d_k]`: of one row, the heads lie one behind the other.
Tensor heads_of_one(const Tensor& row, Index n_heads) {
    return row.reshape({row.dim(0), n_heads, 1, row.dim(2) / n_heads});
}

}  // namespace

Tensor IncrementalDecoder::attend(const MultiHeadAttention& attention, const Tensor& q,
                                  const KeyValues& kv, Index length, const Mask& hidden) const {
    const MultiHeadOptions& o = attention.options();
    const Tensor context = attend_one(heads_of_one(q, o.n_heads), kv, length, hidden, sentences_,
                                      o.attention);  // [n, H, 1, d_k]
    return attention.w_o.forward(context.reshape(q.shape()));
}

Tensor IncrementalDecoder::layer(const DecoderLayer& layer, LayerState& state,
                                 const Tensor& x) const {
    const MultiHeadAttention& self = layer.self_attn;
    const Tensor h1 = layer.norm1.before(x);  // [n, 1, d_model]
    const auto [q, k, v] = self.map_all(h1, h1, h1);
    const Index n_heads = self.options().n_heads;
    put(state.self, heads_of_one(k, n_heads), heads_of_one(v, n_heads));
    const Tensor s1 = attend(self, q, state.self, length_ + 1, self_hidden_);
    const Tensor x1 = layer.norm1.after(x, s1);

    const Tensor h2 = layer.norm2.before(x1);
    const Tensor s2 = attend(layer.cross_attn, layer.cross_attn.map(layer.cross_attn.w_q, h2),
                             state.cross, cross_hidden_.dim(2), cross_hidden_);
    const Tensor x2 = layer.norm2.after(x1, s2);

    const Tensor s3 = layer.ff.forward(layer.norm3.before(x2));
    return layer.norm3.after(x2, s3);  // [n, 1, d_model]
}
// [one word]
/// Hides the words that are pads, where the model does so.
void IncrementalDecoder::hide_pads(const Ids& words) {
    const bool hide = model_.options().mask_target_pads;
    const std::int32_t pad = model_.options().pad;
    if (on_cuda()) return cuda::hide_word(self_hidden_, words, pad, hide, length_, sentences_);
    for (Index r = 0; r < words.size(); ++r)
        self_hidden_(sentences_(r), 0, length_, 0) = hide && words(r, 0) == pad;
}

Tensor IncrementalDecoder::next(const std::vector<std::int32_t>& words) {
    const Index n = static_cast<Index>(words.size());
    require(n >= 1 && n == sentences_.size(), "incremental decoder: {} words for {} sentences", n,
            sentences_.size());
    Ids ids({n, 1});
    std::copy(words.begin(), words.end(), ids.data());
    const Tensor vectors = model_.tgt_embed.forward(ids);  // [n, 1, d_model]
    Tensor x = model_.tgt_positions.forward(vectors, nullptr, length_);

    make_room();
    hide_pads(ids);
    for (std::size_t i = 0; i < states_.size(); ++i)
        x = layer(model_.decoder.layers[i], states_[i], x);
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
    std::copy(sentences.begin(), sentences.end(), sentences_.data());
}

}  // namespace abh
