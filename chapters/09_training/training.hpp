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
/// The recipe of a training.
struct TrainingOptions {
    Index epochs = 100;
    Index batch_size = 2;
    std::string optimizer = "sgd";  ///< `sgd`, `adam` or `adamw`
    Real learning_rate = Real(1e-3);
    Index warmup = 0;                ///< steps of growing learning rate; 0: constant
    Real momentum = Real(0.99);      ///< of sgd
    Real weight_decay = Real(1e-2);  ///< of adamw
    Real beta2 = Real(0.999);        ///< of adam and adamw
    Real smoothing = 0;              ///< of the cross entropy
    bool bucket_by_length = false;   ///< put pairs of like lengths into one batch
};
// [tasks]
/// A corpus with the model and the training that fit it.
struct Task {
    std::string name;
    Corpus corpus;
    TransformerOptions model;  ///< the sizes of the vocabularies are those of the corpus
    TrainingOptions training;
    bool print_steps = false;  ///< a line for each step; else one for each epoch
};

/// The Chinese-English toy at its full size: d_model 512, d_ff 2048, 8 heads, 6 + 6 layers, no
/// biases, a norm without gamma and beta; SGD with learning rate 1e-3 and momentum 0.99.
Task toy_task();
/// The German-English notebook, completed, and trained as the toy is.
Task notebook_task();
/// The grammar's 1,944 pairs and a small model: d_model 128, d_ff 256, 4 heads, 2 + 2 layers; Adam
/// with warm-up, batches of 32, label smoothing 0.1.
Task grammar_task();
/// The pairs of a file, like lengths together, and a model.
Task file_task(const std::filesystem::path& path, const TransformerOptions& model);
/// `toy`, `notebook`, `grammar`, or the pairs of a file if `file` is not empty.
/// @param model  another than the task's own; the vocabularies stay those of the corpus
/// @throws std::invalid_argument for another name, or a model with another pad
Task make_task(const std::string& name, const std::filesystem::path& file,
               const std::optional<TransformerOptions>& model = {});
// [trainer]
/// A model in training: its optimizer, and what one step keeps for the next. A step is
/// `forward_backward` and `update`.
class Trainer {
public:
    /// @param model  is trained; outlives this
    /// @throws std::invalid_argument if an option is out of its range
    Trainer(Transformer& model, const TrainingOptions& options);
    /// The same, but the optimizer moves only the parameters in `moved`.
    Trainer(Transformer& model, const TrainingOptions& options, Parameters moved);

    /// Sets the gradients of all parameters to those of a step, of one batch or of several, one
    /// after the other: loss and gradients are those of one batch that holds the pairs of all.
    /// @param batches   with their pads
    /// @param of_words  target words of the step, if these batches are a part of it; 0: theirs
    /// @return          the loss, or the part's share in it
    double forward_backward(std::span<const Batch> batches, Index of_words = 0);
    double forward_backward(const Batch& batch) { return forward_backward(std::span(&batch, 1)); }
    /// Target words that count.
    Index count_targets(std::span<const Batch> batches) const;
    /// Moves the weights, and the randomness of dropout on to the next step.
    void update(Real learning_rate);
    Optimizer& optimizer() { return *optimizer_; }

private:
    Transformer& model_;
    Parameters parameters_;
    std::unique_ptr<Optimizer> optimizer_;
    CrossEntropyOptions loss_;
    Transformer::Cache cache_;
    VocabularyLossCache loss_cache_;
};
// [train]
/// What is known after the loss of one step and before the update.
struct StepReport {
    Index epoch, step;  ///< from 1; steps count over all epochs
    double loss;
    Real learning_rate;
};

/// Trains in place: for each epoch, all pairs in a new random order, in `Batches`; for each batch
/// forward, loss, backward, update.
/// @param report  called once a step; the gradients are those of the step
/// @throws std::invalid_argument if an option is out of its range
/// @throws std::runtime_error if the loss is not a finite number
void train(Transformer& model, const Corpus& corpus, const TrainingOptions& options,
           const std::function<void(const StepReport&)>& report);
/// Number of steps that `train` makes.
Index count_steps(const Corpus& corpus, const TrainingOptions& options);
// [evaluate]
/// How a model does on pairs, with dropout off.
struct Evaluation {
    Index words = 0;  ///< target words that count, the ends of the sentences included
    double loss = 0;  ///< mean cross entropy per word, without smoothing
    Index exact = 0;  ///< pairs that greedy decoding translates exactly
};

/// Reads the right words, and asks for the next one at every place at once.
///
/// `exact` counts the pairs where the right next word is the likeliest at every place, the end
/// included. Greedy decoding begins with the same symbol; as long as it has chosen the right words,
/// it sees what this function shows the model. So it translates exactly these pairs.
Evaluation evaluate(const Transformer& model, const Corpus& corpus,
                    std::span<const SentencePair> pairs);

}  // namespace abh
