#include <algorithm>
#include <cmath>

#include "chapters/09_training/training.hpp"
#include "chapters/11_on_the_gpu/cost.hpp"
#include "chapters/11_on_the_gpu/faults.cuh"
#include "chapters/11_on_the_gpu/variants.cuh"
#include "lib/cuda/counts.hpp"
#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [variants]
namespace {

Tensor numbers(const Shape& shape, std::uint64_t seed) {
    return normal(shape, Random(seed).stream());
}

void show_all_variants(std::uint64_t seed, Results& results) {
    const Tensor line = numbers({1 << 14}, seed), matrix = numbers({96, 128}, seed + 1);
    const Tensor right = numbers({128, 64}, seed + 2), rows = numbers({8, 1000}, seed + 3);
    show_variants("Coalescing: a copy of 16,384 numbers",
                  {{"copy_1", "neighbors take neighbors", [&] { return cuda::copy(line, 1); }},
                   {"copy_2", "2 together", [&] { return cuda::copy(line, 2); }},
                   {"copy_8", "8 together", [&] { return cuda::copy(line, 8); }},
                   {"copy_32", "32 together", [&] { return cuda::copy(line, 32); }}},
                  results);
    using cuda::Turn, cuda::Sum, cuda::Multiply, cuda::Passes;
    show_variants(
        "Shared memory: the transpose of 96 x 128",
        {{"turn_plain", "read rows, write columns",
          [&] { return cuda::transpose(matrix, Turn::on_the_way); }},
         {"turn_tile", "a tile of 32 x 32", [&] { return cuda::transpose(matrix, Turn::tile); }},
         {"turn_padded", "a tile of 32 x 33",
          [&] { return cuda::transpose(matrix, Turn::padded_tile); }}},
        results);
    show_variants(
        "The reduction: 8 rows of 1,000",
        {{"sum_tree", "a tree in shared memory", [&] { return cuda::row_sums(rows, Sum::tree); }},
         {"sum_warps", "within warps, then over them",
          [&] { return cuda::row_sums(rows, Sum::warps); }}},
        results);
    show_variants("Reuse: the product of 96 x 128 and 128 x 64",
                  {{"product_plain", "each thread by itself",
                    [&] { return cuda::product(matrix, right, Multiply::plain); }},
                   {"product_tiled", "tiles of 16 x 16",
                    [&] { return cuda::product(matrix, right, Multiply::tiled); }}},
                  results);
    show_variants("Passes: softmax of 8 rows of 1,000",
                  {{"softmax_three", "largest, sum, weights",
                    [&] { return cuda::softmax(rows, Passes::three); }},
                   {"softmax_two", "largest and sum, weights",
                    [&] { return cuda::softmax(rows, Passes::two); }}},
                  results);
}
// [parts]
/// One part of a step, forward, or Adam, if it reads or writes each tensor once.
struct Part {
    std::string name;
    double flops, numbers;  ///< operations; numbers of 4 bytes, read or written

