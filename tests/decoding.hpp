#pragma once

// Small models with random weights that chapter 10's tests share.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "tests/sentences.hpp"
#include "tests/transformers.hpp"
#include "tests/ways.hpp"

constexpr std::int32_t start = 8, no_end = -1;

/// 7 source words, 9 target words, one layer that encodes, two that decode.
inline abh::TransformerOptions sized(abh::TransformerOptions o) {
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

inline abh::TransformerOptions small() {
    return sized({});
}

inline abh::TransformerOptions small_toy() {
    return sized(toy_like());
}

inline std::vector<std::pair<const char*, abh::TransformerOptions>> all_kinds() {
    abh::TransformerOptions future_only = sized(shared_head_like()), shared = future_only;
    shared.mask_target_pads = true;
    return {{"post-norm with biases", small()},
            {"the toy's", small_toy()},
            {"pre-norm, scaled embedding", sized(paper_like(abh::NormPlacement::pre))},
            {"shared heads, filled before scaling, learned positions", shared},
            {"shared heads, target pads not hidden", future_only}};
}

inline const auto kinds = all_kinds();

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
inline std::uint64_t seeds(std::uint64_t all) {
    return emulated() ? 1 : all;
}

inline const abh::Ids source = row_of({3, 1, 6, 2, 0, 0});

/// Its words, its probabilities, and whether it came to its end.
inline std::vector<abh::Tensor> numbers_of(const abh::Translation& t) {
    abh::Tensor words({static_cast<abh::Index>(t.ids.size())}),
        probabilities({static_cast<abh::Index>(t.probabilities.size())});
    std::copy(t.ids.begin(), t.ids.end(), words.data());
    std::copy(t.probabilities.begin(), t.probabilities.end(), probabilities.data());
    return {words, probabilities, abh::Tensor({1}, {abh::Real(t.finished)})};
}

inline std::vector<abh::Tensor> numbers_of(const std::vector<abh::Translation>& translations) {
    std::vector<abh::Tensor> all;
    for (const abh::Translation& t : translations)
        for (const abh::Tensor& part : numbers_of(t)) all.push_back(part);
    return all;
}

/// The largest difference of two lists of one length.
inline double difference(const std::vector<abh::Real>& a, const std::vector<abh::Real>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max<double>(largest, std::abs(a[i] - b[i]));
    return largest;
}
