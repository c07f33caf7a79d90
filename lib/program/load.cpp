#include "lib/program/load.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace abh {
// [processor time]
std::optional<ProcessorTime> processor_time(const std::filesystem::path& file) {
    std::ifstream stat(file);
    std::string name;
    if (!(stat >> name) || name != "cpu") return {};
    const double tick = 1 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    ProcessorTime time;
    double ticks = 0;
    for (int field = 0; field < 8 && stat >> ticks; ++field) {
        time.all += tick * ticks;
        const bool idle = field == 3 || field == 4;  // idle, or waiting for a disk
        if (!idle) time.busy += tick * ticks;
    }
    if (!stat || time.all <= 0) return {};
    constexpr auto rest = std::numeric_limits<std::streamsize>::max();
    while (stat.ignore(rest, '\n') && stat >> name && name.starts_with("cpu")) ++time.processors;
    timespec own{};
    if (time.processors == 0 || ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) != 0) return {};
    time.own = static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
    return time;
}
// [load]
std::optional<double> share_of_others(const std::optional<ProcessorTime>& before,
                                      const std::optional<ProcessorTime>& after) {
    if (!before || !after) return {};
    const double all = after->all - before->all;
    if (all < 0.4 * after->processors) return {};
    const double others = (after->busy - before->busy) - (after->own - before->own);
    return std::clamp(others / all, 0.0, 1.0);
}
// [noise]
bool Noise::disturbed() const {
    return others.value_or(0) > 0.1 || spread > 0.3;
}

}  // namespace abh
