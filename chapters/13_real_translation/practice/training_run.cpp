#include "chapters/13_real_translation/practice/training_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace abh {
// [options]
TrainingOptions translator_training() {
    return {.epochs = 28,
            .optimizer = "adam",
            .learning_rate = Real(1e-3),
            .warmup = 400,
            .beta2 = Real(0.98),
            .smoothing = Real(0.1)};
}
// [clip]
double clip_gradients(const Parameters& parameters, Real largest) {
    const double norm = grad_norm(parameters);
    if (largest > 0 && norm > static_cast<double>(largest))
        scale_grad(parameters, static_cast<Real>(static_cast<double>(largest) / norm));
    return norm;
}
// [construct]
TrainingRun::TrainingRun(Transformer& model, std::span<const IdPair> train, const Symbols& symbols,
                         const RunOptions& options, const Team& team)
    : model_(model),
      team_(team),
      train_(train),
      symbols_(symbols),
      options_(options),
      batches_(batches_of(1)),
      trainer_(team.trainer(model, options.training)) {}

std::vector<std::vector<Index>> TrainingRun::batches_of(Index epoch) const {
    return token_batches(train_, options_.tokens, model_.random().seed(), epoch);
}
// [step]
StepResult TrainingRun::step() {
    RunProgress& p = progress_;
    std::vector<Batch> batches;
    Index tokens = 0;
    for (Index i = 0; i < options_.accumulate && !epoch_over(); ++i, ++p.batch) {
        const std::vector<Index>& numbers = batches_[static_cast<std::size_t>(p.batch)];
        batches.push_back(make_batch(train_, numbers, symbols_));
        for (const Index number : numbers)
            tokens += count_words(train_[static_cast<std::size_t>(number)]);
    }

    const double loss = trainer_->forward_backward(batches);  // zero, forward, loss, both backwards
    const double norm = trainer_->clip(options_.clip);
    require_finite(loss, norm);
    const TrainingOptions& o = options_.training;
    const Real rate = learning_rate(++p.step, o.learning_rate, o.warmup);
    trainer_->update(rate);

    p.random_step = model_.random().step();
    const Index target_words = count_targets(batches);
    p.loss_sum += loss * static_cast<double>(target_words);
    p.target_words += target_words;
    p.tokens += tokens;
    return {loss, rate, tokens};
}
// [step: finite]
/// Called before the update, so that the weights are still those from before the step.
void TrainingRun::require_finite(double loss, double norm) const {
    if (std::isfinite(loss) && std::isfinite(norm)) return;
    const TrainingOptions& o = options_.training;
    const Index step = progress_.step + 1;
    throw std::runtime_error(fmt::format(
        "step {}: the {} is {}. The learning rate was {:.2g}; a smaller one, a longer warm-up than "
        "{} steps, or clipping{} may help. The weights are still those of step {}.",
        step, std::isfinite(loss) ? "gradient's norm" : "loss", std::isfinite(loss) ? norm : loss,
        learning_rate(step, o.learning_rate, o.warmup), o.warmup,
        options_.clip > 0 ? fmt::format(" below {}", options_.clip) : "", progress_.step));
}
// [epoch]
EpochReport TrainingRun::end_epoch(const Validation& validation) {
    RunProgress& p = progress_;
    require(epoch_over(), "epoch {}: only {} of {} batches are done", p.epoch, p.batch, batches());
    p.epochs.push_back({.epoch = p.epoch,
                        .steps = p.step,
                        .loss = p.loss_sum / static_cast<double>(p.target_words),
                        .dev_loss = validation.loss,
                        .bleu = validation.score,
                        .seconds = p.seconds,
                        .tokens_per_second = p.epoch_seconds > 0
                                                 ? static_cast<double>(p.tokens) / p.epoch_seconds
                                                 : 0});
    p.loss_sum = p.epoch_seconds = 0;
    p.target_words = p.tokens = p.batch = 0;
    batches_ = batches_of(++p.epoch);
    return p.epochs.back();
}

