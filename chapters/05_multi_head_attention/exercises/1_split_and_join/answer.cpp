// Exercise 05.1: split and join heads.
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// Cuts each word's row into one piece for each head.
/// @param x        [B, L, H * d_k]
/// @param n_heads  H, which divides the last axis
/// @return         [B, H, L, d_k]
Tensor split_heads(const Tensor& x, Index n_heads) {
    const Index d_k = x.dim(2) / n_heads;
    Tensor y({x.dim(0), n_heads, x.dim(1), d_k});
    // solution
    for (Index b = 0; b < y.dim(0); ++b)
        for (Index h = 0; h < n_heads; ++h)
            for (Index t = 0; t < y.dim(2); ++t)
                for (Index a = 0; a < d_k; ++a) y(b, h, t, a) = x(b, t, h * d_k + a);
    // stub
    // throw std::logic_error("not written yet");
    // end
    return y;
}

/// The inverse of `split_heads`.
/// @param x  [B, H, L, d_k]
/// @return   [B, L, H * d_k]
Tensor join_heads(const Tensor& x) {
    const Index d_k = x.dim(3);
    Tensor y({x.dim(0), x.dim(2), x.dim(1) * d_k});
    // solution
    for (Index b = 0; b < x.dim(0); ++b)
        for (Index h = 0; h < x.dim(1); ++h)
            for (Index t = 0; t < x.dim(2); ++t)
                for (Index a = 0; a < d_k; ++a) y(b, t, h * d_k + a) = x(b, h, t, a);
    // stub
    // throw std::logic_error("not written yet");
    // end
    return y;
}

}  // namespace abh::mine
