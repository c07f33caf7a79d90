#include "chapters/11_on_the_gpu/cost.hpp"

#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [measure]
Cost cost_of(const std::function<void()>& f) {
    f();  // warms up: the device receives the tensors that it lacks
    Cost cost;
    if (cuda::count_kernels(true)) {
        f();
        cost.count = cuda::kernel_counts().front();
        cuda::count_kernels(false);
        return cost;
    }
    std::vector<double> ms;
    for (int i = 0; i < 21; ++i) {
        synchronize();
        ms.push_back(milliseconds([&] {
            f();
            synchronize();
        }));
    }
    cost.microseconds = 1000 * quantile(ms, 0.5);
    return cost;
}

double ratio(Index a, Index b) {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}
// [variants]
void show_variants(const std::string& title, const std::vector<Variant>& variants,
                   Results& results) {
    section(title);
    if (cuda::device().emulated())
        fmt::print("{:28}{:>10}{:>10}{:>13}{:>11}{:>11}{:>10}\n", "", "bytes", "requests",
                   "sectors/req", "shared", "turns/req", "barriers");
    const Tensor expected = variants.front().run();
    for (const Variant& way : variants) {
        const double far = max_difference(way.run(), expected);
        if (!(far <= way.rounding))
            throw std::runtime_error(fmt::format(
                "variants: {} differs from the first variant by {}, expected at most {}", way.name,
                far, way.rounding));
        const Cost cost = cost_of([&] { way.run(); });
        const cuda::KernelCount& c = cost.count;
        if (!cuda::device().emulated()) {
            fmt::print("{:28}{:>10.1f} us\n", way.name, cost.microseconds);
            results.set_varying(way.key + "_us", cost.microseconds, "us");
            continue;
        }
        const double sectors = ratio(c.sectors, c.requests),
                     turns = ratio(c.shared_turns, c.shared_requests);
        fmt::print("{:28}{:>10}{:>10}{:>13.2f}{:>11}{:>11.2f}{:>10}\n", way.name, c.bytes,
                   c.requests, sectors, c.shared_requests, turns, c.barriers);
        results.set(way.key + "_bytes", static_cast<double>(c.bytes));
        results.set(way.key + "_traffic", 32 * static_cast<double>(c.sectors));
        results.set(way.key + "_sectors", sectors);
        results.set(way.key + "_turns", turns);
        results.set(way.key + "_barriers", static_cast<double>(c.barriers));
    }
}

}  // namespace abh
