#pragma once

#include <cstdint>

#include "chapters/13_real_translation/scores/scores.hpp"

namespace abh {
// [bootstrap]
/// How test sets are drawn again: `samples` times, as many sentences as there are, each any of
/// them.
struct BootstrapOptions {
    Index samples = 1000;
    std::uint64_t seed = 1;
};

/// The score of each sample.
/// Koehn 2004, "Statistical significance tests for machine translation evaluation".
/// @throws std::invalid_argument if there is no sentence or no sample
std::vector<double> bootstrap(const Metric& metric, std::span<const Counts> sentences,
                              const BootstrapOptions& options = {});

/// A mean, and what is around it in 95 of 100 samples, as sacrebleu gives them.
struct Interval {
    double mean;
    double half_width;
};
Interval interval_of(std::vector<double> scores);
// [paired]
/// What a paired test of two systems says.
struct PairedTest {
    double value, other;  ///< scores of the test set
    Interval interval, other_interval;
    double p;  ///< how often chance alone makes a difference as large as this one
};

/// Both systems are scored on the same samples. The differences, less their mean, show what chance
/// does to two equal systems; `p` is the share of them that exceeds the difference seen. It is 1
/// for systems that have the same score on every sample.
/// @param sentences, others  counts of the same sentences. @throws std::invalid_argument otherwise
PairedTest compare(const Metric& metric, std::span<const Counts> sentences,
                   std::span<const Counts> others, const BootstrapOptions& options = {});

}  // namespace abh
