#pragma once

#include <span>
#include <string>

#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [linear]
/// The linear map `y = x W^T + b` over the last axis, as PyTorch's `nn.Linear`.
///
/// Starts with weight and bias uniform in +-1/sqrt(d_in), PyTorch's default.
class Linear {
public:
    struct Cache {
        Tensor x;  ///< the input, [..., d_in]
    };

    /// @throws std::invalid_argument unless both sizes are >= 1
    Linear(Index d_in, Index d_out, bool bias, Random& random);

    /// @param x      `[..., d_in]`
    /// @param cache  filled for `backward`; leave it out at inference
    /// @return       `[..., d_out]`
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// `max(x W^T + b, 0)`: bias and ReLU in one pass over the product.
    Tensor forward_relu(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradients of weight and bias.
    /// @param dy  gradient of the loss with respect to `y`, `[..., d_out]`
    /// @return    `dx`, `[..., d_in]`
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Index d_in() const { return weight.value.dim(1); }
    Index d_out() const { return weight.value.dim(0); }
    bool has_bias() const { return !bias.value.empty(); }

    Parameter weight;  ///< [d_out, d_in]
    Parameter bias;    ///< [d_out], or empty

    // [linear: together]
    /// Several maps of one `x`, all of the same sizes, as one product: `y[i]` becomes
    /// `maps[i]->forward(x, caches[i])`.
    /// @param maps    at most `most_together`
    /// @param x       `[..., d_in]`
    /// @param caches  one for each map, or null
    /// @param y       one for each map, receives `[..., d_out]`
    /// @throws std::invalid_argument if numbers or sizes do not fit
    static void forward_together(std::span<const Linear* const> maps, const Tensor& x,
                                 std::span<Cache* const> caches, std::span<Tensor> y);
    /// Adds to the gradients of all these maps.
    /// @param dy  one for each map, `[..., d_out]`
    /// @return  the gradient with respect to `x`: the sum of what each
    ///          `maps[i]->backward(dy[i], *caches[i])` returns
    static Tensor backward_together(std::span<Linear* const> maps, std::span<const Tensor> dy,
                                    std::span<const Cache* const> caches);

private:
    void require_width(const Tensor& x) const;
    Tensor product(const Tensor& x, Cache* cache, bool relu) const;
    Tensor finish(Tensor product, const Tensor& x, Cache* cache, bool relu) const;
    void add_to_gradients(const Tensor& dy, const Cache& cache);
};

}  // namespace abh
