#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chapters/09_training/loop/training.hpp"
#include "chapters/13_real_translation/data/token_batches.hpp"
#include "chapters/13_real_translation/practice/team.hpp"
#include "chapters/13_real_translation/practice/validation.hpp"

namespace abh {
// [options]
/// Chapter 9's options of a training, with a translator's values.
TrainingOptions translator_training();

/// These, and those that a long run adds.
struct RunOptions {
    TrainingOptions training = translator_training();  ///< `epochs` is the most of them
    Index tokens = 2048;   ///< the most words of a batch, instead of a number of pairs
    Index accumulate = 1;  ///< batches per step
    Real clip = 1;         ///< the largest norm of all gradients; 0: no limit
    double minutes = 0;    ///< no epoch begins that would end later; 0: no limit
    Index patience = 6;    ///< ends after so many epochs without a better BLEU or loss; 0: never
};
// [clip]
/// Multiplies all gradients by one factor so that their norm, the root of the sum of all squares,
/// is at most `largest`. Gradients with a smaller norm stay as they are.
/// @param largest  0: nothing is changed
/// @return         the norm before clipping
double clip_gradients(const Parameters& parameters, Real largest);
// [progress]
/// What is known about an epoch that is over.
struct EpochReport {
    Index epoch = 0, steps = 0;     ///< from 1; of the whole run so far
    double loss = 0, dev_loss = 0;  ///< per word: smoothed, with dropout; without either
    double bleu = 0;                ///< of the development set, translated greedily
    double seconds = 0;             ///< of the whole run so far
    double tokens_per_second = 0;   ///< `count_words` of the pairs trained on, validation left out
};

/// How far a run has come: all of its state besides weights, optimizer and options.
struct RunProgress {
    Index epoch = 1;                ///< the one in progress
    Index batch = 0;                ///< its batches that are done
    Index step = 0;                 ///< updates
    std::uint64_t random_step = 0;  ///< of the model's random numbers
    // of the epoch in progress, so far
    Index target_words = 0, tokens = 0;
    double loss_sum = 0, epoch_seconds = 0;
    double seconds = 0;               ///< of the whole run
    std::vector<EpochReport> epochs;  ///< that are over

    /// The epoch with the highest BLEU, and among equals the smallest loss. One must be over.
    const EpochReport& best() const;
    /// The last epoch with a higher BLEU, or a smaller loss, than all before it, or 0.
    Index last_better() const;
};
// [run]
/// What one step did.
struct StepResult {
    double loss;  ///< before the update, per word
    Real learning_rate;
    Index tokens;  ///< `count_words` of its pairs
};

/// A run of training: model, optimizer, batches, and how far it has come.
class TrainingRun {
public:
    /// @param model  the model to train, whose seed decides the order of batches; it, `train` and
    ///               `team` must outlive this object
    /// @param team   the processes that compute the steps
    /// @throws std::invalid_argument if a pair does not fit into a batch
    TrainingRun(Transformer& model, std::span<const IdPair> train, const Symbols& symbols,
                const RunOptions& options, const Team& team = alone());

    /// Trains on the epoch's next batches, and updates the weights once.
    /// @throws std::runtime_error saying what to change if loss or gradients are not finite; the
    ///         weights are then still those from before the step
    StepResult step();
    bool epoch_over() const { return progress_.batch == batches(); }
    /// Ends the epoch. @return what is known about it
    EpochReport end_epoch(const Validation& validation);
    /// Why the run ends here, between two epochs, or nothing if it goes on.
    std::optional<std::string> over() const;

    Transformer& model() { return model_; }
    TeamTrainer& trainer() { return *trainer_; }
    const RunOptions& options() const { return options_; }
    const RunProgress& progress() const { return progress_; }
    /// How many batches an epoch has.
    Index batches() const { return std::ssize(batches_); }
    /// Adds the time that some work took, by the clock of the team's first process.
    void took(double seconds, bool training);
    /// Goes on from `progress`, in its epoch's order of batches.
    /// @param memory  what the optimizer remembers
    /// @throws std::invalid_argument if there is no such place in an epoch
    void go_on(const RunProgress& progress, std::span<const Tensor> memory);

private:
    std::vector<std::vector<Index>> batches_of(Index epoch) const;
    void require_finite(double loss, double norm) const;

    Transformer& model_;
    const Team& team_;
    std::span<const IdPair> train_;
    Symbols symbols_;
    RunOptions options_;
    std::vector<std::vector<Index>> batches_;  ///< of the epoch in progress
    std::unique_ptr<TeamTrainer> trainer_;
    RunProgress progress_;
};
// [a bad run]
/// The loss per word of a model that knows how frequent each target word is, and nothing else: the
/// entropy of these frequencies, smoothed as targets are.
double frequency_loss(std::span<const IdPair> pairs, Index n_words, const Symbols& symbols,
                      double smoothing);
/// Says in one line what is wrong with the last epoch if its loss is not below `frequency_loss`.
/// Empty otherwise, or if the learning rate was still growing when the epoch began.
std::string explain_bad_epoch(std::span<const EpochReport> epochs, double frequency_loss,
                              const TrainingOptions& options);

}  // namespace abh
