#include "chapters/12_where_the_time_goes/limits.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/matmul.hpp"

namespace abh {
// [limits]
namespace {

/// The shortest of at least three calls, in seconds, because a limit is the best ever reached.
double shortest(double seconds, const Work& work) {
    work();  // warm
    double best = milliseconds(work), all = best;
    for (int calls = 1; calls < 3 || all < 1e3 * seconds; ++calls) {
        const double time = milliseconds(work);
        best = std::min(best, time);
        all += time;
    }
    return best / 1e3;
}

double product_flops(double seconds) {
    constexpr Index n = 1024;
    const Tensor a = Tensor::full({n, n}, 1), b = Tensor::full({n, n}, 1);
    return 2 * double{n} * n * n / shortest(seconds, [&] { matmul(a, b); });
}

/// What all caches hold together, in bytes; 0 if the system does not say.
Index caches() {
    // Linux lists every cache; what sysconf says of the last level is wrong on some processors.
    std::map<std::string, Index> last;  // bytes of a cache, by the processors that share it
    for (int cpu = 0, found = 1; found; ++cpu)
        for (int level = found = 0; level < 8; ++level) {
            const std::string folder =
                fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, level);
            std::string who;
            Index kilobytes = 0;
            std::ifstream(folder + "size") >> kilobytes;
            if (!(std::ifstream(folder + "shared_cpu_list") >> who)) break;
            found = 1;
            last[who] = std::max(last[who], kilobytes << 10);
        }
    Index bytes = 0;
    for (const auto& [who, size] : last) bytes += size;
#ifdef _SC_LEVEL3_CACHE_SIZE  // glibc
    if (bytes == 0)
        for (const int level :
             {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE})
            bytes = std::max<Index>(bytes, sysconf(level));
#endif
    return bytes;
}

}  // namespace

Index stream_bytes() {
    constexpr Index least = Index{1} << 28;
    const Index memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return std::min(std::max(least, 2 * caches() + (least >> 4)), memory / 8);
}

Limits measure_limits(Index bytes, double seconds) {
    const auto before = processor_time();
    const Index n = bytes / static_cast<Index>(sizeof(Real));
    constexpr Index part = 1 << 15;   // numbers that a thread reads or updates at a time
    constexpr Index block = 1 << 20;  // numbers that it copies: memcpy then bypasses the cache
    const auto from = std::make_unique_for_overwrite<Real[]>(static_cast<std::size_t>(n));
    const auto to = std::make_unique_for_overwrite<Real[]>(static_cast<std::size_t>(n));
    parallel_ranges(n, part, [&](Index begin, Index end) {
        std::fill(from.get() + begin, from.get() + end, Real(1));
        std::fill(to.get() + begin, to.get() + end, Real(1));
    });
    std::vector<Real> sums(static_cast<std::size_t>(ceil_div(n, part)));
    const auto read = [&](Index begin, Index end) {
        const Index quarter = (end - begin) / 4;  // four places at once: more is on its way
        const auto x = [&](Index i) {
            return ConstVectorMap(from.get() + begin + i * quarter, quarter);
        };
        sums[static_cast<std::size_t>(begin / part)] = (x(0) + x(1) + x(2) + x(3)).sum();
    };
    const auto copy = [&](Index begin, Index end) {
        std::memcpy(to.get() + begin, from.get() + begin,
                    static_cast<std::size_t>(end - begin) * sizeof(Real));
    };
    const auto update = [&](Index begin, Index end) {
        VectorMap x(to.get() + begin, end - begin);
        x.array() = Real(0.5) * x.array() + Real(0.25);
    };
    const auto rate = [&](double ways, Index grain, const auto& work) {
        return ways * static_cast<double>(n) * sizeof(Real) /
               shortest(seconds, [&] { parallel_ranges(n, grain, work); });
    };
    return {product_flops(seconds), rate(1, part, read),           rate(2, block, copy),
            rate(2, part, update),  static_cast<double>(caches()), {share_of_others(before), 0}};
}
// [least time]
LeastTime least_time(const Floor& floor, const Limits& limits) {
    // of what is read again, a cache still holds no more than it can
    const double held = std::min(floor.bytes_again, floor.again * limits.cache);
    return {1e3 * 2 * floor.multiply_adds / limits.product_flops,
            1e3 * ((floor.bytes_read - held) / limits.read + floor.bytes_updated / limits.update +
                   floor.bytes_passed / limits.best_stream())};
}

double floor_ms(const Floor& floor, const Limits& limits) {
    const auto [products_ms, memory_ms] = least_time(floor, limits);
    return floor.bytes() > std::max(64e6, 2 * limits.cache) ? std::max(products_ms, memory_ms)
                                                            : products_ms;
}

}  // namespace abh
