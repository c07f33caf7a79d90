#include "chapters/12_where_the_time_goes/gains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chapters/12_where_the_time_goes/operations.hpp"
#include "lib/program/output.hpp"
#include "lib/program/table.hpp"

namespace abh {
// [gains]
void show_gains(const Limits& limits, Results& results) {
    section("Plain, fast, and the floor");
    const std::vector<MeasuredOperation> list = measured_operations();
    Tensor points({static_cast<Index>(list.size()), 2});
    std::string names, keys, least_name = "none";
    double least_gain = std::numeric_limits<double>::infinity();
    Table table(results, {{"", "<30"},
                          varying("plain ms", "10.3f", "{}_plain", "ms"),
                          varying("fast ms", "10.3f", "{}_fast", "ms"),
                          varying("gain", "7.2f", "{}_gain"),
                          varying("from", "7.2f", "{}_low"),
                          varying("to", "7.2f", "{}_high"),
                          varying("floor ms", "10.3f", "{}_floor", "ms"),
                          varying("x floor", "9.2f", "{}_over_floor")});
    Progress progress("measuring", static_cast<Index>(list.size()));
    for (Index i = 0; const MeasuredOperation& operation : list) {
        progress.show(i, operation.name);
        const Work work = operation.make();
        const double bytes = operation.bytes();
        const double least_ms =
            1e3 * std::max(operation.flops() / limits.product_flops, bytes / limits.best_stream());
        const Comparison c = undisturbed(
            [&] { return take_turns(under(Way::plain, work), under(Way::fast, work), 5); });
        progress.clear();
        const bool in_memory = bytes > std::max(64e6, 2.0 * static_cast<double>(largest_cache()));
        const bool refused = c.noise.disturbed() || (in_memory && beats_floor(c.fast_ms, least_ms));
        table.measured_row(refused, operation.key, operation.name, c.plain_ms, c.fast_ms, c.ratio,
                           c.low, c.high, least_ms, c.fast_ms / least_ms);
        if (!operation.one_way && !refused && c.ratio < least_gain) {
            least_gain = c.ratio;
            least_name = operation.name;
        }
        points(i, 0) = static_cast<Real>(operation.flops() / bytes);
        points(i, 1) = static_cast<Real>(operation.flops() / c.fast_ms / 1e6);
        results.set(operation.key + "_name", operation.name);
        names += (i ? "|" : "") + operation.name;
        keys += (i++ ? "|" : "") + operation.key;
    }
    results.array("points", points);
    results.set("point_names", names);
    results.set("gains", keys);
    const bool concluded = std::isfinite(least_gain);
    results.set_varying("least_gain", concluded ? least_gain : 0, "", !concluded);
    results.set_varying("least_gain_name", least_name);
    results.set_varying("stream", limits.best_stream() / 1e9, "GB/s");
    results.set_varying("ridge", limits.product_flops / limits.best_stream(), "FLOP/byte");
}

}  // namespace abh
