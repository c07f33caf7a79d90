#pragma once

#include <span>
#include <string>

#include "chapters/13_real_translation/practice/training_run.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [progress]
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
// [reports]
/// What a model made of held-out sentences.
struct Translated {
    const HeldOut& pairs;
    const std::vector<std::string>& translations;  ///< one for each pair
};

/// Sources, references and translations of `n` sentences, evenly spaced.
void show_samples(const Translated& test, std::size_t n);
/// The sentences in four parts by the length of the source: BLEU, and those that are their
/// reference.
void show_by_length(const Translated& test, const TextScoring& scoring, Results& results);
/// Scores and speed of beam search on sentences to choose by, for several widths.
/// @param team  whose processes share the work out
void show_beams(const Transformer& model, const HeldOut& dev, const Symbols& symbols,
                const TextScoring& scoring, Results& results, const Team& team = alone());

}  // namespace abh