void TrainingRun::took(double seconds, bool training) {
    seconds = team_.agreed(seconds);
    progress_.seconds += seconds;
    if (training) progress_.epoch_seconds += seconds;
}

const EpochReport& RunProgress::best() const {
    return *std::ranges::max_element(
        epochs, {}, [](const EpochReport& e) { return std::tuple(e.bleu, -e.dev_loss); });
}

Index RunProgress::last_better() const {
    double bleu = -1, loss = std::numeric_limits<double>::infinity();
    Index last = 0;
    for (const EpochReport& e : epochs) {
        if (e.bleu > bleu || e.dev_loss < loss) last = e.epoch;
        bleu = std::max(bleu, e.bleu);
        loss = std::min(loss, e.dev_loss);
    }
    return last;
}
// [over]
std::optional<std::string> TrainingRun::over() const {
    const RunProgress& p = progress_;
    if (p.epochs.empty() || p.batch > 0) return {};
    const Index done = p.epochs.back().epoch, better = p.last_better();
    if (done >= options_.training.epochs) return fmt::format("epoch {} was the last one", done);
    if (options_.patience > 0 && done - better >= options_.patience)
        return fmt::format("neither BLEU nor the loss has improved since epoch {}", better);
    const double minutes = options_.minutes,
                 before = p.epochs.size() > 1 ? p.epochs.end()[-2].seconds : 0,
                 next = p.epochs.back().seconds - before;  // as long as the last one
    if (minutes == 0 || p.seconds + next <= 60 * minutes) return {};
    return fmt::format("another epoch takes {:.0f} s and would end after more than {} min", next,
                       minutes);
}
// [go on]
void TrainingRun::go_on(const RunProgress& progress, std::span<const Tensor> memory) {
    require(progress.epoch >= 1, "progress: epoch {}, expected 1 or more", progress.epoch);
    std::vector<std::vector<Index>> batches = batches_of(progress.epoch);
    require(
        progress.batch <= std::ssize(batches) && (progress.batch == 0 || progress.target_words > 0),
        "progress: batch {} of an epoch of {}, with {} words", progress.batch, batches.size(),
        progress.target_words);
    batches_ = std::move(batches);
    progress_ = progress;
    model_.random().go_to(progress.random_step);
    trainer_->remember(memory, progress.step);
}
// [a bad run]
double frequency_loss(std::span<const IdPair> pairs, Index n_words, const Symbols& symbols,
                      double smoothing) {
    std::vector<double> frequency(static_cast<std::size_t>(n_words));
    double words = 0;
    for (const IdPair& pair : pairs) {
        for (const std::int32_t word : pair.target) ++frequency.at(static_cast<std::size_t>(word));
        ++frequency.at(static_cast<std::size_t>(symbols.end));
        words += static_cast<double>(pair.target.size()) + 1;
    }
    double entropy = 0;
    for (const double f : frequency) {
        const double pi = (1 - smoothing) * f / words + smoothing / static_cast<double>(n_words);
        if (pi > 0) entropy -= pi * std::log(pi);
    }
    return entropy;
}

std::string explain_bad_epoch(std::span<const EpochReport> epochs, double frequency_loss,
                              const TrainingOptions& options) {
    const EpochReport& last = epochs.back();
    const Index steps_before = epochs.size() > 1 ? epochs[epochs.size() - 2].steps : 0;
    if (steps_before < options.warmup || last.loss < frequency_loss) return "";
    return fmt::format(
        "epoch {}: the loss per word is {:.3f}, but a model that knows only the words' frequencies "
        "has {:.3f}. So this model learns nothing from its input: try a smaller learning rate than "
        "{:.2g} or a longer warm-up than {} steps, and check that sources and targets are "
        "translations of each other.",
        last.epoch, last.loss, frequency_loss, options.learning_rate, options.warmup);
}

}  // namespace abh
