#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [compare]
/// A way to do some work.
struct Way {
    std::function<Tensor()> run;              ///< returns the result
    std::function<void()> prepare = nullptr;  ///< not timed; a round is then one call of `run`
};

/// How long two ways took, in rounds in which they took turns.
struct Comparison {
    double plain_ms = 0, other_ms = 0;  ///< medians, of one call
    double ratio = 0;                   ///< median of the rounds' ratios, plain over other
    double low = 0, high = 0;           ///< their quartiles
};

/// Runs both ways once to warm up, then in turns.
/// @param rounds    at least 5
/// @param round_ms  a way that takes less is repeated within a round
Comparison compare(const Way& plain, const Way& other, int rounds = 7, double round_ms = 5);
/// The number below which the share `part` of the numbers lies, interpolated; 0.5: the median.
/// @throws std::invalid_argument if there is no number
double quantile(std::vector<double> numbers, double part);
// [twins]
/// Two ways to the same result.
struct Twins {
    std::string key, name;  ///< for the results, for the table
    std::function<std::pair<Way, Way>()> make;
    int rounds = 7;
};

/// The plain way and the book's.
std::vector<Twins> optimizations();
/// The slow way that one falls into, and the one around it.
std::vector<Twins> traps();

}  // namespace abh
