#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/program/output.hpp"
#include "lib/way.hpp"

namespace abh {
// [stopwatch]
using Work = std::function<void()>;
/// Milliseconds since some moment. Tests have a clock of their own, which only their work advances.
using Clock = std::function<double()>;

/// Milliseconds on the machine's steady clock, which is never set back.
double steady_ms();
/// Milliseconds that `work` takes.
double milliseconds(const Work& work, const Clock& clock = steady_ms);
/// The number below which the share `part` of the numbers lies, interpolated; 0.5 gives the median.
/// @throws std::invalid_argument if there are no numbers, or unless 0 <= part <= 1
double quantile(std::vector<double> numbers, double part);
// [profile]
/// From here on, measures how long operations take on this thread, which waits for the others.
/// Blocks may nest: the own time of an outer block excludes the blocks inside it.
///
/// `Timed` marks a block, and each operation is one. It costs next to nothing without a profile.
void start_profile();
// [rows]
/// What all blocks of one name took together.
struct ProfileRow {
    std::string name;
    long calls = 0;
    double ms = 0;  ///< own time
};

/// A row for each name and one for the time outside all blocks, the longest own time first.
/// @throws std::bad_optional_access if no profile is being taken, as do the next two
std::vector<ProfileRow> profile_rows();
/// Prints these rows: calls, own time, and its share of all time.
void print_profile();
/// Writes the first quarter of a million blocks, one by one, in a format that `chrome://tracing`
/// and Perfetto open.
/// @throws std::runtime_error if the file cannot be written
void save_trace(const std::filesystem::path& path);
// [load]
/// Seconds of processor time since the machine started, and the moment at which they were read.
struct ProcessorTime {
    double others = 0;  ///< spent on other programs than this one
    double all = 0;     ///< spent on any program, or idle
    double now = 0;     ///< seconds on the steady clock
};

/// The time so far, or none if the system does not provide it.
/// @param file  counts of ticks, in the format of Linux
std::optional<ProcessorTime> processor_time(const std::filesystem::path& file = "/proc/stat");
/// The share of all processors that other programs used between two moments. None if it is unknown
/// or the moments are less than 0.4 s apart, because the system counts in hundredths of a second.
std::optional<double> share_of_others(const std::optional<ProcessorTime>& before,
                                      const std::optional<ProcessorTime>& after = processor_time());
// [noise]
/// What may have disturbed a measurement.
struct Noise {
    std::optional<double> others;  ///< share of the processors that other programs used
    double spread = 0;             ///< distance between the quartiles, divided by the median

    /// True if others used more than 10 % of the processors, or the quartiles are more than 30 % of
    /// the median apart: such a measurement supports no conclusion. An unknown load does not count.
    bool disturbed() const { return others.value_or(0) > 0.1 || spread > 0.3; }
};

/// Calls `measure` again, up to three times, while what it returns is disturbed. Returns the last
/// measurement, which may still be disturbed.
template <class Measure>
auto undisturbed(const Measure& measure) {
    auto result = measure();
    for (int repeats = 0; repeats < 3 && result.noise.disturbed(); ++repeats) result = measure();
    return result;
}
// [measure]
/// How long some work takes.
struct Measured {
    double ms = 0;             ///< median of the calls
    double low = 0, high = 0;  ///< quartiles
    Noise noise;
};

/// Times at least `calls` calls, and goes on until half a second has passed, which is long enough
/// to notice the load by other programs. A disturbed measurement is repeated. Warm up first.
Measured measure(const Work& work, int calls = 7, const Clock& clock = steady_ms);
// [take turns]
/// `work`, computed in the given way.
Work under(Way way, const Work& work);

/// How long two ways to the same result took when they took turns, round by round.
struct Comparison {
    double plain_ms = 0, fast_ms = 0;  ///< medians, per call
    double ratio = 0;                  ///< median of the rounds' ratios, plain over fast
    double low = 0, high = 0;          ///< their quartiles
    Noise noise;
};

/// Lets the two ways take turns, so that whatever else runs on the machine slows both. Before each
/// turn the work runs once without being timed; work of less than 5 ms is repeated within a turn. A
/// disturbed comparison is repeated.
/// @param rounds  how many at least; more follow until half a second has passed
Comparison take_turns(const Work& plain, const Work& fast, int rounds = 7,
                      const Clock& clock = steady_ms);
// [gain table]
/// A table of gains: a line for each comparison, with both times, their ratio and its quartiles. If
/// a comparison stays disturbed, the line and the results say so.
///
///     GainTable table(results, "512 columns");
///     table.ways("softmax", "softmax", [&] { softmax(x); });
class GainTable {
public:
    /// Prints the number of threads and the headings.
    /// @param first, second  headings of the two columns of times
    /// @param digits         of a time, after the point
    GainTable(Results& results, const std::string& title, const std::string& first = "plain",
              const std::string& second = "fast", int digits = 3, Clock clock = steady_ms);

    /// Compares `work` under `Way::plain` with the same work under `Way::fast`. Sets `KEY_plain`,
    /// `KEY_fast`, `KEY_gain`, and the gain's quartiles `KEY_low` and `KEY_high`.
    Comparison ways(const std::string& what, const std::string& key, const Work& work,
                    int rounds = 7);
    /// Compares two pieces of code that are not ways of one operation; `first` counts as plain.
    Comparison sides(const std::string& what, const std::string& key, const Work& first,
                     const Work& second, int rounds = 7);

private:
    Table table_;
    Clock clock_;
};

}  // namespace abh
