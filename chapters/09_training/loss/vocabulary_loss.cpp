#include "chapters/09_training/loss/vocabulary_loss.hpp"

#include "lib/part.hpp"

namespace abh {
namespace plain {
decltype(vocabulary_loss) vocabulary_loss;
decltype(vocabulary_loss_backward) vocabulary_loss_backward;
}  // namespace plain
namespace fast {
decltype(vocabulary_loss) vocabulary_loss;
decltype(vocabulary_loss_backward) vocabulary_loss_backward;
}  // namespace fast
// [vocabulary loss]
double vocabulary_loss(const Tensor& x, const Linear& output, const Ids& targets,
                       const CrossEntropyOptions& options, VocabularyLossCache* cache) {
    require(x.rank() == 3 && targets.shape() == Shape{x.dim(0), x.dim(1)},
            "vocabulary loss: x has shape {} and targets {}, expected [B, L, d_model] and [B, L]",
            x.shape(), targets.shape());
    if (cache) *cache = {way(), {}};
    return Ways{"vocabulary loss", plain::vocabulary_loss, fast::vocabulary_loss,
                plain::vocabulary_loss}(x, output, targets, options, cache);
}

Tensor vocabulary_loss_backward(Linear& output, const VocabularyLossCache& cache) {
    require(!std::holds_alternative<std::monostate>(cache.kept),
            "vocabulary loss backward: the cache was not filled by a forward pass");
    const ScopedWay scoped(cache.way);
    return Ways{"vocabulary loss", plain::vocabulary_loss_backward, fast::vocabulary_loss_backward,
                plain::vocabulary_loss_backward}(output, cache);
}
// [plain]
double plain::vocabulary_loss(const Tensor& x, const Linear& output, const Ids& targets,
                              const CrossEntropyOptions& options, VocabularyLossCache* cache) {
    using Whole = VocabularyLossCache::Whole;
    Whole* const own = cache ? &cache->kept.emplace<Whole>() : nullptr;
    const Tensor logits = output.forward(x, part(own, &Whole::output));  // [B, L, n_words]
    return cross_entropy(logits, targets, options, part(own, &Whole::loss));
}

Tensor plain::vocabulary_loss_backward(Linear& output, const VocabularyLossCache& cache) {
    const auto& own = std::get<VocabularyLossCache::Whole>(cache.kept);
    return output.backward(cross_entropy_backward(own.loss), own.output);
}

}  // namespace abh
