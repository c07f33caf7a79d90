#pragma once

#include <string>

#include "lib/parameter.hpp"
#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [rms norm]
/// Divides each row by its size, then stretches it:
///
///     y = gamma * x / rms,    rms = sqrt(mean(x^2) + eps)
///
/// over the last axis, as PyTorch's `nn.RMSNorm`. Zhang, Sennrich 2019.
class RmsNorm {
public:
    struct Cache {
        Way way = Way::fast;  ///< of the forward pass
        Tensor normalized;    ///< x / rms, shape of `x`
        Tensor inverse_rms;   ///< [rows]
    };

    /// @throws std::invalid_argument unless `d_model` is >= 1 and `eps` finite and >= 0
    explicit RmsNorm(Index d_model, Real eps = Real(1e-5));

    /// @param x  `[..., d_model]`
    /// @return   the same shape
    /// @throws std::invalid_argument if `x` has another width
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradient of gamma.
    /// @param dy  gradient of the loss with respect to `y`
    /// @return    `dx`, the same shape
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Real eps() const { return eps_; }

    Parameter gamma;  ///< [d_model], starts at 1

private:
    Real eps_;
};
// [operation]
/// What `RmsNorm::forward` computes. @throws std::invalid_argument unless `x` is `[..., d_model]`
Tensor rms_norm(const Tensor& x, const RmsNorm& norm, RmsNorm::Cache* cache);
/// What `RmsNorm::backward` computes.
Tensor rms_norm_backward(const Tensor& dy, RmsNorm& norm, const RmsNorm::Cache& cache);

}  // namespace abh
