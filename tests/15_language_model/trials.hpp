#pragma once

// Trials of the parts of a language model of today.
#include <algorithm>

#include "chapters/15_language_model/block.hpp"
#include "tests/proof/trial.hpp"

namespace abh::proof {

/// How many heads of keys and values there are.
enum class Sharing {
    one,    ///< one for all heads of queries
    pairs,  ///< one for two
    none    ///< one for each
};

/// The width of a head that can be turned.
inline Index head_width(const Sizes& s) {
    return std::max<Index>(s.d_model / s.n_heads / 2 * 2, 2);
}

inline GroupedAttentionOptions grouped(Sharing sharing, Pairing pairing, const Sizes& s) {
    const Index heads = sharing == Sharing::pairs ? 2 * s.n_heads : s.n_heads;
    return {.d_model = heads * head_width(s),
            .n_heads = heads,
            .n_kv_heads = sharing == Sharing::one ? 1 : s.n_heads,
            .rotary = RotaryOptions{.base = 100, .pairing = pairing}};
}

inline Maker rms_norm() {
    return [](const Sizes& s, Random& source) {
        return trial_of(shaken(std::make_shared<RmsNorm>(s.d_model), source),
                        hidden_states(s, source));
    };
}

inline Maker rotary(Pairing pairing) {
    return [=](const Sizes& s, Random& source) {
        const RotaryOptions options{.base = 100, .pairing = pairing};
        const Tensor x = random({s.batch, s.length, s.n_heads * head_width(s)}, source);
        const auto backward = [=](const Tensor& dy) {
            return Gradients{{"x", rotate_backward(dy, s.n_heads, options, 2)}};
        };
        return Trial{.inputs = {{"x", x}}, .forward = [=] {
                         return Pass{rotate(x, s.n_heads, options, 2), backward};
                     }};
    };
}

inline Maker gated_feed_forward() {
    return [](const Sizes& s, Random& source) {
        return trial_of(std::make_shared<GatedFeedForward>(s.d_model, s.d_ff, source),
                        hidden_states(s, source));
    };
}

inline Maker grouped_attention(Sharing sharing, Pairing pairing) {
    return [=](const Sizes& s, Random& source) {
        const GroupedAttentionOptions o = grouped(sharing, pairing, s);
        return trial_of(std::make_shared<GroupedAttention>(o, source),
                        random({s.batch, s.length, o.d_model}, source));
    };
}

/// @param options  all but attention and `d_ff`
inline Maker block(Sharing sharing, Pairing pairing, const BlockOptions& options = {}) {
    return [=](const Sizes& s, Random& source) {
        BlockOptions o = options;
        o.attention = grouped(sharing, pairing, s);
        o.d_ff = s.d_ff;
        return trial_of(shaken(std::make_shared<Block>(o, source), source),
                        random({s.batch, s.length, o.attention.d_model}, source));
    };
}

}  // namespace abh::proof
