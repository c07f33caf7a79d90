#pragma once

// An attention of all heads with random inputs, and the sentences whose pads it hides.
#include <algorithm>
#include <vector>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "tests/gradients.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

/// Result and the three gradients.
using All = std::vector<abh::Tensor>;

/// Random q, k, v [B, L, h d_k] and a random gradient of the result.
struct Example {
    abh::Index n_heads;
    abh::Tensor q, k, v, dy;

    Example(abh::Index batch, abh::Index n_heads_, abh::Index lq, abh::Index lk, abh::Index d_k)
        : n_heads(n_heads_),
          q(random_tensor({batch, lq, n_heads * d_k}, 1)),
          k(random_tensor({batch, lk, n_heads * d_k}, 2)),
          v(random_tensor({batch, lk, n_heads * d_k}, 3)),
          dy(random_tensor({batch, lq, n_heads * d_k}, 4)) {}

    abh::Tensor forward(const abh::AttentionMask& mask, const abh::AttentionOptions& o = {}) const {
        return abh::attend_heads(q, k, v, n_heads, mask, o);
    }
    All run(const abh::AttentionMask& mask, const abh::AttentionOptions& o = {},
            abh::Tensor* weights = nullptr) const {
        abh::AttendHeadsCache cache;
        const abh::Tensor y = abh::attend_heads(q, k, v, n_heads, mask, o, &cache, weights);
        const abh::AttentionGradients d = abh::attend_heads_backward(dy, cache);
        return {y, d.dq, d.dk, d.dv};
    }
    void compare(const abh::AttentionMask& mask, const abh::AttentionOptions& o = {},
                 double bound = way_bound) const {
        same_in_every_way([&] { return run(mask, o); }, bound);
    }
    void differences(const abh::AttentionMask& mask, const abh::AttentionOptions& o = {}) const {
        check_trial(
            {.inputs = {{"q", q}, {"k", k}, {"v", v}},
             .forward = abh::proof::with_cache<abh::AttendHeadsCache>(
                 [&](auto* cache) { return abh::attend_heads(q, k, v, n_heads, mask, o, cache); },
                 [](const abh::Tensor& d_y, const auto& cache) {
                     const auto d = abh::attend_heads_backward(d_y, cache);
                     return abh::proof::Gradients{{"q", d.dq}, {"k", d.dk}, {"v", d.dv}};
                 })});
    }
};

/// Sentences of these numbers of words, and pads up to the longest or to `length`.
inline abh::Ids words(const std::vector<abh::Index>& counts, abh::Index length = 0) {
    for (abh::Index n : counts) length = std::max(length, n);
    abh::Ids ids = abh::Ids::zeros({static_cast<abh::Index>(counts.size()), length});
    for (std::size_t b = 0; b < counts.size(); ++b)
        for (abh::Index t = 0; t < counts[b]; ++t) ids(static_cast<abh::Index>(b), t) = 1;
    return ids;
}
