#pragma once

// Small models with random weights, and sentences for them, that chapter 10's tests share.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "chapters/09_training/transformer.hpp"
#include "lib/device.hpp"
#include "tests/support.hpp"

/// Sums of some tens of numbers of order one, taken in another order.
constexpr double round_off = in_double ? 1e-13 : 1e-5;
constexpr std::int32_t start = 8, no_end = -1;

/// Post-norm, of odd sizes: 7 source words, 9 target words, width 6, three heads.
inline abh::TransformerOptions small() {
    abh::TransformerOptions o;
    o.src_words = 7;
    o.tgt_words = 9;
    o.n_encoder_layers = 1;
    o.n_decoder_layers = 2;
    o.layer.attention.d_model = 6;
    o.layer.attention.n_heads = 3;
    o.layer.d_ff = 7;
    o.positions.max_len = 20;
    return o;
}

inline abh::TransformerOptions small_toy() {
    abh::TransformerOptions o = small();
    o.layer.attention.bias_qkv = o.layer.attention.bias_out = o.layer.ff_bias = false;
    o.layer.add_norm.norm.affine = false;
    o.output_bias = false;
    return o;
}

inline abh::TransformerOptions small_pre_norm() {
    abh::TransformerOptions o = small();
    o.layer.add_norm.placement = abh::NormPlacement::pre;
    o.embedding = {.scale = true, .padding_id = 0};
    return o;
}

/// Heads that share one projection, masks filled before scaling, learned positions.
inline abh::TransformerOptions small_shared_heads() {
    abh::TransformerOptions o = small();
    o.layer.attention.shared_head_projections = true;
    o.layer.attention.bias_qkv = false;
    o.layer.attention.attention = {.scale = abh::Real(1 / std::sqrt(6.0)),
                                   .fill = abh::Real(-1e20),
                                   .fill_place = abh::FillPlace::before_scale};
    o.positions.kind = abh::Positions::learned;
    return o;
}

inline abh::TransformerOptions small_future_only() {
    abh::TransformerOptions o = small_shared_heads();
    o.mask_target_pads = false;
    return o;
}

inline const std::vector<std::pair<const char*, abh::TransformerOptions>> kinds{
    {"post-norm with biases", small()},
    {"the toy's", small_toy()},
    {"pre-norm, scaled embedding", small_pre_norm()},
    {"shared heads, filled before scaling, learned positions", small_shared_heads()},
    {"shared heads, target pads not hidden", small_future_only()}};

/// A model with random weights, gammas and betas other than 1 and 0 among them.
inline abh::Transformer random_model(const abh::TransformerOptions& options, std::uint64_t seed) {
    abh::Random random(seed);
    abh::Transformer model(options, random);
    for (const abh::NamedParameter& p : parameters_of(model))
        p.parameter->value +=
            uniform(p.parameter->value.shape(), abh::Real(-0.5), abh::Real(0.5), random.stream());
    return model;
}

/// Where the processor plays the device, fewer models must do.
inline bool emulated() {
    return abh::cuda::emulated && abh::on_cuda();
}

inline std::uint64_t seeds(std::uint64_t all) {
    return emulated() ? 1 : all;
}

inline abh::Ids row_of(const std::vector<std::int32_t>& words) {
    abh::Ids ids({1, static_cast<abh::Index>(words.size())});
    std::copy(words.begin(), words.end(), ids.data());
    return ids;
}

inline const abh::Ids source = row_of({3, 1, 6, 2, 0, 0});

/// Sentences of 4, 6, 1, 5 and 2 words.
inline const std::vector<std::vector<std::int32_t>> sentences{
    {3, 1, 6, 2}, {5, 5, 1, 2, 4, 3}, {6}, {1, 2, 3, 4, 5}, {2, 6}};

/// All of them, each padded to the longest.
inline abh::Ids padded_batch() {
    abh::Ids ids = abh::Ids::zeros({5, 6});
    for (std::size_t b = 0; b < sentences.size(); ++b)
        std::copy(sentences[b].begin(), sentences[b].end(), &ids(b, 0));
    return ids;
}

/// The largest difference of two lists of one length.
inline double difference(const std::vector<abh::Real>& a, const std::vector<abh::Real>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max<double>(largest, std::abs(a[i] - b[i]));
    return largest;
}
