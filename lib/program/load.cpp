#include "lib/program/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>

namespace abh {
// [processor time]
std::optional<ProcessorTime> processor_time(const std::filesystem::path& file) {
    std::ifstream stat(file);
    std::string name;
    if (!(stat >> name) || name != "cpu") return {};
    const double tick = 1 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    std::array<double, 8> ticks{};
    for (double& n : ticks) stat >> n;
    ProcessorTime time;
    time.all = tick * std::accumulate(ticks.begin(), ticks.end(), 0.0);
    time.busy = time.all - tick * (ticks[3] + ticks[4]);  // idle, or waiting for a disk
    if (!stat || time.all <= 0) return {};
    constexpr auto rest = std::numeric_limits<std::streamsize>::max();
    while (stat.ignore(rest, '\n') && stat >> name && name.starts_with("cpu")) ++time.processors;
    time.own = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
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
