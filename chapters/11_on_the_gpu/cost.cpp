#include "chapters/11_on_the_gpu/cost.hpp"

#include "chapters/11_on_the_gpu/ladder.cuh"
#include "chapters/11_on_the_gpu/variants.cuh"
#include "lib/cuda/counts.hpp"
#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/random.hpp"

namespace abh {
// [measure]
namespace {

/// What a call's kernel asks for, on the emulator.
/// @param f  makes tensors on the device and launches one kind of kernel
cuda::KernelCount count_of(const std::function<void()>& f) {
    f();  // warms up: the device receives the tensors that it lacks
    cuda::count_kernels(true);
    f();
    cuda::count_kernels(false);
    return cuda::kernel_counts().front();
}

/// Microseconds of a call on a real device: the median of some, each of which waits for the device.
double microseconds_of(const std::function<void()>& f) {
    std::vector<double> ms;
    for (int i = 0; i < 21; ++i) {
        synchronize();
        ms.push_back(milliseconds([&] {
            f();
            synchronize();
        }));
    }
    return 1000 * quantile(ms, 0.5);
}

}  // namespace

double ratio(Index a, Index b) {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}
// [variants]
void show_variants(const std::string& title, const std::vector<Variant>& variants,
                   Results& results) {
    section(title);
    const bool emulated = cuda::device().emulated();
    const std::vector<Column> time{{"", "<28"}, varying("us", "8.1f", "{}_us", "us")},
        counts{{"", "<28"},
               {"bytes", "8.0f", "{}_bytes"},
               {"requests", "8.0f"},
               {"sectors/req", "11.2f", "{}_sectors"},
               {"shared", "9.0f"},
               {"turns/req", "9.2f", "{}_turns"},
               {"barriers", "8.0f", "{}_barriers"}};
    Table table(results, emulated ? counts : time);
    const Tensor expected = variants.front().run();
    for (const auto& [key, name, run, rounding] : variants) {
        const double far = max_difference(run(), expected);
        if (!(far <= rounding))
            throw std::runtime_error(fmt::format(
                "variants: {} differs from the first variant by {}, expected at most {}", name, far,
                rounding));
        if (!emulated) {
            table.row(key, name, microseconds_of(run));
            continue;
        }
        const cuda::KernelCount c = count_of(run);
        table.row(key, name, c.bytes, c.requests, ratio(c.sectors, c.requests), c.shared_requests,
                  ratio(c.shared_turns, c.shared_requests), c.barriers);
        results.set(key + "_traffic", 32 * static_cast<double>(c.sectors));
    }
}
// [parts]
namespace {

/// One part of a step, forward unless its name says otherwise, if it reads or writes each tensor
/// once.
struct Part {
    std::string name;
    double flops, numbers;  ///< operations; numbers of 4 bytes, read or written

