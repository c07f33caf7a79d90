#include "chapters/13_real_translation/practice/training_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "chapters/13_real_translation/data/text.hpp"

namespace abh {
// [progress]
TrainingProgress::TrainingProgress(const TrainingRun& run)
    : run_(run),
      bar_("training", run.options().training.epochs * run.batches()),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

void TrainingProgress::step(const StepResult& step) {
    const RunProgress& p = run_.progress();
    if (terminal_)
        return bar_.show((p.epoch - 1) * run_.batches() + p.batch, progress_text(run_, step));
    if (steady_ms() - last_ms_ < 30'000) return;
    last_ms_ = steady_ms();
    fmt::print(stderr, "{}\n", progress_text(run_, step));  // stderr keeps nothing back
}

std::string clock_text(double seconds) {
    const auto all = static_cast<Index>(std::max(seconds, 0.0));
    const Index hours = all / 3600, minutes = all / 60 % 60;
    return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60)
                     : fmt::format("{}:{:02}", minutes, all % 60);
}

std::string progress_text(const TrainingRun& run, const StepResult& step) {
    const RunProgress& p = run.progress();
    const double done = static_cast<double>(p.epoch - 1) +
                        static_cast<double>(p.batch) / static_cast<double>(run.batches());
    const double all = static_cast<double>(run.options().training.epochs);
    double left = p.seconds * (all - done) / done;  // not before the first step
    if (run.options().minutes > 0) left = std::min(left, 60 * run.options().minutes - p.seconds);
    const double speed = p.epoch_seconds > 0 ? static_cast<double>(p.tokens) / p.epoch_seconds : 0;
    return fmt::format(
        "epoch {}, batch {} of {}  loss {:.3f}  learning rate {:.1e}  {:.0f} words/s  {} left",
        p.epoch, p.batch, run.batches(), step.loss, step.learning_rate, speed, clock_text(left));
}
// [epochs]
void print_epoch(const EpochReport& report, const Validation& validation,
                 std::span<const Index> samples) {
    fmt::print(
        "epoch {:2}  loss {:.3f}  dev loss {:.3f}  perplexity {:7.2f}  BLEU {:5.2f}  {} after the "
        "start, {:.0f} words/s\n",
        report.epoch, report.loss, report.dev_loss, std::exp(report.dev_loss), report.bleu,
        clock_text(report.seconds), report.tokens_per_second);
    for (const Index i : samples)
        fmt::print("          {}\n",
                   printable(validation.translations[static_cast<std::size_t>(i)]));
    std::fflush(stdout);
}
// [curves]
void write_curves(std::span<const EpochReport> epochs, Results& results) {
    const auto curve = [&](const char* name, double EpochReport::*field) {
        Tensor values({static_cast<Index>(epochs.size())});
        for (Index i = 0; const EpochReport& e : epochs) values(i++) = static_cast<Real>(e.*field);
        results.array(name, values);
    };
    curve("curve_loss", &EpochReport::loss);
    curve("curve_dev_loss", &EpochReport::dev_loss);
    curve("curve_bleu", &EpochReport::bleu);
    curve("curve_gradient_norm", &EpochReport::gradient_norm);
    curve("curve_seconds", &EpochReport::seconds);
}

}  // namespace abh
