#include "chapters/14_on_many_machines/data_parallel/overlap.hpp"

#include <array>
#include <vector>

#include "chapters/12_where_the_time_goes/floor.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "chapters/14_on_many_machines/data_parallel/data_parallel.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [kinds]
namespace {

/// One kind of step. All kinds train the same model, each with an optimizer of its own.
struct Kind {
    const char *key, *name;
    DataParallelOptions options;
    std::vector<double> ms = {};
    Tensor trips = {};
};

/// When each bucket left and arrived, and when backward was over.
Tensor trips_of(const GradientSum& sum) {
    Tensor rows({static_cast<Index>(sum.trips().size()), 3});
    for (std::size_t b = 0; b < sum.trips().size(); ++b) {
        const auto row = static_cast<Index>(b);
        rows(row, 0) = static_cast<Real>(sum.trips()[b].left);
        rows(row, 1) = static_cast<Real>(sum.trips()[b].arrived);
        rows(row, 2) = static_cast<Real>(sum.computed());
    }
    return rows;
}

}  // namespace
// [overlap]
void show_overlap(Ranks& ranks, Index count, std::uint64_t seed, Results& results) {
    require(ranks.size() >= 2,
            "overlap: needs two processes, but there is one; start two with --ranks 2");
    const Step work = base_step();
    const Batch batch = work.batch(seed);
    const Index n = ranks.size();
    std::array kinds{
        Kind{"overlapped", "while backward goes on", {.shards = n}},
        Kind{"apart", "after backward", {.shards = n, .overlap = false}},
        Kind{"bfloat16", "while backward goes on, in bfloat16", {.shards = n, .bfloat16 = true}}};
    Transformer model(work.options, Random(seed));
    std::vector<std::unique_ptr<DataParallel>> all;
    for (const Kind& kind : kinds)
        all.push_back(std::make_unique<DataParallel>(model, TrainingOptions{.optimizer = "adam"},
                                                     ranks, kind.options));
    for (Index i = -1; i < count; ++i)  // the first warms up
        for (std::size_t k = 0; k < kinds.size(); ++k) {
            Kind& kind = kinds[k];
            DataParallel& steps = *all[k];
            ranks.barrier();
            const double ms = milliseconds([&] {
                steps.forward_backward(batch);
                steps.update(Real(1e-4));
            });
            kind.trips = trips_of(steps.sum());
            if (i >= 0) kind.ms.push_back(ms);
        }
    const double sent = sizeof(Real) * static_cast<double>(count_parameters(work.options)) *
                        static_cast<double>(n - 1) / static_cast<double>(n);
    results.set("sent_mb", 1e-6 * sent);
    results.set("gigabit_s", 8e-9 * sent);  // on a link of 1 Gb/s
    section("A step whose gradients go out");
    Table table(results, {{"", "<36"}, varying("a step, ms", "10.1f", "{}_ms", "ms")});
    for (const Kind& kind : kinds) {
        table.row(kind.key, kind.name, quantile(kind.ms, 0.5));
        results.array(kind.key, kind.trips);
    }
    const double gain = quantile(kinds[1].ms, 0.5) / quantile(kinds[0].ms, 0.5);
    results.set_varying("gain", gain);
    section("Buckets, while backward goes on");
    const Tensor& trips = kinds.front().trips;
    Table buckets(results,
                  {{"bucket", "6"}, varying("left, ms", "8.1f"), varying("seen, ms", "8.1f")});
    for (Index b = 0; b < trips.dim(0); ++b)
        if (b < 3 || b + 3 >= trips.dim(0)) buckets.row(b, b, trips(b, 0), trips(b, 1));
    fmt::print("backward is over after {:.1f} ms\n", trips(0, 2));
}

}  // namespace abh
