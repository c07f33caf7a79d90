#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/results.hpp"

namespace abh {
// [stopwatch]
using Work = std::function<void()>;

/// Milliseconds that `work` takes.
double milliseconds(const Work& work);
/// The shortest of `times` calls.
double best_of(int times, const Work& work);

// [take turns]
/// A way to do some work.
struct Way {
    Work run;
    Work prepare = nullptr;  ///< not timed; a round is then one call of `run`
};

/// How long two ways to the same result took, in rounds in which they took turns.
struct Comparison {
    double plain_ms, fast_ms;  ///< medians, of one call
    double ratio;              ///< median of the rounds' ratios, plain over fast
    double low, high;          ///< their quartiles
};

/// Lets the two ways take turns: then whatever else runs on the machine slows both. A round before,
/// which warms caches, is not counted.
/// @param rounds    at least 5
/// @param round_ms  a way that takes less is repeated within a round
/// @throws std::invalid_argument for fewer rounds
Comparison take_turns(const Way& plain, const Way& fast, int rounds = 7, double round_ms = 5);
/// The number below which the share `part` of the numbers lies, interpolated; 0.5: the median.
/// @throws std::invalid_argument if there is no number
double quantile(std::vector<double> numbers, double part);

// [show gain]
/// Prints `title`, and above the columns of `show_gain` what they hold.
void gain_header(const std::string& title);
/// Measures by `take_turns`, prints a line, and sets `KEY_plain`, `KEY_fast` and `KEY_gain`.
void show_gain(const std::string& what, const std::string& key, int rounds, const Work& plain,
               const Work& fast, Results& results);

}  // namespace abh
