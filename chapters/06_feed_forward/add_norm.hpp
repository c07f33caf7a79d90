#pragma once

#include <string>

#include "chapters/02_positional_encoding/dropout.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"

namespace abh {
// [options]
/// Where the norm goes: after the residual sum (as in the paper of 2017) or before the sublayer (as
/// in most later models).
enum class NormPlacement { post, pre };

struct AddNormOptions {
    NormPlacement placement = NormPlacement::post;
    LayerNormOptions norm = {};
    Real dropout = 0;             ///< on the sublayer's output, before the sum, as in the paper
    Real dropout_after_norm = 0;  ///< on the result, as in the shared-head block
};
// [operation]
/// What `add_norm_backward` needs.
struct AddNormCache {
    LayerNorm::Cache norm;
    Dropout::Cache dropout;
};
struct AddNormGradients {
    Tensor dx;         ///< along the residual connection
    Tensor dsublayer;  ///< gradient of the loss with respect to the sublayer's output
};

/// `norm(x + dropout(sublayer))`.
/// @param x         `[..., d_model]`
/// @param sublayer  the same shape
/// @param cache     filled for `add_norm_backward`; null at inference, which turns dropout off
/// @throws std::invalid_argument unless both are `[..., d_model]`
Tensor add_norm(const Tensor& x, const Tensor& sublayer, const Dropout& dropout,
                const LayerNorm& norm, AddNormCache* cache);
/// Adds to the gradients of gamma and beta, if they are parameters.
AddNormGradients add_norm_backward(const Tensor& dy, const Dropout& dropout, LayerNorm& norm,
                                   const AddNormCache& cache);
// [add and norm]
/// The residual connection around a sublayer, with its layer norm:
///
///     post:  y = norm(x + dropout(sublayer(x)))
///     pre:   y = x + dropout(sublayer(norm(x)))
///
/// The sublayer is called between `before`, which returns its input, and `after`, which takes its
/// output:
///
///     const Tensor h = add_norm.before(x, &cache);
///     const Tensor y = add_norm.after(x, sublayer.forward(h), &cache);
///
/// Backward runs from last to first, and `x` collects gradients from both of its uses:
///
///     auto [dx, df] = add_norm.after_backward(dy, cache);
///     dx = dx + add_norm.before_backward(sublayer.backward(df), cache);
class AddNorm {
public:
    struct Cache : AddNormCache {
        Dropout::Cache dropout_after_norm;
    };
    using Gradients = AddNormGradients;

    AddNorm(Index d_model, const AddNormOptions& options, Random& random);

    /// The sublayer's input: `x` (post) or `norm(x)` (pre).
    Tensor before(const Tensor& x, Cache* cache = nullptr) const;
    /// The result, from `x` and the sublayer's output of the same shape.
    Tensor after(const Tensor& x, const Tensor& sublayer, Cache* cache = nullptr) const;

    /// Gradients of `after`; then the sublayer's own backward turns `dsublayer` into `dh`.
    Gradients after_backward(const Tensor& dy, const Cache& cache);
    /// Gradient of `before`, to be added to `dx`.
    Tensor before_backward(const Tensor& dh, const Cache& cache);

    void collect(Parameters& list, const std::string& name) { norm.collect(list, name); }

    LayerNorm norm;

private:
    NormPlacement placement_;
    Dropout dropout_, dropout_after_norm_;
};

}  // namespace abh
