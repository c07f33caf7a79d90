#pragma once

#include <string>

#include "lib/linear.hpp"

namespace abh {
// [gated feed-forward]
/// Three linear maps, of which two run side by side and one opens or closes the other:
///
///     y = down(swish(gate(x)) * up(x))
///
/// for each position on its own, without biases. Shazeer 2020 (SwiGLU).
class GatedFeedForward {
public:
    struct Cache {
        Linear::Cache gate, up, down;
        Tensor g, u, s;  ///< gate(x), up(x) and swish(g), [B, L, d_ff]
    };

    GatedFeedForward(Index d_model, Index d_ff, Random& random);

    /// @param x  `[B, L, d_model]`
    /// @return   the same shape
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradients of the three maps.
    /// @param dy  gradient of the loss with respect to the result
    /// @return    `dx`, the same shape
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Linear gate, up;  ///< d_model to d_ff
    Linear down;      ///< d_ff to d_model
};

}  // namespace abh
