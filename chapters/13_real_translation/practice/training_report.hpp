#pragma once

#include <span>
#include <string>

#include "chapters/13_real_translation/practice/training_run.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [progress]
/// "1:02:03", "2:03".
std::string clock_text(double seconds);
/// "epoch 2, batch 13 of 120  loss 3.214  learning rate 3.0e-04  21034 words/s  12:30 left". The
/// time left is an estimate, for a run that takes all its epochs or minutes.
std::string progress_text(const TrainingRun& run, const StepResult& step);
// [epochs]
/// Prints a line for an epoch, and the translations of a few sentences.
void print_epoch(const EpochReport& report, const Validation& validation,
                 std::span<const Index> samples);
/// Writes the learning curves: an array each for loss, development loss and BLEU.
void write_curves(std::span<const EpochReport> epochs, Results& results);
// [reports]
/// A model's translations of held-out sentences.
struct Translated {
    const HeldOut& pairs;
    const std::vector<std::string>& translations;  ///< one for each pair
};

/// Prints sources, references and translations of `n` evenly spaced sentences.
void show_samples(const Translated& test, std::size_t n);
/// Prints, for the sentences in four parts by the length of the source, BLEU and the share of
/// translations that equal their reference.
void show_by_length(const Translated& test, const TextScoring& scoring, Results& results);
/// Prints scores and speed of beam search on the development sentences, for several widths.
/// @param team  the processes that share the work
void show_beams(const Transformer& model, const HeldOut& dev, const Symbols& symbols,
                const TextScoring& scoring, Results& results, const Team& team = alone());

}  // namespace abh
