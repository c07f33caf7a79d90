#pragma once

#include "chapters/13_real_translation/scores/bleu.hpp"

namespace abh {
// [bootstrap]
/// The scores of resampled test sets: as many sentences as there are, each drawn from all of them.
/// Koehn 2004, "Statistical significance tests for machine translation evaluation".
std::vector<double> bootstrap(std::span<const Counts> sentences, const BleuOptions& options,
                              std::uint64_t seed, Index samples = 1000);

/// The mean of scores, and half the width of the range of 95 % of them, as sacrebleu gives them.
struct Interval {
    double mean, half_width;
};
Interval interval_of(std::vector<double> scores);
// [paired]
/// How often chance alone makes a difference as large as that between two systems. Both are scored
/// on the same samples. The differences, less their mean, show what chance does to two equal
/// systems, so p is the share of them that exceeds the difference seen. It is 1 for systems with
/// the same score on every sample.
/// @param sentences, others  counts of the same sentences
double p_value(std::span<const Counts> sentences, std::span<const Counts> others,
               const BleuOptions& options, std::uint64_t seed, Index samples = 1000);

}  // namespace abh
