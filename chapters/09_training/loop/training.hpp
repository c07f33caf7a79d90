#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/09_training/loss/vocabulary_loss.hpp"
#include "chapters/09_training/model/transformer.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"

namespace abh {
// [options]
/// How a model is trained.
struct TrainingOptions {
    Index epochs = 100;
    Index batch_size = 2;
    std::string optimizer = "sgd";  ///< `sgd`, `adam` or `adamw`
    Real learning_rate = Real(1e-3);
    Index warmup = 0;                ///< steps over which the learning rate grows; 0: constant
    Real momentum = Real(0.99);      ///< of sgd
    Real weight_decay = Real(1e-2);  ///< of adamw
    Real beta2 = Real(0.999);        ///< of adam and adamw
    Real smoothing = 0;              ///< of the cross entropy
    bool bucket_by_length = false;   ///< put pairs of similar length into one batch
};
// [optimizer]
/// The optimizer that the options name, for these parameters.
/// @throws std::invalid_argument if an option is out of its range
std::unique_ptr<Optimizer> make_optimizer(const Parameters& parameters,
                                          const TrainingOptions& options);
// [trainer]
/// A model in training, with its optimizer and what one step keeps for the next.
class Trainer {
public:
    /// @param model  the model to train; must outlive this object
    /// @throws std::invalid_argument if an option is out of its range
    Trainer(Transformer& model, const TrainingOptions& options);
    /// The same with an optimizer of one's own.
    Trainer(Transformer& model, const TrainingOptions& options,
            std::unique_ptr<Optimizer> optimizer);

    /// Begins a step: sets the gradients of all parameters to zero.
    void begin();
    /// Adds a part of a step. When all parts are added, loss and gradients are those of one batch
    /// that holds all their pairs.
    /// @param n_targets  target words of the whole step, by which the loss is divided
    /// @param part       its number, 0, 1, ...; in each part dropout drops other elements
    /// @return           its share of the loss
    double add_part(const Batch& batch, Index n_targets, Index part);
    /// Ends a step: moves the weights, and takes dropout's random numbers on to the next one.
    void update(Real learning_rate);
    /// A whole step, of one part. @return the loss
    /// @throws std::runtime_error if the loss is not a finite number; no weight has been moved then
    double step(const Batch& batch, Real learning_rate);
    Optimizer& optimizer() { return *optimizer_; }

private:
    CrossEntropyOptions loss_of(Index n_targets) const;
    void require_finite(double loss) const;

    Transformer& model_;
    Parameters parameters_;
    std::unique_ptr<Optimizer> optimizer_;
    Real smoothing_;
    Transformer::Cache cache_;
    VocabularyLossCache loss_cache_;
};
// [train]
/// What is known of a step.
struct StepReport {
    Index epoch, step;  ///< from 1; steps are counted across epochs
    double loss;
    Real learning_rate;
};

/// Trains in place. Each epoch takes all pairs in a new random order, in `Batches`; each batch goes
/// through forward, loss, backward and update.
/// @param report  called after each step, while the gradients are still those of the step
/// @throws std::invalid_argument if an option is out of its range, or there is no pair
/// @throws std::runtime_error if the loss is not a finite number
void train(Transformer& model, const Corpus& corpus, const TrainingOptions& options,
           const std::function<void(const StepReport&)>& report);
/// Number of steps that `train` makes. @throws std::invalid_argument as `train` does
Index count_steps(const Corpus& corpus, const TrainingOptions& options);
// [evaluate]
/// How a model does on pairs, with dropout off.
struct Evaluation {
    Index words = 0;  ///< target words that count, including the end symbols
    double loss = 0;  ///< mean cross entropy per word, without smoothing
    Index exact = 0;  ///< pairs that greedy decoding translates exactly
};

/// Gives the model the right words, and asks for the next one at every place at once.
///
/// `exact` counts the pairs where the right next word is the likeliest at every place, including
/// the end. Greedy decoding begins with the same symbol and, as long as it has chosen the right
/// words, sees what this function shows the model, so these are exactly the pairs that it
/// translates without an error.
Evaluation evaluate(const Transformer& model, const Corpus& corpus,
                    std::span<const SentencePair> pairs);

}  // namespace abh
