#pragma once

#include <variant>

#include "chapters/09_training/loss/loss.hpp"
#include "lib/linear.hpp"

namespace abh {
// [cache]
/// What `vocabulary_loss_backward` needs. The ways keep different things.
struct VocabularyLossCache {
    /// Kept if all logits were computed at once.
    struct Whole {
        Linear::Cache output;
        CrossEntropyCache loss;  ///< plain, cuda
        Tensor dlogits;          ///< fast: [B, L, n_words], written over the logits
    };
    /// Kept if the logits were computed block by block and are gone: the gradients themselves.
    struct Blocks {
        Tensor dx, dweight, dbias;
    };
    Way way = Way::fast;
    std::variant<std::monostate, Whole, Blocks> kept = {};
};
// [vocabulary loss]
/// `cross_entropy(output.forward(x), targets)`: the last linear map, to all logits, and the loss.
///
/// Fast: with a cache, at most `most_logits` logits are in memory at once, or 64 rows of them if
/// that is more. The loss is the last thing that a forward pass computes, so the gradient of a
/// row's logits is known as soon as the row is, and can be written over them.
///
/// @param x        `[B, L, d_model]`
/// @param targets  `[B, L]`
/// @param cache    filled for `vocabulary_loss_backward`
/// @throws std::invalid_argument as `cross_entropy` does
double vocabulary_loss(const Tensor& x, const Linear& output, const Ids& targets,
                       const CrossEntropyOptions& options = {},
                       VocabularyLossCache* cache = nullptr);
/// Adds to the gradients of `output`. @return `dx`, the shape of `x`
/// @throws std::invalid_argument if no forward pass has filled the cache
Tensor vocabulary_loss_backward(Linear& output, const VocabularyLossCache& cache);
/// The most logits that fast keeps in memory at once: 16 MiB in single precision.
constexpr Index most_logits = 1 << 22;

}  // namespace abh
