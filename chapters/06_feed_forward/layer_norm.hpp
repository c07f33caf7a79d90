#pragma once

#include <string>

#include "lib/parameter.hpp"
#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
struct LayerNormOptions {
    bool affine = true;  ///< gamma and beta are parameters; false: always 1 and 0
    Real eps = Real(1e-5);
};
// [layer norm]
/// Brings each row to mean 0 and variance 1, then stretches and shifts it:
///
///     y = gamma * (x - mean) / sqrt(var + eps) + beta
///
/// over the last axis, with the biased variance (divided by n), as PyTorch's `nn.LayerNorm`.
/// Ba, Kiros, Hinton 2016.
class LayerNorm {
public:
    struct Cache {
        Way way = Way::fast;    ///< of the forward pass
        Tensor normalized;      ///< (x - mean) / sqrt(var + eps), shape of `x`
        Tensor inverse_stddev;  ///< 1 / sqrt(var + eps), [rows]
    };

    /// @throws std::invalid_argument unless `d_model` is >= 1 and `eps` finite and >= 0
    explicit LayerNorm(Index d_model, LayerNormOptions options = {});

    /// @param x  `[..., d_model]`
    /// @return   the same shape
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradients of gamma and beta, if they are parameters.
    /// @param dy  gradient of the loss with respect to `y`
    /// @return    `dx`, the same shape
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Index d_model() const { return gamma.value.dim(0); }
    const LayerNormOptions& options() const { return options_; }

    Parameter gamma;  ///< [d_model], starts at 1
    Parameter beta;   ///< [d_model], starts at 0

private:
    LayerNormOptions options_;
};
// [operation]
/// What `LayerNorm::forward` computes. @throws std::invalid_argument unless `x` is `[..., d_model]`
Tensor layer_norm(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache);
/// What `LayerNorm::backward` computes.
Tensor layer_norm_backward(const Tensor& dy, LayerNorm& norm, const LayerNorm::Cache& cache);

}  // namespace abh
