#include "lib/program/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace abh {
// [section]
void section(const std::string& title) {
    fmt::print("\n== {} ==\n", title);
}
// [progress]
Progress::Progress(std::string what, Index total)
    : what_(std::move(what)),
      total_(std::max<Index>(total, 1)),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(Index done, const std::string& note) {
    const int permille = static_cast<int>(1000 * done / total_);
    if (!terminal_ || permille == shown_permille_) return;
    constexpr int width = 32;
    const std::string bar(static_cast<std::size_t>(width * permille / 1000), '#');
    std::fflush(stdout);
    fmt::print(stderr, "\r\x1b[K{} [{:<{}}] {:3d} % {}", what_, bar, width, permille / 10, note);
    std::fflush(stderr);
    shown_permille_ = permille;
}

void Progress::clear() {
    if (shown_permille_ < 0) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    shown_permille_ = -1;
}

}  // namespace abh