    double intensity() const { return flops / (4 * numbers); }
};

/// The parts of a training step of the base model of 2017 on 64 sentences of 64 words.
std::vector<Part> parts_of_a_step() {
    const double rows = 64 * 64, d = 512, d_ff = 2048, heads = 8, length = 64, words = 8000;
    const auto map = [&](double d_in, double d_out) {
        return Part{"", 2 * rows * d_in * d_out, rows * (d_in + d_out) + d_in * d_out};
    };
    const auto named = [](const char* name, Part part) {
        part.name = name;
        return part;
    };
    const double scores = rows * length * heads;  // over all queries, keys and heads
    const double weights = 18 * 4 * d * d + 12 * 2 * d * d_ff + 3 * words * d;  // matrices only
    return {
        {"embedding, scaled", rows * d, 2 * rows * d},
        {"bias and ReLU", 2 * rows * d_ff, 2 * rows * d_ff},
        // reads x and the branch; writes y, the normalized rows, and one byte of mask per element
        {"residual, dropout, norm", 11 * rows * d, 4.25 * rows * d},
        {"softmax of all scores", 5 * scores, 2 * scores},
        {"Adam", 14 * weights, 7 * weights},  // reads w, g, m, v; writes w, m, v
        // the second reading does not count, because a cache serves most of it
        {"cross entropy", 5 * rows * words, 2 * rows * words},
        {"attention, fused", 4 * scores * d / heads, 4 * rows * d},
        named("linear map, 512 to 512", map(d, d)),
        named("linear map, 512 to 2048", map(d, d_ff)),
        named("linear map, to 8000 words", map(d, words)),
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
/// A kernel of this chapter: the operations of a launch, and the numbers that device memory must
/// hand over at least, if caches serve every repeated reading.
struct Launch {
    const char *key, *name;
    double flops, numbers;
    std::function<void()> run;
};

/// For each kernel, its operations per byte of three memories, and the lowest of all roofs there.
void show_bounds(std::uint64_t seed, Results& results) {
    if (!cuda::emulated) return;  // a real device counts nothing
    section("What bounds the kernels");
    const Tensor a = numbers({96, 128}, seed), b = numbers({128, 64}, seed + 1);
    const Tensor rows = numbers({8, 1000}, seed + 2);
    const double multiply_adds = 96 * 128 * 64, matrices = 96 * 128 + 128 * 64 + 96 * 64;
    using cuda::Multiply;
    const std::vector<Launch> launches = {
        {"sum", "row sums", 8000, 8008, [&] { cuda::row_sums(rows, cuda::Sum::warps); }},
        {"softmax", "softmax in two passes", 5 * 8000, 2 * 8000,
         [&] { cuda::softmax(rows, cuda::Passes::two); }},
        {"plain", "product, plain", 2 * multiply_adds, matrices,
         [&] { cuda::product(a, b, Multiply::plain); }},
        {"tiled", "product, tiled", 2 * multiply_adds, matrices,
         [&] { cuda::product(a, b, Multiply::tiled); }},
    };
    const std::string names[] = {"device memory", "L2", "shared memory"};
    const double bytes_per_second[] = {h200::memory, h200::l2, h200::shared};
    fmt::print("{:24}{:>10}{:>10}{:>10}{:>10}\n", "FLOP per byte of", "device", "L2", "shared",
               "at most");
    Tensor intensity({static_cast<Index>(launches.size()), 3});
    std::string labels;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const Launch& launch = launches[i];
        const cuda::KernelCount count = cost_of(launch.run).count;
        const double bytes[] = {4 * launch.numbers, 32 * static_cast<double>(count.sectors),
                                128 * static_cast<double>(count.shared_turns)};
        double bound = h200::fp32;
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
        labels += (i ? "|" : "") + std::string(launch.name);
    }
    results.array("kernel_intensity", intensity);
    results.set("kernel_names", labels);
    const auto roofs = [](double first, double second, double third) {
        return Tensor({3}, {Real(first), Real(second), Real(third)});
    };
    results.array("roofs_of_arithmetic", roofs(h200::fp32, h200::tf32, h200::bf16));
    results.array("roofs_of_memory", roofs(h200::memory, h200::l2, h200::shared));
}
// [small training]
/// A smaller toy, whose training step still launches every kernel.
Task small_task() {
    Task task = toy_task();
    TransformerOptions& o = task.model;
    o.layer.attention.d_model = 32;
    o.layer.attention.n_heads = 2;
    o.layer.d_ff = 64;
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.layer.add_norm.dropout = Real(0.1);
    task.training.optimizer = "adam";
    return task;
}

struct Losses {
    std::vector<double> loss;
    Transfers moved;  ///< from the last report but one to the last, which is one step
};

/// Trains for `steps` steps, each on the same batch, and returns the loss of each.
/// @param count  whether the emulator counts the kernels between the last two reports
Losses train_some_steps(const Task& task, Index steps, std::uint64_t seed, bool count) {
    TrainingOptions training = task.training;
    training.epochs = steps;  // of one batch each
    training.batch_size = static_cast<Index>(task.corpus.train.size());
    Transformer model(task.model, Random(seed));
    Losses result;
    Transfers before;
    train(model, task.corpus, training, [&](const StepReport& step) {
        result.loss.push_back(step.loss);
        if (step.step == steps - 1) before = transfers();
        if (count && step.step >= steps - 1) cuda::count_kernels(step.step == steps - 1);
        const Transfers now = transfers();
        result.moved = {now.to_device - before.to_device, now.to_host - before.to_host,
                        now.bytes_to_device - before.bytes_to_device,
                        now.bytes_to_host - before.bytes_to_host};
    });
    return result;
}
// [training step]
void show_training(std::uint64_t seed, Results& results) {
    constexpr Index steps = 20;
    const Task task = small_task();
    const Losses device = train_some_steps(task, steps, seed, true);
    const std::vector<cuda::KernelCount> counts = cuda::kernel_counts();
    cuda::count_kernels(false);
    set_way(Way::fast);
    const Losses host = train_some_steps(task, steps, seed, false);
    set_way(Way::cuda);

    section("The kernels of a training step");
    double launches = 0;
    if (!counts.empty()) {
        fmt::print("{:30}{:>9}{:>10}{:>12}{:>21}\n", "kernel", "launches", "threads", "bytes",
                   "sectors per request");
        for (const cuda::KernelCount& c : counts) {
            fmt::print("{:30}{:>9}{:>10}{:>12}{:>21.2f}\n", c.name, c.launches, c.threads, c.bytes,
                       ratio(c.sectors, c.requests));
            launches += static_cast<double>(c.launches);
        }
        results.set("step_launches", launches);
    }
    section("The same losses");
    double worst = 0;
    fmt::print("{:>5}{:>14}{:>14}\n", "step", "cpu", "device");
    for (std::size_t i = 0; i < device.loss.size(); ++i) {
        worst = std::max(worst, std::abs(device.loss[i] / host.loss[i] - 1));
        if (i % 5 == 0 || i + 1 == device.loss.size())
            fmt::print("{:5}{:14.6f}{:14.6f}\n", i + 1, host.loss[i], device.loss[i]);
    }
    fmt::print("largest relative difference in {} steps: {:.1e}\n", steps, worst);
    fmt::print("transfers of a warm step: {} to the device, {} bytes; {} back, {} bytes\n",
               device.moved.to_device, device.moved.bytes_to_device, device.moved.to_host,
               device.moved.bytes_to_host);
}
// [faults]
void show_faults() {
    section("What the emulator says");
    if (!cuda::emulated) {
        fmt::print("skipped on a real device, where these kernels have undefined behavior\n");
        return;
    }
    using cuda::Fault;
    for (const Fault fault :
         {Fault::missing_barrier, Fault::divergent_barrier, Fault::out_of_bounds, Fault::unwritten})
        fmt::print("{}\n", cuda::message_of(fault));
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Run kernels on the device, and see what they ask of its memories", "cuda");
    return program.run(argc, argv, [&] {
        require(on_cuda(),
                "chapter 11 runs on the device only; leave out --way, or set it to cuda");
        Results& results = program.results();
        section("The device");
        fmt::print("{}\n", device_name());
        results.set("device", device_name());
        show_all_variants(program.seed(), results);
        show_roofline(results);
        show_bounds(program.seed(), results);
        show_training(program.seed(), results);
        show_faults();
    });
}
