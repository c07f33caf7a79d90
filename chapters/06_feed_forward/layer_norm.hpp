#pragma once

#include <functional>
#include <string>

#include "lib/parameter.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [options]
struct LayerNormOptions {
    bool learned = true;  ///< gain and shift are parameters; false: 1 and 0 for ever
    Real eps = Real(1e-5);
};
// [layer norm]
/// Each row brought to mean 0 and variance 1, then stretched and shifted:
///
///     y = gain * (x - mean) / sqrt(var + eps) + shift
///
/// over the last axis, with the biased variance (divided by n), as PyTorch's `nn.LayerNorm`.
/// Ba, Kiros, Hinton 2016.
class LayerNorm {
public:
    struct Cache {
        Tensor normalized;      ///< (x - mean) / sqrt(var + eps), shape of `x`
        Tensor inverse_stddev;  ///< 1 / sqrt(var + eps), [rows]
    };

    /// @throws std::invalid_argument unless `d_model` is >= 1 and `eps` finite and >= 0
    explicit LayerNorm(Index d_model, LayerNormOptions options = {});

    /// @param x  `[..., d_model]`
    /// @return   the same shape
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradients of gain and shift.
    /// @param dy  gradient of the loss with respect to `y`
    /// @return    `dx`, the same shape
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    /// @throws std::invalid_argument unless `x` is `[..., d_model]`
    void require_width(const Tensor& x) const;
    const LayerNormOptions& options() const { return options_; }
    // [layer norm: some rows at a time]
    /// Called with rows `begin` to `end - 1` of `x`, on any thread.
    using SomeRows = std::function<void(Index begin, Index end, Tensor& x)>;
    /// `forward` of an `x` whose rows `fill` writes just before they are read, while they are in a
    /// core's cache. `x` is used up: its memory becomes the cache's.
    Tensor forward_filled(Tensor x, Cache* cache, const SomeRows& fill) const;
    /// `backward`, whose rows of `dx` `use` reads as soon as they are there.
    Tensor backward_used(const Tensor& dy, const Cache& cache, const SomeRows& use);

    Parameter gain;   ///< [d_model], starts at 1
    Parameter shift;  ///< [d_model], starts at 0

private:
    Real forward_row(const Real* x, Real* normalized, Real* y) const;
    void backward_row(const Real* dy, const Real* z, Real inverse_stddev, Real* dx) const;

    LayerNormOptions options_;
};

}  // namespace abh
