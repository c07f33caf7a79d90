#include "chapters/14_on_many_machines/costs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "chapters/12_where_the_time_goes/works.hpp"
#include "chapters/14_on_many_machines/data_parallel/data_parallel.hpp"
#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "chapters/14_on_many_machines/ring.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [sums]
namespace {

/// Sums through rank 0, which collects x from all the others and sends the sum back.
void sum_at_one(Ranks& ranks, Tensor& x) {
    Tensor part(x.shape());
    for (Index r = 1; r < ranks.size(); ++r) {
        ranks.send_receive("to one", 0, r == ranks.rank() ? message_of(x) : Message{}, r,
                           ranks.first() ? room_of(part) : Room{});
        if (ranks.first()) x += part;
    }
    for (Index r = 1; r < ranks.size(); ++r)
        ranks.send_receive("back", r, ranks.first() ? message_of(x) : Message{}, 0,
                           r == ranks.rank() ? room_of(x) : Room{});
}

/// How many numbers the busiest of `n` ranks sends during `work`, which each starts with `size`.
/// @param last  what the last number must then be on every rank
template <class F>
double most_sent(Index n, Index size, Real last, const F& work) {
    const auto bytes = of_local_ranks(n, [&](Ranks& ranks) {
        Tensor x = Tensor::full({size}, 1);
        work(ranks, x);
        require(x(size - 1) == last, "{} ranks: {}, expected {}", n, x(size - 1), last);
        return ranks.traffic().bytes;
    });
    return static_cast<double>(std::ranges::max(bytes)) / sizeof(Real);
}

void show_sums(Results& results) {
    constexpr Index size = 720'720;  // divisible by every number of ranks below
    const std::vector<Index> counts{2, 3, 4, 6, 8, 12, 16};
    Tensor sent({static_cast<Index>(counts.size()), 3});
    Table table(results, {{"ranks", "5"},
                          {"ring", "8.3f", "ring_sent_{}"},
                          {"2 (n - 1) / n", "8.3f"},
                          {"by one rank", "8.3f", "one_sent_{}"},
                          {"n - 1", "8.3f"},
                          {"broadcast", "10.3f", "broadcast_sent_{}"},
                          {"rounds", "7.0f"}});
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const Index n = counts[i];
        const double all = size, ranks = static_cast<double>(n);
        const auto sum = static_cast<Real>(n);
        const double ring =
            most_sent(n, size, sum, [](Ranks& r, Tensor& x) { ring_all_reduce(r, x); });
        const double one = most_sent(n, size, sum, sum_at_one);
        const double tree = most_sent(n, size, 1, [](Ranks& r, Tensor& x) { r.broadcast(x); });
        table.row(n, n, ring / all, 2 * (ranks - 1) / ranks, one / all, ranks - 1, tree / all,
                  std::ceil(std::log2(ranks)));
        sent(i, 0) = static_cast<Real>(n);
        sent(i, 1) = static_cast<Real>(ring / all);
        sent(i, 2) = static_cast<Real>(one / all);
    }
    results.array("sent", sent);
}
}  // namespace
// [steps]
namespace {

/// Bytes that all ranks together send in a step: partial gradients to owners, weights back.
double step_formula(Index ranks, Index shards, double parameters) {
    double nodes = 0;
    for (Index r = 0; r < ranks; ++r)
        nodes += static_cast<double>(TreeSum::nodes_of(parts_of(r, ranks, shards)).size());
    const double n = static_cast<double>(ranks);
    return sizeof(Real) * parameters * (nodes * (n - 1) / n + (n - 1));
}

void show_steps(Results& results) {
    TransformerOptions o = TransformerOptions::article();
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.layer.attention.d_model = 64;
    o.layer.d_ff = 128;
    const Batch batch = random_batch(o, 8, 6, 6, 1);
    Table table(results, {{"ranks", "5"},
                          {"shards", "6"},
                          {"bytes of a step", "15", "step_sent_{}"},
                          {"by the formula", "14", "step_formula_{}"},
                          {"for comparing", "13"}});
    for (const Index n : {1, 2, 3, 4, 8}) {
        const Index shards = n == 3 ? 4 : n;
        const auto sent = of_local_ranks(n, [&](Ranks& ranks) {
            Transformer model(o, Random(1));
            DataParallel steps(model, {.optimizer = "adam"}, ranks, {.shards = shards});
            const Index before = ranks.traffic().bytes;
            steps.forward_backward(batch);
            steps.update(Real(1e-3));
            return ranks.traffic().bytes - before;
        });
        // not in the formula: the ranks compare what they call, and gather lengths and losses
        const auto met = of_local_ranks(n, [](Ranks& ranks) {
            ranks.barrier();
            return ranks.traffic().bytes;
        });
        const Index compared = std::reduce(met.begin(), met.end()) +
                               (n - 1) * (n * static_cast<Index>(sizeof(Index)) +
                                          shards * static_cast<Index>(sizeof(double)));
        table.row(n, n, shards, std::reduce(sent.begin(), sent.end()) - compared,
                  std::llround(step_formula(n, shards, static_cast<double>(count_parameters(o)))),
                  compared);
    }
}

}  // namespace
// [bytes]
void show_bytes(Results& results) {
    section("What the busiest rank sends, in rows");
    show_sums(results);
    section("What a training step sends");
    show_steps(results);
}
// [fit]
// minimizes the sum of e_i^2, the relative errors being e_i = (latency + b m_i - t_i) / t_i: two
// linear equations
Link fit_link(std::span<const double> bytes, std::span<const double> seconds) {
    double a = 0, b = 0, c = 0, p = 0, q = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const double one = 1 / seconds[i], m = bytes[i] / seconds[i];
        a += one * one;
        b += one * m;
        c += m * m;
        p += one;
        q += m;
    }
    const double determinant = a * c - b * b;
    return {(p * c - q * b) / determinant, (a * q - b * p) / determinant};
}
// [messages]
namespace {

/// Seconds that a message takes from one rank to another: half a round trip, the median of several.
double message_seconds(Ranks& ranks, Index bytes) {
    constexpr int rounds = 41;
    std::vector<std::byte> data(static_cast<std::size_t>(bytes));
    const auto send = [&](Index from, Index to) {
        ranks.send_receive("message", to, ranks.rank() == from ? Message(data) : Message{}, from,
                           ranks.rank() == to ? Room(data) : Room{});
    };
    std::vector<double> ms;
    ranks.barrier();
    for (int round = 0; round < rounds; ++round)
        ms.push_back(milliseconds([&] {
            send(0, 1);
            send(1, 0);
        }));
    return quantile(ms, 0.5) / 2e3;
}

/// Links as specified: bandwidth by their makers, latency by NCCL's table.
struct Network {
    const char *name, *key;
    Link link;
    bool many_ranks = true;  ///< or no more than 8, which one machine has
};

constexpr Network networks[] = {{"NVLink 4, 450 GB/s", "nvlink", {3.4e-6, 1 / 450e9}, false},
                                {"400 Gb/s", "gb400", {14e-6, 8 / 400e9}},
                                {"100 Gb/s", "gb100", {14e-6, 8 / 100e9}}};

void show_rings(Link here, Results& results) {
    constexpr double bytes = 4 * 65e6;  // the base model of Vaswani et al., in single precision
    Table table(results, {{"ring all-reduce of 260 MB, computed", "<36"},
                          varying("8 ranks", "10.2f", "ring_{}_8", "ms"),
                          varying("64 ranks", "10.2f", "ring_{}_64", "ms"),
                          varying("1,024 ranks", "11.2f", "ring_{}_1024", "ms")});
    const auto row = [&](const Network& network) {
        const std::string name = fmt::format("{}, ms", network.name);
        const auto ms = [&](Index n) { return 1e3 * network.link.ring(bytes, n); };
        if (network.many_ranks)
            table.row(network.key, name, ms(8), ms(64), ms(1024));
        else
            table.row(network.key, name, ms(8), "", "");
    };
    row({"between two ranks here", "here", here});
    for (const Network& network : networks) row(network);
    Tensor times({10, 1 + static_cast<Index>(std::size(networks))});  // n, and ms of each network
    for (Index i = 0; i < times.dim(0); ++i) {
        const Index n = Index{2} << i;
        times(i, 0) = static_cast<Real>(n);
        for (Index k = 0; const Network& network : networks)
            times(i, ++k) = static_cast<Real>(1e3 * network.link.ring(bytes, n));
    }
    results.array("ring_ms", times);
}

}  // namespace
// [links]
void show_links(Ranks& ranks, Results& results) {
    require(ranks.size() >= 2,
            "links: needs two processes, but there is one; start two with --ranks 2");
    std::vector<double> bytes, seconds;
    for (Index size = 4; size <= (Index{16} << 20); size *= 4) {
        message_seconds(ranks, size);  // warms up
        bytes.push_back(static_cast<double>(size));
        seconds.push_back(message_seconds(ranks, size));
    }
    const Link here = fit_link(bytes, seconds);
    section("Messages from rank 0 to rank 1");
    Table table(results, {{"bytes", "10"}, varying("us", "10.2f"), varying("fitted", "10.2f")});
    Tensor sizes({static_cast<Index>(bytes.size())}), times(sizes.shape());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        table.row(i, static_cast<Index>(bytes[i]), 1e6 * seconds[i], 1e6 * here(bytes[i]));
        sizes(i) = static_cast<Real>(bytes[i]);
        times(i) = static_cast<Real>(seconds[i]);
    }
    fmt::print("\nlatency {:.2f} us, {:.2f} GB/s\n", 1e6 * here.latency,
               1e-9 / here.seconds_per_byte);
    results.set_varying("latency", 1e6 * here.latency, "us");
    results.set_varying("bandwidth", 1e-9 / here.seconds_per_byte, "GB/s");
    results.array("message_bytes", sizes);
    results.array("message_seconds", times);
    section("What rings would take");
    show_rings(here, results);
}

