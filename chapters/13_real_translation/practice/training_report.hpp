#pragma once

#include <span>
#include <string>

#include "chapters/13_real_translation/practice/training_run.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [progress]
/// Says how far training is: a bar on the terminal, or, where the messages go into a file or a
/// pipe, a line now and then.
class TrainingProgress {
public:
    explicit TrainingProgress(const TrainingRun& run);
    void step(const StepResult& step);
    /// Takes the bar away so that a line can be printed.
    void clear() { bar_.clear(); }

private:
    const TrainingRun& run_;
    Progress bar_;
    bool terminal_;
    double last_ms_ = steady_ms();
};

/// "1:02:03", "2:03".
std::string clock_text(double seconds);
/// "epoch 2, batch 13 of 120  loss 3.214  learning rate 3.0e-04  21034 words/s  12:30 left": the
/// time until the run is over if all epochs come, as far as one can tell.
std::string progress_text(const TrainingRun& run, const StepResult& step);
// [epochs]
/// A line for an epoch, and the translations of some sentences.
void print_epoch(const EpochReport& report, const Validation& validation,
                 std::span<const Index> samples);
/// The learning curves: an array for each column of the report.
void write_curves(std::span<const EpochReport> epochs, Results& results);

}  // namespace abh
