#include "chapters/14_on_many_machines/costs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "chapters/12_where_the_time_goes/works.hpp"
#include "chapters/14_on_many_machines/data_parallel/data_parallel.hpp"
#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "chapters/14_on_many_machines/ring.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/program/table.hpp"

namespace abh {
// [sums]
namespace {

/// The sum by way of rank 0, which takes what all others have and hands the sum back.
void sum_at_one(Ranks& ranks, Tensor& x) {
    const auto n = static_cast<std::size_t>(ranks.size());
    std::vector<Tensor> parts(n, x);
    std::vector<Message> to(n);
    std::vector<Room> from(n);
    for (std::size_t r = 1; r < n; ++r)
        if (ranks.first()) {
            parts[r] = Tensor(x.shape());
            from[r] = ranks.room_of(parts[r]);
        }
    if (!ranks.first()) to[0] = ranks.message_of(x);
    ranks.exchange_now("to one", to, from);
    for (std::size_t r = 1; r < n && ranks.first(); ++r) x += parts[r];
    to.assign(n, ranks.first() ? ranks.message_of(x) : Message{});
    from.assign(n, Room{});
    to[0] = {};
    if (!ranks.first()) from[0] = ranks.room_of(x);
    ranks.exchange_now("back", to, from);
}

/// Numbers that the busiest of `n` ranks sends while `work` is done with `size` ones of each rank.
/// @param last  what then is the last number of each
template <class F>
double most_sent(Index n, Index size, Real last, const F& work) {
    std::vector<Index> bytes(static_cast<std::size_t>(n));
    run_local_ranks(n, [&](Ranks& ranks) {
        Tensor x = Tensor::full({size}, 1);
        ranks.barrier();
        const Index before = ranks.traffic().bytes;
        work(ranks, x);
        bytes[static_cast<std::size_t>(ranks.rank())] = ranks.traffic().bytes - before;
        require(x(size - 1) == last, "{} ranks: {}, expected {}", n, x(size - 1), last);
    });
    return static_cast<double>(*std::max_element(bytes.begin(), bytes.end())) / sizeof(Real);
}

void show_sums(Results& results) {
    constexpr Index size = 720'720;  // as many parts as there are ranks, all equal
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

/// Bytes that the ranks send in a step together: partial gradients to their owners, and weights
/// back.
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
    const Batch batch = random_batch(8, 6, o.src_words, 6, o.tgt_words, 1);
    Table table(results, {{"ranks", "5"},
                          {"shards", "6"},
                          {"bytes of a step", "15", "step_sent_{}"},
                          {"by the formula", "14", "step_formula_{}"},
                          {"for comparing", "13"}});
    for (const Index n : {1, 2, 3, 4, 8}) {
        const Index shards = n == 3 ? 4 : n;
        std::vector<Index> sent(static_cast<std::size_t>(n));
        Index parameters = 0, meetings = 0;
        run_local_ranks(n, [&](Ranks& ranks) {
            Transformer model(o, Random(1));
            DataParallel steps(model, {.optimizer = "adam"}, ranks, {.shards = shards});
            const Traffic before = ranks.traffic();
            ranks.barrier();
            const Index meeting = ranks.traffic().bytes - before.bytes;
            steps.forward_backward(batch);
            steps.update(Real(1e-3));
            sent[static_cast<std::size_t>(ranks.rank())] =
                ranks.traffic().bytes - before.bytes - meeting;
            if (!ranks.first()) return;
            parameters = count_elements(parameters_of(model));
            meetings = n * meeting + n * (n - 1) * static_cast<Index>(sizeof(Index));
        });
        double bytes = 0;
        for (const Index b : sent) bytes += static_cast<double>(b);
        double losses = 0;  // each rank's, of its shards, to all others
        for (Index r = 0; r < n; ++r)
            losses +=
                static_cast<double>((n - 1) * parts_of(r, n, shards).count()) * sizeof(double);
        const double compared = static_cast<double>(meetings) + losses;
        table.row(n, n, shards, static_cast<Index>(bytes - compared),
                  std::llround(step_formula(n, shards, static_cast<double>(parameters))),
                  static_cast<Index>(compared));
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
// relative errors e_i = (latency + b m_i - t_i) / t_i, smallest in the sum of squares: two
// equations
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
    require(determinant > 0, "link: {} measurements of one size tell no latency", bytes.size());
    return {(p * c - q * b) / determinant, (a * q - b * p) / determinant};
}
// [messages]
namespace {

/// Seconds that a message takes from one rank to another: half of there and back, median of
/// several.
double message_seconds(Ranks& ranks, Index bytes) {
    constexpr int rounds = 41;
    std::vector<std::byte> data(static_cast<std::size_t>(bytes));
    const auto n = static_cast<std::size_t>(ranks.size());
    const auto send = [&](std::size_t from, std::size_t to) {
        std::vector<Message> messages(n);
        std::vector<Room> rooms(n);
        const auto me = static_cast<std::size_t>(ranks.rank());
        if (me == from) messages[to] = data;
        if (me == to) rooms[from] = data;
        ranks.exchange_now("message", messages, rooms);
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

/// Links as their makers, or NCCL's table of latencies, state them.
struct Network {
    const char *name, *key;
    Link link;
};

constexpr Network networks[] = {{"NVLink 4, 450 GB/s", "nvlink", {3.4e-6, 1 / 450e9}},
                                {"400 Gb/s", "gb400", {14e-6, 8 / 400e9}},
                                {"100 Gb/s", "gb100", {14e-6, 8 / 100e9}}};

void show_rings(Link here, Results& results) {
    constexpr double bytes = 4 * 65e6;  // the base model of Vaswani et al., in single precision
    Table table(results, {{"ring all-reduce of 260 MB, computed", "<36"},
                          varying("8 ranks", "10.2f", "ring_{}_8", "ms"),
                          varying("64 ranks", "10.2f", "ring_{}_64", "ms"),
                          varying("1,024 ranks", "11.2f", "ring_{}_1024", "ms")});
    const auto row = [&](const char* key, const char* name, const Link& link) {
        table.row(key, fmt::format("{}, ms", name), 1e3 * link.ring(bytes, 8),
                  1e3 * link.ring(bytes, 64), 1e3 * link.ring(bytes, 1024));
    };
    row("here", "between two ranks here", here);
    for (const Network& network : networks) row(network.key, network.name, network.link);
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
    require(ranks.size() >= 2, "links: there is one process; --ranks 2 starts two");
    std::vector<double> bytes, seconds;
    for (Index size = 4; size <= (Index{16} << 20); size *= 4) {
        message_seconds(ranks, size);  // to warm up
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
namespace {

/// One number of each rank, on all.
std::vector<double> gathered(Ranks& ranks, double number) {
    std::vector<double> all;
    const Tensor numbers = ranks.all_gather(Tensor::full({1}, static_cast<Real>(number)));
    for (const Real x : numbers.values()) all.push_back(static_cast<double>(x));
    return all;
}

}  // namespace

std::optional<std::size_t> slow_rank(const std::vector<double>& computes) {
    std::vector<double> others = computes;
    const auto slowest = std::max_element(others.begin(), others.end());
    if (computes.size() < 2) return {};
    const auto rank = static_cast<std::size_t>(slowest - others.begin());
    others.erase(slowest);
    if (computes[rank] <= 1.2 * quantile(others, 0.5)) return {};
    return rank;
}

namespace {

/// @param computes  of each rank, for all of its shards
void name_slow_rank(std::vector<double> computes, Index shards) {
    const auto n = static_cast<Index>(computes.size());
    for (Index r = 0; r < n; ++r)
        computes[static_cast<std::size_t>(r)] /=
            static_cast<double>(parts_of(r, n, shards).count());
    if (const auto slow = slow_rank(computes))
        fmt::print("rank {} is slow: it computes longer for a shard than the others\n", *slow);
}

}  // namespace

void name_slow_rank(Ranks& ranks, Index shards, double seconds) {
    name_slow_rank(gathered(ranks, seconds - ranks.traffic().seconds), shards);
}

void show_step(Ranks& ranks, Index shards, Index count, std::uint64_t seed, Results& results) {
    const Step work = base_step();
    Transformer model(work.options, Random(seed));
    DataParallel steps(model, {.optimizer = "adam"}, ranks, {.shards = shards});
    const Batch batch = random_batch(work.sentences, work.src_words, work.options.src_words,
                                     work.tgt_words, work.options.tgt_words, seed);
    std::vector<double> all, computed;
    for (Index i = -2; i < count; ++i) {  // the first two to warm up
        ranks.barrier();
        const double before = ranks.traffic().seconds;
        const double ms = milliseconds([&] {
            steps.forward_backward(batch);
            steps.update(Real(1e-4));
        });
        if (i < 0) continue;
        all.push_back(ms);
        computed.push_back(ms - 1e3 * (ranks.traffic().seconds - before));
    }
    const double step = quantile(all, 0.5);
    const std::vector<double> own = gathered(ranks, quantile(computed, 0.5));
    section(fmt::format("A step: {}, {} shards", work.name, shards));
    Table table(results, {{"rank", "4"},
                          varying("computes, ms", "12.1f", "computes_{}_ms", "ms"),
                          varying("waits, ms", "10.1f", "waits_{}_ms", "ms")});
    for (std::size_t r = 0; r < own.size(); ++r) table.row(r, r, own[r], step - own[r]);
    fmt::print("a step takes {:.1f} ms\n", step);
    name_slow_rank(own, shards);
    results.set_varying("step_ms", step, "ms");
}

}  // namespace abh
