#include "chapters/13_real_translation/practice/practice.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace abh {
// [clip]
double clip_gradients(const Parameters& parameters, Real largest) {
    const double norm = grad_norm(parameters);
    if (largest > 0 && norm > static_cast<double>(largest))
        for (const NamedParameter& p : parameters)
            p.parameter->grad() *= static_cast<Real>(static_cast<double>(largest) / norm);
    return norm;
}
// [construct]
namespace {

TrainingOptions training_options(const PracticeOptions& o) {
    return {.epochs = o.epochs,
            .optimizer = "adam",
            .learning_rate = o.learning_rate,
            .warmup = o.warmup,
            .beta2 = o.beta2,
            .smoothing = o.smoothing};
}

const PracticeOptions& checked(const PracticeOptions& o) {
    require(o.accumulate >= 1, "practice: {} batches a step, expected at least 1", o.accumulate);
    require(o.clip >= 0 && std::isfinite(o.clip), "practice: clipping at {}, expected 0 or more",
            o.clip);
    require(o.minutes >= 0 && o.patience >= 0,
            "practice: {} minutes, patience {}, expected 0 or more", o.minutes, o.patience);
    return o;
}

}  // namespace

Practice::Practice(Transformer& model, std::span<const IdPair> train, const Symbols& symbols,
                   const PracticeOptions& options, const Team& team)
    : model_(model),
      team_(team),
      train_(train),
      symbols_(symbols),
      options_(checked(options)),
      batches_(train, options.tokens, options.seed),
      steps_(team.steps(model, training_options(options))) {
    const Index longest = model.options().positions.max_len;
    for (std::size_t i = 0; i < train.size(); ++i)
        require(
            static_cast<Index>(std::max(train[i].source.size(), train[i].target.size())) < longest,
            "practice: pair {} has {} and {} words, the model's positions end at {}", i,
            train[i].source.size(), train[i].target.size(), longest);
    batches_.draw(progress_.epoch);
}
// [step]
PracticeStep Practice::step() {
    std::vector<Batch> batches;
    Index tokens = 0;
    for (Index i = 0; i < options_.accumulate && !epoch_over(); ++i, ++progress_.batch) {
        const std::span<const Index> numbers = batches_[progress_.batch];
        batches.push_back(make_batch(train_, numbers, symbols_));
        for (const Index n : numbers) tokens += count_words(train_[static_cast<std::size_t>(n)]);
    }

    const double loss = steps_->forward_backward(batches);  // zero, forward, loss, both backwards
    const double norm = steps_->clip(options_.clip);
    require_finite(loss, norm);
    const Real rate = learning_rate(++progress_.step, options_.learning_rate, options_.warmup);
    steps_->update(rate);

    progress_.random_step = model_.random().step();
    return count({loss, norm, rate, tokens}, batches);
}
// [step: finite]
/// Before the update, so that the weights are still those of before.
void Practice::require_finite(double loss, double norm) const {
    if (std::isfinite(loss) && std::isfinite(norm)) return;
    const Index step = progress_.step + 1;
    throw std::runtime_error(fmt::format(
        "step {}: the {} is {}. The learning rate was {:.2g}; a smaller one, a longer warm-up than "
        "{} steps, or clipping{} may help. The weights are still those of step {}.",
        step, std::isfinite(loss) ? "gradient's norm" : "loss", std::isfinite(loss) ? norm : loss,
        learning_rate(step, options_.learning_rate, options_.warmup), options_.warmup,
        options_.clip > 0 ? fmt::format(" below {}", options_.clip) : "", progress_.step));
}
// [step: count]
PracticeStep Practice::count(const PracticeStep& step, std::span<const Batch> batches) {
    Index words = 0;
    for (const Batch& batch : batches)
        for (const std::int32_t target : batch.target_out.values()) words += target != symbols_.pad;
    progress_.loss_sum += step.loss * static_cast<double>(words);
    progress_.norm_sum += step.gradient_norm;
    progress_.target_words += words;
    progress_.tokens += step.tokens;
    ++progress_.epoch_steps;
    return step;
}
// [epoch]
EpochReport Practice::end_epoch(const Validation& validation) {
    RunProgress& p = progress_;
    require(epoch_over(), "epoch {}: {} of {} batches are done", p.epoch, p.batch,
            batches_.count());
    p.epochs.push_back({.epoch = p.epoch,
                        .steps = p.step,
                        .loss = p.loss_sum / static_cast<double>(p.target_words),
                        .dev_loss = validation.loss,
                        .bleu = validation.score,
                        .gradient_norm = p.norm_sum / static_cast<double>(p.epoch_steps),
                        .seconds = p.seconds,
                        .tokens_per_second = p.epoch_seconds > 0
                                                 ? static_cast<double>(p.tokens) / p.epoch_seconds
                                                 : 0});
    p.loss_sum = p.norm_sum = p.epoch_seconds = 0;
    p.target_words = p.tokens = p.epoch_steps = p.batch = 0;
    batches_.draw(++p.epoch);
    return p.epochs.back();
}

