#pragma once

#include <filesystem>
#include <optional>

namespace abh {
// [processor time]
/// Seconds of processor time since the machine started.
struct ProcessorTime {
    double busy = 0;     ///< spent on any program
    double own = 0;      ///< spent on this program
    double all = 0;      ///< busy or idle
    int processors = 0;  ///< among which `all` is divided
};

/// None where the system does not say.
/// @param file  counts of ticks, as Linux keeps them
std::optional<ProcessorTime> processor_time(const std::filesystem::path& file = "/proc/stat");
// [load]
/// The share of all processors that other programs used between two moments. None where it is
/// unknown, or the moments are less than 0.4 s apart: the system counts in hundredths of a second.
std::optional<double> share_of_others(const std::optional<ProcessorTime>& before,
                                      const std::optional<ProcessorTime>& after);

/// Watches what other programs use of the processors, from its construction on.
class OthersLoad {
public:
    std::optional<double> share() const { return share_of_others(before_, processor_time()); }

private:
    std::optional<ProcessorTime> before_ = processor_time();
};
// [noise]
/// What can disturb a measurement.
struct Noise {
    std::optional<double> others;  ///< share of the processors that other programs used
    double spread = 0;             ///< distance between the quartiles, divided by the median

    /// True if others used more than 10 % of the processors, or the quartiles are more than 30 % of
    /// the median apart: such a measurement supports no conclusion. An unknown load does not count.
    bool disturbed() const;
};

/// Calls `measure` again, up to three times, while what it returns is disturbed. Returns the last
/// measurement, which may still be disturbed.
template <class Measure>
auto undisturbed(const Measure& measure) {
    auto result = measure();
    for (int repeats = 0; repeats < 3 && result.noise.disturbed(); ++repeats) result = measure();
    return result;
}

}  // namespace abh
