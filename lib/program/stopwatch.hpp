#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/io/results.hpp"
#include "lib/program/load.hpp"
#include "lib/program/table.hpp"
#include "lib/way.hpp"

namespace abh {
// [stopwatch]
using Work = std::function<void()>;
/// Milliseconds since some moment. A test has a clock of its own, which only its work moves on.
using Clock = std::function<double()>;

/// The machine's clock, which nobody sets.
double steady_ms();
/// Milliseconds that `work` takes.
double milliseconds(const Work& work, const Clock& clock = steady_ms);
/// The number below which the share `part` of the numbers lies, interpolated; 0.5: the median.
/// @throws std::invalid_argument if there is no number
double quantile(std::vector<double> numbers, double part);

// [measure]
/// How long some work takes.
struct Measured {
    double ms = 0;             ///< median of the calls
    double low = 0, high = 0;  ///< quartiles
    int calls = 0;
    Noise noise;
};

/// What these times say. @param others  the load by other programs meanwhile
Measured measured(const std::vector<double>& ms, const std::optional<double>& others);
/// Times at least so many calls, and goes on until `seconds` have passed, long enough to tell the
/// load by other programs. Warm up before.
Measured measure_once(const Work& work, int calls = 7, double seconds = 0.5,
                      const Clock& clock = steady_ms);
/// The same; a disturbed measurement is repeated.
Measured measure(const Work& work, int calls = 7, double seconds = 0.5);
/// Whether a time is more than 5 % below the least that the work can take: then the time or the
/// floor is wrong, and the measurement must be refused.
bool beats_floor(double ms, double floor_ms);

// [take turns]
/// A way to do some work.
struct Side {
    Work run;
    Work prepare = nullptr;  ///< not timed; a round is then one call of `run`
};

/// `work` under one of its ways.
Side under(Way way, const Work& work);

/// How long two ways to the same result took, in rounds in which they took turns.
struct Comparison {
    double plain_ms = 0, fast_ms = 0;  ///< medians, of one call
    double ratio = 0;                  ///< median of the rounds' ratios, plain over fast
    double low = 0, high = 0;          ///< their quartiles
    Noise noise;
};

/// What these rounds say. @param others  the load by other programs meanwhile
/// @throws std::invalid_argument unless both have the same number of rounds, at least 5
Comparison compared(const std::vector<double>& plain_ms, const std::vector<double>& fast_ms,
                    const std::optional<double>& others);
/// Lets the two ways take turns: then whatever else runs on the machine slows both. Before each
/// turn the work runs once without being timed, or is prepared.
/// @param rounds    at least 5
/// @param round_ms  a way that takes less is repeated within a round
/// @param seconds   there are more rounds until so much time has passed: long enough to tell the
///                  load by other programs
/// @throws std::invalid_argument for fewer rounds
Comparison take_turns(const Side& plain, const Side& fast, int rounds = 7, double round_ms = 5,
                      double seconds = 0.5, const Clock& clock = steady_ms);

// [gain table]
/// A table of gains: a line for each comparison, with both times, their ratio and its quartiles. A
/// disturbed comparison is repeated; if it stays disturbed, the line and the results say so.
///
///     GainTable table(results, "512 columns");
///     table.ways("softmax", "softmax", [&] { softmax(x); });
class GainTable {
public:
    /// Prints the number of threads and the heading.
    /// @param first, second  what the columns of times are called
    /// @param digits         of a time, behind the point
    GainTable(Results& results, const std::string& title, const std::string& first = "plain",
              const std::string& second = "fast", std::FILE* out = stdout, int digits = 3,
              Clock clock = steady_ms);

    /// Compares `work` under `Way::plain` with the same work under `Way::fast`. Sets `KEY_plain`,
    /// `KEY_fast`, `KEY_gain`, and the gain's quartiles `KEY_low` and `KEY_high`.
    Comparison ways(const std::string& what, const std::string& key, const Work& work,
                    int rounds = 7);
    /// Compares two pieces of code that are no ways of one operation; `first` counts as plain.
    Comparison sides(const std::string& what, const std::string& key, const Side& first,
                     const Side& second, int rounds = 7);

private:
    Table table_;
    Clock clock_;
};

}  // namespace abh