    double intensity() const { return flops / (4 * numbers); }
};

/// The parts of a training step of the base model of 2017 on 64 sentences of 64 words.
std::vector<Part> parts_of_a_step() {
    const double rows = 64 * 64, d = 512, d_ff = 2048, heads = 8, length = 64, words = 8000;
    const auto map = [&](const char* name, double d_in, double d_out) {
        return Part{name, 2 * rows * d_in * d_out, rows * (d_in + d_out) + d_in * d_out};
    };
    const double scores = rows * length * heads;  // over all queries, keys and heads
    const double weights = 18 * 4 * d * d + 12 * 2 * d * d_ff + 3 * words * d;  // matrices only
    return {
        {"ReLU, backward", rows * d_ff, 3 * rows * d_ff},
        {"embedding, scaled", rows * d, 2 * rows * d},
        // reads x and the branch; writes y, the normalized rows, and one byte of mask per element
        {"residual, dropout, norm", 11 * rows * d, 4.25 * rows * d},
        {"softmax of all scores", 5 * scores, 2 * scores},
        {"Adam", 14 * weights, 7 * weights},  // reads w, g, m, v; writes w, m, v
        // the second reading does not count, because a cache serves most of it
        {"cross entropy", 5 * rows * words, 2 * rows * words},
        {"attention, fused", 4 * scores * d / heads, 4 * rows * d},
        map("linear map, 512 to 512", d, d),
        map("linear map, 512 to 2048", d, d_ff),
        map("linear map, to 8000 words", d, words),
    };
}
// [roofs]
/// What an H200 does at most in a second, in FLOP or bytes. Arithmetic and device memory are those
/// of its data sheet, whose rates of tensor cores are for sparse matrices: twice those for dense
/// ones.
namespace h200 {
constexpr double fp32 = 67e12, tf32 = 989e12 / 2, bf16 = 1979e12 / 2;
constexpr double memory = 4.8e12;
constexpr double l2 = 6.65e12;                               // measured on an H100, for OpenXLA
constexpr double cores = 132, clock = fp32 / (cores * 256);  // of a core: 128 multiply-adds a cycle
constexpr double shared = cores * clock * 32 * 4;            // 32 banks of 4 bytes
}  // namespace h200

}  // namespace
// [roofline]
void show_roofline(Results& results) {
    section("Operations per byte");
    const std::vector<Part> parts = parts_of_a_step();
    Tensor intensity({static_cast<Index>(parts.size())});
    std::string names;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        fmt::print("{:28}{:>10.2f} GFLOP{:>10.1f} MB{:>12.2f} FLOP per byte\n", part.name,
                   part.flops / 1e9, 4 * part.numbers / 1e6, part.intensity());
        intensity(i) = static_cast<Real>(part.intensity());
        names += (i ? "|" : "") + part.name;
    }
    constexpr double balance = h200::fp32 / h200::memory;
    fmt::print("{:28}{:>42.2f} FLOP per byte\n", "(an H200 in balance)", balance);
    results.set("balance", balance);
    results.array("intensity", intensity);
    results.set("intensity_names", names);
    results.set("norm_intensity", parts[2].intensity());
    results.set("map_intensity", parts[7].intensity());
    results.set("attention_intensity", parts[6].intensity());
}
// [bounds]
namespace {

/// A kernel of this chapter: the operations of a launch, and the numbers that device memory must
/// hand over at least, if caches serve every repeated reading. 0 if these are few.
struct Launch {
    const char *key, *name;
    double flops, numbers;
    cuda::KernelCount count;
    double level = h200::fp32;  ///< of its arithmetic
};

/// Prints a line for each launch, and sets arrays of the results whose names begin with `key`.
void show(const std::string& key, const std::vector<Launch>& launches, Results& results) {
    const std::string names[] = {"device memory", "L2", "shared memory"};
    const double bytes_per_second[] = {h200::memory, h200::l2, h200::shared};
    fmt::print("{:24}{:>10}{:>10}{:>10}{:>10}\n", "FLOP per byte of", "device", "L2", "shared",
               "at most");
    Tensor intensity({static_cast<Index>(launches.size()), 3});
    std::string labels;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const Launch& launch = launches[i];
        const double bytes[] = {4 * launch.numbers, 32 * static_cast<double>(launch.count.sectors),
                                128 * static_cast<double>(launch.count.shared_turns)};
        double bound = launch.level;
        std::string by = "arithmetic", cells;
        for (int m = 0; m < 3; ++m) {
            const double per_byte = launch.flops / bytes[m];  // infinity, where it needs none
            intensity(i, m) = static_cast<Real>(per_byte);
            cells += bytes[m] == 0 ? fmt::format("{:>10}", "-") : fmt::format("{:10.2f}", per_byte);
            if (per_byte * bytes_per_second[m] >= bound) continue;
            bound = per_byte * bytes_per_second[m];
            by = names[m];
        }
        fmt::print("{:24}{}{:>10.2f} TFLOP/s, by {}\n", launch.name, cells, bound / 1e12, by);
        results.set(fmt::format("{}_bound", launch.key), bound / 1e12);
        results.set(fmt::format("{}_percent", launch.key), 100 * bound / h200::fp32);
        labels += (i ? "|" : "") + std::string(launch.name);
    }
    results.array(key + "_intensity", intensity);
    results.set(key + "_names", labels);
}

}  // namespace
// [bounds: launches]
void show_bounds(std::uint64_t seed, Results& results) {
    if (!cuda::device().emulated()) return;
    const Stream numbers = Random(seed).stream();
    const Tensor a = normal({96, 128}, numbers), b = normal({128, 64}, numbers);
    const Tensor rows = normal({8, 1000}, numbers);
    const double flops = 2 * 96 * 128 * 64, matrices = 96 * 128 + 128 * 64 + 96 * 64;
    using cuda::Rung;
    section("What bounds the kernels");
    show(
        "kernel",
        {{"sum", "row sums", 8000, 8008, count_of([&] { cuda::row_sums(rows, cuda::Sum::warps); })},
         {"softmax", "softmax in two passes", 5 * 8000, 2 * 8000,
          count_of([&] { cuda::softmax(rows, cuda::Passes::two); })},
         {"plain", "product, plain", flops, matrices,
          count_of([&] { cuda::product(a, b, Rung::coalesced); })},
         {"tiled", "product, tiled", flops, matrices,
          count_of([&] { cuda::product(a, b, Rung::shared); })}},
        results);

    section("What bounds the rungs");
    std::vector<Launch> ladder;
    for (const auto& [rung, key, name] : cuda::rungs) {
        // along k alone, as if it were so long that the results did not count
        const auto count_along = [&, rung = rung](Index k) {
            const Tensor x = normal({128, k}, numbers), y = normal({k, 128}, numbers);
            return count_of([&] { cuda::product(x, y, rung); });
        };
        const cuda::KernelCount less = count_along(16);
        cuda::KernelCount count = count_along(32);
        count.sectors -= less.sectors;
        count.shared_turns -= less.shared_turns;
        ladder.push_back({key, name, 2 * 128 * 128 * 16, 0, count,
                          rung == Rung::tensor_cores ? h200::tf32 : h200::fp32});
    }
    show("ladder", ladder, results);
    // Of GFLOP/s that Boehm measured for the first rungs on an RTX A6000, percent of its 38.7
    // TFLOP/s
    const double measured[] = {309, 1986, 2980, 8475, 15972, 18237};
    Tensor percent({6});
    for (std::size_t i = 0; i < 6; ++i) {
        percent(static_cast<Index>(i)) = static_cast<Real>(measured[i] / 387);
        results.set(fmt::format("{}_measured", ladder[i].key), measured[i] / 387);
    }
    results.array("ladder_measured", percent);
    const auto roofs = [](double first, double second, double third) {
        return Tensor({3}, {Real(first), Real(second), Real(third)});
    };
    results.array("roofs_of_arithmetic", roofs(h200::fp32, h200::tf32, h200::bf16));
    results.array("roofs_of_memory", roofs(h200::memory, h200::l2, h200::shared));
}

}  // namespace abh
