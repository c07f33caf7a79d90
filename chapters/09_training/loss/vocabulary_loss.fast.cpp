#include "chapters/09_training/loss/vocabulary_loss.hpp"

#include <algorithm>

#include "chapters/09_training/loss/loss.fast.hpp"
#include "lib/fast/linear.hpp"
#include "lib/matmul.hpp"

namespace abh::fast {
// [forward]
namespace {

/// The number of rows in a block. All blocks but the last have the same size.
Index rows_at_once(Index n_rows, Index n_words) {
    const Index most = std::max<Index>(64, most_logits / n_words);
    return ceil_div(n_rows, ceil_div(n_rows, most));
}

/// Computes the gradients of some rows: writes that of `x`, and adds to those of the map.
void add_block(VocabularyLossCache::Blocks& sums, const Tensor& dlogits, const Tensor& x,
               const Linear& output, Index first) {
    if (first == 0) {
        sums.dweight = matmul(dlogits, x, {.transpose_a = true});
        sums.dbias = Tensor::zeros({output.has_bias() ? output.d_out() : 0});
    } else {
        add_matmul(sums.dweight, dlogits, x, {.transpose_a = true});
    }
    if (output.has_bias()) add_column_sums(sums.dbias, dlogits);
    Tensor dx = flat(sums.dx).rows(first, first + x.dim(0));
    multiply(dx, dlogits, output.weight.value, {}, false);
}

}  // namespace

double vocabulary_loss(const Tensor& x, const Linear& output, const Ids& targets,
                       const CrossEntropyOptions& options, VocabularyLossCache* cache) {
    if (!cache) return cross_entropy(output.forward(x), targets, options);
    const Index n_rows = targets.size(), n_words = output.d_out();
    const Index counted = count_targets(targets, n_words, options);
    const Index some = rows_at_once(n_rows, n_words);
    const auto rows = [&](const auto& t, Index first, Index end) {
        return t.reshape({n_rows, t.size() / n_rows}).rows(first, end);
    };
    if (some == n_rows) {
        VocabularyLossCache::Whole whole;
        whole.dlogits = output.forward(x, &whole.output);  // logits, until the next line
        const double loss = cross_entropy_in_place(whole.dlogits, targets, options, counted);
        cache->kept = whole;
        return loss / static_cast<double>(counted);
    }
    VocabularyLossCache::Blocks sums{Tensor(x.shape()), {}, {}};
    double losses = 0;
    for (Index first = 0; first < n_rows; first += some) {
        const Index end = std::min(n_rows, first + some);
        Tensor logits = output.forward(rows(x, first, end).reshape({1, end - first, x.dim(2)}));
        losses += cross_entropy_in_place(logits, rows(targets, first, end), options, counted);
        add_block(sums, flat(logits), rows(x, first, end), output, first);
    }
    cache->kept = sums;
    return losses / static_cast<double>(counted);
}
// [backward]
Tensor vocabulary_loss_backward(Linear& output, const VocabularyLossCache& cache) {
    if (const auto* sums = std::get_if<VocabularyLossCache::Blocks>(&cache.kept)) {
        output.weight.gradient.add(sums->dweight);
        if (output.has_bias()) output.bias.gradient.add(sums->dbias);
        return sums->dx;
    }
    const auto& whole = std::get<VocabularyLossCache::Whole>(cache.kept);
    return output.backward(whole.dlogits, whole.output);
}

}  // namespace abh::fast
