// One call of attend_heads with random inputs, shared by its tests.
#pragma once

#include <vector>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "tests/support.hpp"

namespace abh {

/// Random q, k, v [B, L, h d_k] and a random dy for attend_heads' result.
struct AttendHeadsExample {
    Index n_heads;
    Tensor q, k, v, dy;

    AttendHeadsExample(Index batch, Index n_heads_, Index lq, Index lk, Index d_k)
        : n_heads(n_heads_),
          q(random_tensor({batch, lq, n_heads * d_k}, 1)),
          k(random_tensor({batch, lk, n_heads * d_k}, 2)),
          v(random_tensor({batch, lk, n_heads * d_k}, 3)),
          dy(random_tensor({batch, lq, n_heads * d_k}, 4)) {}

    /// The result and the three gradients.
    std::vector<Tensor> run(const AttentionMask& mask, const AttentionOptions& options = {},
                            Tensor* weights = nullptr) const {
        AttendHeadsCache cache;
        const Tensor y = attend_heads(q, k, v, n_heads, mask, options, &cache, weights);
        const AttentionGradients d = attend_heads_backward(dy, cache);
        return {y, d.dq, d.dk, d.dv};
    }
};

}  // namespace abh
