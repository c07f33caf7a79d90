#pragma once

#include <string>

#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [linear]
/// The linear map `y = x W^T + b` over the last axis, like PyTorch's `nn.Linear`.
///
/// Starts with weight and bias uniform in +-1/sqrt(d_in), PyTorch's default.
class Linear {
public:
    struct Cache {
        Way way = Way::fast;  ///< of the forward pass
        Tensor x;             ///< the input, [..., d_in]
    };

    /// @throws std::invalid_argument unless both sizes are >= 1
    Linear(Index d_in, Index d_out, bool bias, Random& random);

    /// @param x      `[..., d_in]`
    /// @param cache  filled for `backward`; leave it out at inference
    /// @return       `[..., d_out]`
    /// @throws std::invalid_argument unless the last axis of `x` is d_in
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradients of weight and bias.
    /// @param dy  gradient of the loss with respect to `y`, `[..., d_out]`
    /// @return    `dx`, `[..., d_in]`
    /// @throws std::invalid_argument if `dy` has another shape
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Index d_in() const { return weight.stored ? weight.stored->d_in() : weight.value.dim(1); }
    Index d_out() const { return weight.stored ? weight.stored->d_out() : weight.value.dim(0); }
    bool has_bias() const { return !bias.value.empty(); }

    Parameter weight;  ///< [d_out, d_in]
    Parameter bias;    ///< [d_out], or empty
};

}  // namespace abh
