#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace abh {
// [begin]
IncrementalDecoder::IncrementalDecoder(const Transformer& model, const Ids& src, Index prefixes)
    : model_(model), sentences_({src.dim(0)}), places_({src.dim(0)}) {
    require(prefixes >= 1, "incremental decoder: room for {} prefixes, expected at least 1",
            prefixes);
    const Index batch = src.dim(0), first_room = 16;
    const Tensor memory = model.encode(src);  // [B, Ls, d_model]
    for (const DecoderLayer& layer : model.decoder.layers) {
        const MultiHeadAttention& cross = layer.cross_attn;
        const Index n_heads = cross.options().n_heads;
        const Tensor k = split_heads(cross.project(cross.w_k, memory), n_heads),
                     v = split_heads(cross.project(cross.w_v, memory), n_heads);
        const Shape room = k.shape().with(0, batch * prefixes).with(2, first_room);
        states_.push_back({{Tensor(room), Tensor(room)}, {k, v}});
    }
    cross_hidden_ =
        abh::hide_pads(src, model.options().pad).pads.reshape({batch, 1, src.dim(1), 1});
    self_hidden_ = Mask({batch * prefixes, 1, first_room, 1});
    std::ranges::fill(self_hidden_.values(), std::uint8_t{0});
    std::iota(sentences_.values().begin(), sentences_.values().end(), 0);
    std::iota(places_.values().begin(), places_.values().end(), 0);
}
// [room]
void IncrementalDecoder::make_room() {
    const Index room = self_hidden_.dim(2);
    if (length_ < room) return;
    for (LayerState& state : states_)
        state.self = {double_room(state.self.k, places_), double_room(state.self.v, places_)};
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
        if (words(i, 0) == model_.options().pad) {
            self_hidden_(std::as_const(places_)(i), 0, length_, 0) = 1;
            pads_said_ = true;
        }
}
// [attention]
namespace {

/// `[n, 1, d_model]` as `[n, H, 1, d_k]`: of one row, the heads lie one behind the other.
Tensor heads_of_one(const Tensor& row, Index n_heads) {
    return row.reshape({row.dim(0), n_heads, 1, row.dim(2) / n_heads});
}

}  // namespace

Tensor IncrementalDecoder::attend(const MultiHeadAttention& attention, const Tensor& q,
                                  const KeyValues& kv, Index length, const Mask& hidden,
                                  const Ids& places) const {
    const MultiHeadOptions& o = attention.options();
    const Tensor context = attend_cached(heads_of_one(q, o.n_heads), kv, length, hidden, places,
                                         o.attention);  // [n, H, 1, d_k]
    return attention.w_o.forward(context.reshape(q.shape()));
}

/// Keeps the new word's key and value, and looks at those of all words so far.
Tensor IncrementalDecoder::self_attention(const MultiHeadAttention& attention, KeyValues& kv,
                                          const Tensor& h) const {
    const Index n_heads = attention.options().n_heads;
    const Tensor q = attention.project(attention.w_q, h), k = attention.project(attention.w_k, h),
                 v = attention.project(attention.w_v, h);  // [n, 1, d_model]
    append(kv, heads_of_one(k, n_heads), heads_of_one(v, n_heads), length_, places_);
    return attend(attention, q, kv, length_ + 1, self_hidden_, places_);
}
// [one word]
Tensor IncrementalDecoder::next(const std::vector<std::int32_t>& words) {
    const Index n = static_cast<Index>(words.size());
    require(n >= 1 && n == sentences_.size(), "incremental decoder: {} words for {} prefixes", n,
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
                return attend(layer.cross_attn, q, state.cross, cross_hidden_.dim(2), cross_hidden_,
                              sentences_);
            });
    }
    ++length_;
    if (model_.decoder.norm) x = model_.decoder.norm->forward(x);
    return model_.output.forward(x);  // [n, 1, tgt_words]
}
// [select]
void IncrementalDecoder::select(const std::vector<std::int32_t>& parents) {
    const Ids sentences = sentences_, places = places_;  // of the parents
    const auto n = static_cast<Index>(parents.size());
    std::vector<bool> taken(static_cast<std::size_t>(self_hidden_.dim(0)));
    require(parents.size() <= taken.size(), "incremental decoder: {} prefixes, room for {}", n,
            taken.size());
    Ids new_sentences({n}), new_places({n});
    std::vector<Index> forks;
    for (Index i = 0; i < n; ++i) {
        const Index parent = parents[static_cast<std::size_t>(i)];
        require(parent >= 0 && parent < places.size(), "incremental decoder: no prefix {} of {}",
                parent, places.size());
        new_sentences(i) = sentences(parent);
        new_places(i) = places(parent);  // the first that goes on from it stays where it was
        const auto place = static_cast<std::size_t>(places(parent));
        if (taken[place]) forks.push_back(i);
        taken[place] = true;
    }
    std::vector<std::int32_t> from, to;
    for (const Index i : forks) {  // any other moves to a place that nobody holds
        from.push_back(new_places(i));
        const auto free = std::find(taken.begin(), taken.end(), false);
        *free = true;
        to.push_back(new_places(i) = static_cast<std::int32_t>(free - taken.begin()));
    }
    const bool all_stay = from.empty() && std::ranges::equal(new_places.values(), places.values());
    if (all_stay) return;
    fork(from, to);
    sentences_ = new_sentences;
    places_ = new_places;
}

/// What stands at places `from` stands at places `to` as well, pads included.
void IncrementalDecoder::fork(const std::vector<std::int32_t>& from,
                              const std::vector<std::int32_t>& to) {
    if (from.empty()) return;
    const auto n = static_cast<Index>(from.size());
    Ids source({n}), copy({n});
    std::ranges::copy(from, source.values().begin());
    std::ranges::copy(to, copy.values().begin());
    for (LayerState& state : states_) copy_places(state.self, length_, source, copy);
    if (!pads_said_) return;
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < length_; ++j)
            self_hidden_(copy(i), 0, j, 0) = self_hidden_(source(i), 0, j, 0);
}

}  // namespace abh
