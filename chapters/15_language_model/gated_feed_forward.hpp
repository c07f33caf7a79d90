#pragma once

#include <string>

#include "lib/linear.hpp"

namespace abh {
// [swish gate]
/// What `swish_gate_backward` needs.
struct SwishGateCache {
    Way way = Way::fast;  ///< of the forward pass
    Tensor g, u;          ///< the inputs
};
struct SwishGateGradients {
    Tensor dg, du;
};
/// `swish(g) * u`, element by element.
/// @throws std::invalid_argument if the shapes differ
Tensor swish_gate(const Tensor& g, const Tensor& u, SwishGateCache* cache = nullptr);
/// @param da  gradient of the loss with respect to the result
SwishGateGradients swish_gate_backward(const Tensor& da, const SwishGateCache& cache);
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
        SwishGateCache gated;
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
