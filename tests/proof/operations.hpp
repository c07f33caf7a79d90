#pragma once

// Trials of operations: products, embeddings, positions, masks, attention.
#include <cmath>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/linear.hpp"
#include "lib/matmul.hpp"
#include "tests/proof/trial.hpp"

namespace abh::proof {

/// Of a table of positions.
constexpr Index max_positions = 9;

inline Maker matmul_of(bool transposed) {
    return [=](const Sizes& s, Random& source) {
        const MatmulOptions o{transposed, transposed, transposed ? Real(0.25) : Real(1)};
        const Index m = transposed ? s.keys : s.length, k = transposed ? s.length : s.keys;
        const Tensor a = random({s.batch, m, k}, source);
        const Tensor b = random(
            transposed ? Shape{s.batch, s.d_ff, s.keys} : Shape{s.batch, s.keys, s.d_ff}, source);
        const auto forward = [=] {
            return Pass{matmul(a, b, o), [=](const Tensor& dy) {
                            const MatmulGradients d = matmul_backward(dy, a, b, o);
                            return Gradients{{"a", d.da}, {"b", d.db}};
                        }};
        };
        return Trial{.inputs = {{"a", a}, {"b", b}}, .forward = forward};
    };
}

inline Maker linear(bool bias) {
    return [=](const Sizes& s, Random& source) {
        return trial_of(std::make_shared<Linear>(s.d_model, s.d_ff, bias, source),
                        hidden_states(s, source));
    };
}

inline Maker embedding(const EmbeddingOptions& options) {
    return [=](const Sizes& s, Random& source) {
        const auto layer = std::make_shared<Embedding>(s.src_words, s.d_model, options, source);
        const Ids src = random_words(s.batch, s.keys, s.src_words, source);
        Trial trial{.ids = {{"src", src}}, .parameters = parameters_of(*layer)};
        if (options.padding_id == 0) trial.padded = {layer->table.value};
        trial.forward =
            with_cache<Embedding::Cache>([=](auto* cache) { return layer->forward(src, cache); },
                                         [=](const Tensor& dy, const auto& cache) {
                                             layer->backward(dy, cache);
                                             return Gradients();
                                         });
        return trial;
    };
}

/// @param first  position of the first vector
inline Maker positions(Positions kind, Real dropout, Index first = 0) {
    return [=](const Sizes& s, Random& source) {
        const PositionalEncodingOptions options{kind, max_positions, dropout};
        return trial_of(std::make_shared<PositionalEncoding>(s.d_model, options, source),
                        hidden_states(s, source), first);
    };
}

inline Trial dropout(const Sizes& s, Random& source) {
    return trial_of(std::make_shared<Dropout>(Real(0.3), source), hidden_states(s, source));
}

inline Maker masks(Mask (*mask)(const Ids& src, const Ids& tgt)) {
    return [=](const Sizes& s, Random& source) {
        const Ids src = random_words(s.batch, s.keys, s.src_words, source);
        const Ids tgt = random_words(s.batch, s.length, s.tgt_words, source);
        const auto forward = [=] {
            const Mask m = mask(src, tgt);
            Tensor y(m.shape());
            std::copy(m.values().begin(), m.values().end(), y.data());
            return Pass{y};
        };
        return Trial{.ids = {{"src", src}, {"tgt", tgt}}, .forward = forward};
    };
}

/// A function `y = forward(x)` whose backward needs dy and y, or x.
inline Maker of_result(Tensor (*function)(const Tensor&),
                       Tensor (*backward)(const Tensor&, const Tensor&), bool needs_x = false) {
    return [=](const Sizes& s, Random& source) {
        const Tensor x = hidden_states(s, source);
        const auto forward = [=] {
            const Tensor y = function(x);
            return Pass{y, [=, kept = way()](const Tensor& dy) {
                            const ScopedWay scoped(kept);  // there is no cache that remembers it
                            return Gradients{{"x", backward(dy, needs_x ? x : y)}};
                        }};
        };
        return Trial{.inputs = {{"x", x}}, .forward = forward};
    };
}

/// Attention under `mask()`, which is asked anew at each forward pass.
template <class F>
Trial attention_of(const Tensor& q, const Tensor& k, const Tensor& v, const F& mask,
                   const AttentionOptions& options) {
    return {.inputs = {{"q", q}, {"k", k}, {"v", v}},
            .forward = with_cache<AttentionCache>(
                [=](auto* cache) { return attention(q, k, v, mask(), options, cache); },
                [](const Tensor& dy, const auto& cache) {
                    const AttentionGradients d = attention_backward(dy, cache);
                    return Gradients{{"q", d.dq}, {"k", d.dk}, {"v", d.dv}};
                })};
}

/// @param keep  as in the shared-head block: a mask says what to keep, its fill comes before the
///              scale, which is that of all heads
inline Maker attention_of(bool masked, bool keep) {
    return [=](const Sizes& s, Random& source) {
        const Index d_k = s.d_model / s.n_heads;
        AttentionOptions options;
        if (keep)
            options = {.scale = 1 / std::sqrt(static_cast<Real>(s.d_model)),
                       .fill = Real(-1e20),
                       .fill_place = FillPlace::before_scale};
        const Tensor q = random({s.batch, s.n_heads, s.length, d_k}, source);
        const Tensor k = random({s.batch, s.n_heads, s.keys, d_k}, source);
        const Tensor v = random({s.batch, s.n_heads, s.keys, d_k}, source);
        if (!masked)
            return attention_of(
                q, k, v, [] { return Mask(); }, options);
        const Ids mask = random_mask({s.batch, 1, s.length, s.keys}, keep, source);
        Trial trial = attention_of(
            q, k, v, [=] { return as_mask(mask, keep); }, options);
        trial.ids = {{"mask", mask}};
        return trial;
    };
}

}  // namespace abh::proof
