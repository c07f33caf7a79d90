#pragma once

#include <functional>

#include "chapters/09_training/data/batches.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/09_training/loss/vocabulary_loss.hpp"
#include "chapters/15_language_model/lines.hpp"

namespace abh {
// [train]
/// Trains a language model on the lines of these pairs, with the options of chapter 9.
/// @param report  called after each step
/// @throws std::runtime_error if the loss is not a finite number
template <class Model>
void train_lines(Model& model, const Vocabulary& words, std::span<const SentencePair> pairs,
                 Counted counted, const TrainingOptions& options,
                 const std::function<void(const StepReport&)>& report = {}) {
    const Stream of_pairs = model.random().stream(), of_batches = model.random().stream();
    Batches batches(pairs, options.batch_size, options.bucket_by_length);
    const Parameters parameters = parameters_of(model);
    const auto optimizer = make_optimizer(parameters, options);
    typename Model::Cache cache;
    VocabularyLossCache loss_cache;
    Index step = 0;
    for (Index epoch = 1; epoch <= options.epochs; ++epoch) {
        batches.draw(of_pairs, of_batches);
        for (Index i = 0; i < batches.count(); ++i) {
            const LineBatch batch = make_line_batch(words, pairs, batches[i], counted);
            const Real rate = learning_rate(++step, options.learning_rate, options.warmup);
            // [train: a step]
            zero_grad(parameters);
            const Tensor y = model.forward(batch.read, &cache);  // [B, L, d_model]
            const double loss = vocabulary_loss(y, model.output, batch.targets,
                                                {.smoothing = options.smoothing}, &loss_cache);
            model.backward(vocabulary_loss_backward(model.output, loss_cache), cache);
            optimizer->step(rate);
            // [train: the next]
            model.random().next_step();
            if (report) report({epoch, step, loss, rate});
        }
    }
}
// [evaluate]
/// How the model continues the lines of these pairs after the arrow, with dropout off: see
/// `evaluate` of chapter 9.
template <class Model>
Evaluation evaluate_lines(const Model& model, const Vocabulary& words,
                          std::span<const SentencePair> pairs) {
    constexpr Index at_once = 32;
    Evaluation result;
    std::vector<Index> numbers;
    for (Index first = 0; first < std::ssize(pairs); first += at_once) {
        numbers.clear();
        for (Index n = first; n < std::min(first + at_once, std::ssize(pairs)); ++n)
            numbers.push_back(n);
        const LineBatch batch = make_line_batch(words, pairs, numbers, Counted::translation);
        const Tensor logits = model.output.forward(model.forward(batch.read));
        result.loss += cross_entropy(logits, batch.targets) * static_cast<double>(batch.n_targets);
        result.words += batch.n_targets;
        const BasicTensor<Prediction> choices = argmax(logits);
        for (Index b = 0, row = 0; b < batch.read.ids.dim(0); ++b) {
            bool exact = true;
            for (Index left = batch.read.count(b); left > 0; --left, ++row)
                exact = exact && (batch.targets(0, row) == 0 ||
                                  batch.targets(0, row) == choices(0, row).word);
            result.exact += exact;
        }
    }
    result.loss /= static_cast<double>(std::max<Index>(result.words, 1));
    return result;
}

}  // namespace abh
