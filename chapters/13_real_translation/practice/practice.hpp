#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chapters/09_training/training.hpp"
#include "chapters/13_real_translation/data/token_batches.hpp"
#include "chapters/13_real_translation/practice/team.hpp"
#include "chapters/13_real_translation/practice/validation.hpp"

namespace abh {
// [options]
/// How a run of training goes on, and when it ends.
struct PracticeOptions {
    Index tokens = 2048;              ///< words of a batch, at most
    Index accumulate = 1;             ///< batches of a step
    Real learning_rate = Real(1e-3);  ///< at its peak
    Index warmup = 400;               ///< steps of growing learning rate
    Real beta2 = Real(0.98);          ///< of Adam
    Real smoothing = Real(0.1);       ///< of the targets
    Real clip = 1;                    ///< the largest norm of all gradients; 0: any
    std::uint64_t seed = 1;           ///< of the batches' order

    Index epochs = 40;   ///< at most
    double minutes = 0;  ///< no epoch begins that would not end in this time; 0: any
    Index patience = 6;  ///< epochs in a row in which neither BLEU nor loss gets better; 0: any
};
// [clip]
/// Multiplies all gradients by one factor so that their norm, the root of the sum of all squares,
/// is at most `largest`; smaller ones stay as they are.
/// @param largest  more than 0; 0: nothing is changed
/// @return         the norm before
double clip_gradients(const Parameters& parameters, Real largest);
// [progress]
/// An epoch that is over.
struct EpochReport {
    Index epoch = 0, steps = 0;     ///< from 1; of the whole run so far
    double loss = 0, dev_loss = 0;  ///< per word: smoothed, with dropout; and as it is
    double bleu = 0;                ///< of the development set, translated greedily
    double gradient_norm = 0;       ///< before clipping, mean over the epoch's steps
    double seconds = 0;             ///< of the whole run so far
    double tokens_per_second = 0;   ///< `count_words` of the pairs trained on, validation left out
};

/// How far a run has come: all of it that is neither weights nor options.
struct RunProgress {
    Index epoch = 1;                ///< that goes on
    Index batch = 0;                ///< its batches that are done
    Index step = 0;                 ///< updates
    std::uint64_t random_step = 0;  ///< of the model's random numbers
    // of the epoch that goes on, so far
    double loss_sum = 0, norm_sum = 0;
    Index target_words = 0, tokens = 0, epoch_steps = 0;
    double epoch_seconds = 0;
    double seconds = 0;               ///< of the whole run
    std::vector<EpochReport> epochs;  ///< that are over

    /// The epoch with the highest BLEU, of equal ones that with the smallest loss; none at first.
    std::optional<EpochReport> best() const;
    /// The last epoch that had a higher BLEU, or a smaller loss, than all before it; 0: none.
    Index last_better() const;
    /// Whether a mean of epochs' weights with this development loss is kept rather than `best()`.
    bool keeps_mean(double dev_loss) const;
};
// [practice]
/// What one step did.
struct PracticeStep {
    double loss, gradient_norm;  ///< before the update, per word; before clipping
    Real learning_rate;
    Index tokens;  ///< `count_words` of its pairs
};

/// A run of training: model, optimizer, batches, and how far it has come.
class Practice {
public:
    /// @param model  is trained; it, `train` and `team` outlive this
    /// @param team   the processes that compute the steps
    /// @throws std::invalid_argument if an option is out of its range, or a pair does not fit
    Practice(Transformer& model, std::span<const IdPair> train, const Symbols& symbols,
             const PracticeOptions& options, const Team& team = alone());

    /// Trains on the epoch's next batches, and updates the weights once.
    /// @throws std::runtime_error that says what to change if loss or gradients are not finite; the
    ///         weights are then those of before the step
    PracticeStep step();
    bool epoch_over() const { return progress_.batch == batches_.count(); }
    /// Closes an epoch. @return what is known of it
    EpochReport end_epoch(const Validation& validation);
    /// Why the run ends here, between two epochs; empty: it goes on.
    std::string over() const;
    /// What it costs, and how to go on, if the clock alone ended the run; else empty.
    std::string cut_short() const;

    Transformer& model() { return model_; }
    PracticeSteps& steps() { return *steps_; }
    const PracticeOptions& options() const { return options_; }
    const RunProgress& progress() const { return progress_; }
    /// Batches of an epoch.
    Index batches() const { return batches_.count(); }
    /// Counts time that work took, by the clock of the team's first process.
    void took(double seconds, bool training);
    /// Goes on from here, in the order of batches that the epoch has.
    /// @throws std::invalid_argument if there is no such place in an epoch
    void go_on(const RunProgress& progress);

private:
    enum class End { none, epochs, patience, clock };
    End end() const;
    double next_epoch_seconds() const;
    void require_finite(double loss, double norm) const;
    PracticeStep count(const PracticeStep& step, std::span<const Batch> batches);

    Transformer& model_;
    const Team& team_;
    std::span<const IdPair> train_;
    Symbols symbols_;
    PracticeOptions options_;
    TokenBatches batches_;
    std::unique_ptr<PracticeSteps> steps_;
    RunProgress progress_;
};
// [a bad run]
/// The loss per word of a model that knows how frequent each target word is, and nothing else: the
/// entropy of these frequencies, smoothed as targets are.
double frequency_loss(std::span<const IdPair> pairs, Index n_words, const Symbols& symbols,
                      double smoothing);
/// What is wrong with an epoch whose loss is not below `frequency_loss`, in one line; empty if
/// nothing is, or while the learning rate was still growing when the epoch began.
std::string explain_bad_epoch(const EpochReport& report, Index steps_before, double frequency_loss,
                              const PracticeOptions& options);
// [run]
/// Who listens to a run.
struct RunListeners {
    std::function<void(const PracticeStep&)> step;
    std::function<void(const EpochReport&, const Validation&)> epoch;
    /// Between two steps, and after each epoch: a place to save.
    std::function<void(bool epoch_over)> safe_place;
};

/// Trains until the run is over. @return why it is
std::string practise(Practice& run, const std::function<Validation(const Transformer&)>& validate,
                     const RunListeners& listeners);

}  // namespace abh
