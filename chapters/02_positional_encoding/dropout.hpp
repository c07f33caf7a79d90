#pragma once

#include "lib/random.hpp"
#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [dropout]
/// Sets each element to zero with probability `p` while training, and divides the others by
/// `1 - p`, which keeps the expectation. At inference, that is, without a cache, it does nothing.
///
/// Srivastava et al. 2014; the scaling at training time is PyTorch's.
class Dropout {
public:
    struct Cache {
        Way way = Way::fast;  ///< of the forward pass
        Mask kept;            ///< 1 where the element was kept, shape of `x`; empty if p = 0
    };

    /// @throws std::invalid_argument unless 0 <= p < 1
    Dropout(Real p, Random& random);

    /// Which elements are dropped depends only on the seed, the layer, the training step and its
    /// part, and the position.
    /// @param x      any shape
    /// @param cache  filled for `backward`; dropout happens only if it is given
    /// @return       the same shape; `x` itself, not a copy, if nothing can be dropped
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// @param dy  gradient of the loss with respect to `y`
    /// @return    `dx`, the same shape; `dy` itself if p = 0
    Tensor backward(const Tensor& dy, const Cache& cache) const;

    /// The factor of a kept element, `1 / (1 - p)`.
    Real factor() const { return 1 / (1 - p_); }
    Real p() const { return p_; }
    const Stream& stream() const { return stream_; }

private:
    Real p_;
    Stream stream_;
};
// [operation]
/// Draws which elements are kept, and returns `y = x * kept * factor`. For p > 0.
Tensor dropout(const Tensor& x, const Dropout& layer, Mask& kept);
/// `dx = dy * kept * factor`.
Tensor dropout_backward(const Tensor& dy, const Dropout& layer, const Mask& kept);

}  // namespace abh
