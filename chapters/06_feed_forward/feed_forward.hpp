#pragma once

#include <string>

#include "chapters/06_feed_forward/relu.hpp"
#include "chapters/06_feed_forward/swish.hpp"
#include "lib/linear.hpp"

namespace abh {
// [activation]
/// The activation between the two maps.
enum class Activation { relu, swish };
// [feed-forward]
/// Two linear maps with a ReLU in between, applied to each position on its own: `relu(x W_1^T +
/// b_1) W_2^T + b_2`. Vaswani et al. 2017, eq. 2. Swish may take ReLU's place.
class FeedForward {
public:
    struct Cache {
        Linear::Cache first, second;
        Tensor hidden;  ///< relu(x W_1^T + b_1); with swish, x W_1^T + b_1 itself; [B, L, d_ff]
    };

    FeedForward(Index d_model, Index d_ff, bool bias, Random& random,
                Activation activation = Activation::relu);

    /// @param x  `[B, L, d_model]`
    /// @return   the same shape
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradients of both maps.
    /// @param dy  gradient of the loss with respect to the result
    /// @return    `dx`, the same shape
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Linear first;   ///< d_model to d_ff
    Linear second;  ///< d_ff to d_model

private:
    Activation activation_;
};

}  // namespace abh
