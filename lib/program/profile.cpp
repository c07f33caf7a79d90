#include "lib/program/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/device.hpp"
#include "lib/io/files.hpp"
#include "lib/way.hpp"

namespace abh {
// [record]
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

struct Block {
    const char* name;
    Clock::time_point begin, end;
    double inner;  ///< microseconds in blocks inside this one
};

struct Profile {
    Clock::time_point start = Clock::now();
    std::vector<Block> open, closed;  // of those closed, the first ones: a trace need not be long
    std::map<std::string_view, ProfileRow> sums;
};

constexpr std::size_t longest_trace = 1 << 18;
thread_local Profile* profile = nullptr;  // of the thread that is measured

/// So that a block's time is that of the kernels which it starts. An error comes up again later.
void wait_for_device() noexcept {
    try {
        synchronize();
    } catch (const std::exception&) {
    }
}

void begin_block(const char* name) {
    if (!profile) return;  // of another thread
    wait_for_device();
    profile->open.push_back({name, Clock::now(), {}, 0});
}

void end_block() {
    if (!profile || profile->open.empty()) return;
    wait_for_device();
    Block block = profile->open.back();
    profile->open.pop_back();
    block.end = Clock::now();
    const double time = microseconds(block.end - block.begin);
    ProfileRow& sum = profile->sums[block.name];
    ++sum.calls;
    sum.ms += (time - block.inner) / 1000;
    if (!profile->open.empty()) profile->open.back().inner += time;
    if (profile->closed.size() < longest_trace) profile->closed.push_back(block);
}

constexpr Observer observer{begin_block, end_block};

}  // namespace

void start_profile() {
    static Profile instance;
    instance = Profile();
    profile = &instance;
    detail::observer = &observer;
}
// [rows]
std::vector<ProfileRow> profile_rows() {
    std::vector<ProfileRow> rows;
    if (!profile) return rows;
    double rest = microseconds(Clock::now() - profile->start) / 1000;
    for (const auto& [name, sum] : profile->sums) {
        rows.push_back({std::string(name), sum.calls, sum.ms});
        rest -= sum.ms;
    }
    rows.push_back({"(anything else)", 0, rest});
    std::ranges::sort(rows, std::greater(), &ProfileRow::ms);
    return rows;
}
// [table]
std::string profile_table() {
    if (!profile) return "";
    const std::vector<ProfileRow> rows = profile_rows();
    double all = 0;
    for (const ProfileRow& row : rows) all += row.ms;
    std::string table = fmt::format("{:28}{:>10}{:>12}{:>9}\n", "own time of", "calls", "ms", "%");
    for (const ProfileRow& row : rows)
        table += fmt::format("{:28}{:>10}{:>12.3f}{:>9.1f}\n", row.name, row.calls, row.ms,
                             100 * row.ms / all);
    return table;
}
// [trace]
void save_trace(const std::filesystem::path& path) {
    AtomicFile file(path);
    file.write("{\"traceEvents\":[");
    const char* separator = "\n";
    if (profile)
        for (const Block& block : profile->closed)
            file.write(fmt::format(
                "{}{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"{}\","
                "\"ts\":{:.3f},\"dur\":{:.3f}}}",
                std::exchange(separator, ",\n"), block.name,
                microseconds(block.begin - profile->start), microseconds(block.end - block.begin)));
    file.write("\n]}\n");
    file.commit();
}

}  // namespace abh
