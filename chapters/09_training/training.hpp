#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "chapters/09_training/corpus.hpp"
#include "chapters/09_training/optimizer.hpp"
#include "chapters/09_training/transformer.hpp"
#include "chapters/09_training/vocabulary_loss.hpp"

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
// [tasks]
/// A corpus, with a model and a way of training that fit it.
struct Task {
    std::string name;
    Corpus corpus;
    TransformerOptions model;  ///< its vocabularies have the sizes of those of the corpus
    TrainingOptions training;
    bool print_steps = false;  ///< print a line per step, not one per epoch

    TransformerOptions own_model = model;  ///< what fits the corpus, whatever was asked for
    TrainingOptions own_training = training;
};

/// The Chinese-English toy at its full size: d_model 512, d_ff 2048, 8 heads, 6 + 6 layers, no
/// biases, a norm without gamma and beta; SGD with learning rate 1e-3 and momentum 0.99.
Task toy_task();
/// The German-English notebook, completed, and trained like the toy.
Task notebook_task();
/// The grammar's 1,944 pairs and a small model: d_model 128, d_ff 256, 4 heads, 2 + 2 layers; Adam
/// with warm-up, batches of 32, label smoothing 0.1.
Task grammar_task();
/// The pairs of a file, with similar lengths together, and the grammar's model or another.
/// Its name holds a digest of the pairs, because another file may have this file's name.
Task file_task(const std::filesystem::path& path, const std::optional<TransformerOptions>& model);
/// `toy`, `notebook`, `grammar`, or the pairs of a file if `file` is not empty.
/// @param model  used instead of the task's own, but with the vocabulary sizes of the corpus
/// @throws std::invalid_argument if the name is unknown, or the model's pad is not 0
Task make_task(const std::string& name, const std::filesystem::path& file,
               const std::optional<TransformerOptions>& model = {});
// [names]
/// The name of a task, followed by what is different from the task's own model and training:
/// `toy`, `toy-shared_heads`, `toy-epochs=1-lr=0.01`, `toy-model=1a2b3c4d`.
std::string full_name(const Task& task);
/// The same in full: `toy, seed 1, the task's own model, epochs 100, batch 2, ..., way fast`.
std::string how_made(const Task& task, std::uint64_t seed);
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
/// @throws std::invalid_argument if an option is out of its range
/// @throws std::runtime_error if the loss is not a finite number
void train(Transformer& model, const Corpus& corpus, const TrainingOptions& options,
           const std::function<void(const StepReport&)>& report);
/// Number of steps that `train` makes.
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