// [step]
std::optional<std::size_t> slow_rank(const std::vector<double>& computes) {
    if (computes.size() < 2) return {};
    std::vector<double> others = computes;
    const auto slowest = std::ranges::max_element(others);
    const auto rank = static_cast<std::size_t>(slowest - others.begin());
    others.erase(slowest);
    if (computes[rank] <= 1.2 * quantile(others, 0.5)) return {};
    return rank;
}

namespace {

double step_ms(DataParallel& steps, const Batch& batch) {
    return milliseconds([&] {
        steps.forward_backward(batch);
        steps.update(Real(1e-4));
    });
}

}  // namespace

void show_step(Ranks& ranks, Index shards, Index count, std::uint64_t seed, Results& results) {
    const Step work = base_step();
    Transformer model(work.options, Random(seed));
    DataParallel steps(model, {.optimizer = "adam"}, ranks, {.shards = shards});
    const Batch batch = work.batch(seed);
    std::vector<double> all, computed;
    for (Index i = -2; i < count; ++i) {  // the first two warm up
        ranks.barrier();
        const double before = ranks.traffic().seconds;
        const double ms = step_ms(steps, batch);
        if (i < 0) continue;
        all.push_back(ms);
        computed.push_back(ms - 1e3 * (ranks.traffic().seconds - before));
    }
    const double step = quantile(all, 0.5);
    const Tensor own =
        ranks.all_gather(Tensor::full({1}, static_cast<Real>(quantile(computed, 0.5))));
    std::vector<double> for_a_shard;
    section(fmt::format("A step: {}, {} shards", work.name, shards));
    Table table(results, {{"rank", "4"},
                          varying("computes, ms", "12.1f", "computes_{}_ms", "ms"),
                          varying("waits, ms", "10.1f", "waits_{}_ms", "ms")});
    for (Index r = 0; r < ranks.size(); ++r) {
        const auto ms = static_cast<double>(own(r));
        table.row(r, r, ms, step - ms);
        for_a_shard.push_back(ms / static_cast<double>(parts_of(r, ranks.size(), shards).count()));
    }
    fmt::print("a step takes {:.1f} ms\n", step);
    if (const auto slow = slow_rank(for_a_shard))
        fmt::print("rank {} is slow: it needs longer to compute a shard than the other ranks\n",
                   *slow);
    results.set_varying("step_ms", step, "ms");
}
// [kinds]
namespace {

/// One kind of step. All kinds train the same model, each with an optimizer of its own.
struct Kind {
    const char *key, *name;
    DataParallel steps;
    std::vector<double> ms = {};
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
    Transformer model(work.options, Random(seed));
    const TrainingOptions adam{.optimizer = "adam"};
    Kind kinds[] = {
        {"overlapped", "while backward goes on", {model, adam, ranks, {.shards = n}}},
        {"apart", "after backward", {model, adam, ranks, {.shards = n, .overlap = false}}},
        {"bfloat16",
         "while backward goes on, in bfloat16",
         {model, adam, ranks, {.shards = n, .bfloat16 = true}}}};
    for (Index i = -1; i < count; ++i)  // the first warms up
        for (Kind& kind : kinds) {
            ranks.barrier();
            const double ms = step_ms(kind.steps, batch);
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
        results.array(kind.key, trips_of(kind.steps.sum()));
    }
    const double gain = quantile(kinds[1].ms, 0.5) / quantile(kinds[0].ms, 0.5);
    results.set_varying("gain", gain);
    section("Buckets, while backward goes on");
    const Tensor trips = trips_of(kinds[0].steps.sum());
    Table buckets(results,
                  {{"bucket", "6"}, varying("left, ms", "8.1f"), varying("seen, ms", "8.1f")});
    for (Index b = 0; b < trips.dim(0); ++b)
        if (b < 3 || b + 3 >= trips.dim(0)) buckets.row(b, b, trips(b, 0), trips(b, 1));
    fmt::print("backward is over after {:.1f} ms\n", trips(0, 2));
}

}  // namespace abh
