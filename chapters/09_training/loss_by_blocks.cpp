#include "chapters/09_training/loss_by_blocks.hpp"

#include <algorithm>

namespace abh {
// [by blocks]
LossByBlocks cross_entropy_by_blocks(Linear& output, const Tensor& x, const Ids& targets,
                                     const CrossEntropyOptions& options, Index at_once) {
    require(x.rank() == 3 && targets.shape() == Shape{x.dim(0), x.dim(1)},
            "cross entropy: x has shape {}, targets {}", x.shape(), targets.shape());
    const Index n_rows = targets.size(), n_words = output.d_out();
    require(at_once >= 0, "cross entropy: blocks of {} rows", at_once);
    const Index counted = count_targets(targets, n_words, options);
    if (at_once == 0) at_once = std::max<Index>(64, numbers_at_once / n_words);
    const Index blocks = (n_rows + at_once - 1) / at_once;
    at_once = (n_rows + blocks - 1) / blocks;  // all of one size, but for the last

    const Tensor all = x.reshape({n_rows, x.dim(2)});
    const Ids all_targets = targets.reshape({n_rows});
    Tensor dx = blocks == 1 ? Tensor() : Tensor::zeros(all.shape());
    double losses = 0;
    for (Index first = 0; first < n_rows; first += at_once) {
        const Index end = std::min(n_rows, first + at_once);
        Linear::Cache cache;
        Tensor logits =
            output.forward(all.rows(first, end), &cache).reshape({1, end - first, n_words});
        losses += cross_entropy_in_place(
            logits, all_targets.rows(first, end).reshape({1, end - first}), options, counted);
        const Tensor d = output.backward(logits.reshape({end - first, n_words}), cache);
        if (blocks == 1) {
            dx = d;
        } else {
            Tensor rows = dx.rows(first, end);
            rows += d;
            output.weight.grad();  // multiplies now what would wait, and keep these logits
        }
    }
    return {losses / static_cast<double>(counted), dx.reshape(x.shape())};
}

}  // namespace abh