void Practice::took(double seconds, bool training) {
    seconds = team_.agreed(seconds);
    progress_.seconds += seconds;
    if (training) progress_.epoch_seconds += seconds;
}

std::optional<EpochReport> RunProgress::best() const {
    std::optional<EpochReport> best;
    for (const EpochReport& e : epochs)
        if (!best || std::tuple(e.bleu, -e.dev_loss) > std::tuple(best->bleu, -best->dev_loss))
            best = e;
    return best;
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

bool RunProgress::keeps_mean(double dev_loss) const {
    return dev_loss < best()->dev_loss;  // by BLEU the luck that chose `best()` would count twice
}
// [over]
Practice::End Practice::end() const {
    const std::vector<EpochReport>& epochs = progress_.epochs;
    if (epochs.empty() || progress_.batch > 0) return End::none;
    const Index done = epochs.back().epoch;
    if (done >= options_.epochs) return End::epochs;
    if (options_.patience > 0 && done - progress_.last_better() >= options_.patience)
        return End::patience;
    const double seconds = progress_.seconds + next_epoch_seconds();
    return options_.minutes > 0 && seconds > 60 * options_.minutes ? End::clock : End::none;
}

/// As many as the last one took.
double Practice::next_epoch_seconds() const {
    const std::vector<EpochReport>& epochs = progress_.epochs;
    return epochs.back().seconds - (epochs.size() > 1 ? epochs[epochs.size() - 2].seconds : 0);
}

// [over: in words]
std::string Practice::over() const {
    const End why = end();
    if (why == End::none) return "";
    if (why == End::epochs)
        return fmt::format("epoch {} was the last one", progress_.epochs.back().epoch);
    if (why == End::patience)
        return fmt::format("neither BLEU nor the loss has got better since epoch {}",
                           progress_.last_better());
    return fmt::format("another epoch takes {:.0f} s and would end after more than {} min",
                       next_epoch_seconds(), options_.minutes);
}

std::string Practice::cut_short() const {
    if (end() != End::clock) return "";
    return fmt::format(
        "--minutes {} were enough for {} of {} epochs on this machine, so the model has learned "
        "less than it could; the same command with --resume --minutes 0 goes on",
        options_.minutes, progress_.epochs.back().epoch, options_.epochs);
}
// [go on]
void Practice::go_on(const RunProgress& progress) {
    require(progress.epoch >= 1, "practice: epoch {}, expected 1 or more", progress.epoch);
    require(progress.batch <= 0 || (progress.target_words > 0 && progress.epoch_steps > 0),
            "practice: {} words and {} steps in {} batches", progress.target_words,
            progress.epoch_steps, progress.batch);
    batches_.draw(progress.epoch);
    const Index count = batches_.count();
    if (progress.batch < 0 || progress.batch > count) batches_.draw(progress_.epoch);
    require(progress.batch >= 0 && progress.batch <= count, "practice: batch {} of an epoch of {}",
            progress.batch, count);
    progress_ = progress;
    model_.random().go_to({.step = progress.random_step});
    steps_->set_steps(progress.step);
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

std::string explain_bad_epoch(const EpochReport& report, Index steps_before, double frequency_loss,
                              const PracticeOptions& options) {
    if (steps_before < options.warmup || report.loss < frequency_loss) return "";
    return fmt::format(
        "epoch {}: the loss per word is {:.3f}; whoever knows the words' frequencies and nothing "
        "else has {:.3f}. The model learns nothing from its input: try a smaller learning rate "
        "than {:.2g} or a longer warm-up than {} steps, and look whether sources and targets are "
        "translations of each other.",
        report.epoch, report.loss, frequency_loss, options.learning_rate, options.warmup);
}
// [run]
namespace {

/// Seconds since the last call.
class Lap {
public:
    double operator()() {
        const auto now = std::chrono::steady_clock::now(), before = std::exchange(start_, now);
        return std::chrono::duration<double>(now - before).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string practise(Practice& run, const std::function<Validation(const Transformer&)>& validate,
                     const RunListeners& listeners) {
    Lap lap;
    while (run.over().empty()) {
        while (!run.epoch_over()) {
            const PracticeStep step = run.step();
            run.took(lap(), true);
            listeners.step(step);
            listeners.safe_place(false);
        }
        const Validation validation = validate(run.model());
        run.took(lap(), false);
        listeners.epoch(run.end_epoch(validation), validation);
        listeners.safe_place(true);
    }
    return run.over();
}

}  // namespace abh
