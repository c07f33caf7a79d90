#pragma once

#include <functional>
#include <string>

#include "lib/results.hpp"

namespace abh {
// [stopwatch]
using Work = std::function<void()>;

/// Milliseconds that `work` takes.
double milliseconds(const Work& work);
/// The shortest of `times` calls.
double best_of(int times, const Work& work);

/// What two ways to the same result take, in milliseconds.
struct TwoTimes {
    double plain, fast;

    double gain() const { return plain / fast; }
};

/// Medians of `rounds` rounds, in each of which the two ways take turns: then whatever else runs on
/// the machine slows both. One round before them, which warms caches, is not counted.
TwoTimes take_turns(int rounds, const Work& plain, const Work& fast);

/// Prints `title`, and above the columns of `show_gain` what they hold.
void gain_header(const std::string& title);
/// Measures by `take_turns`, prints a line, and sets `KEY_plain`, `KEY_fast` and `KEY_gain`.
void show_gain(const std::string& what, const std::string& key, int rounds, const Work& plain,
               const Work& fast, Results& results);

}  // namespace abh
