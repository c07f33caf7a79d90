#include <algorithm>
#include <cmath>

#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/11_on_the_gpu/cost.hpp"
#include "chapters/11_on_the_gpu/faults.cuh"
#include "chapters/11_on_the_gpu/ladder.cuh"
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
    const Tensor rows = numbers({8, 1000}, seed + 3);
    show_variants("Coalescing: a copy of 16,384 numbers",
                  {{"copy_1", "neighbors take neighbors", [&] { return cuda::copy(line, 1); }},
                   {"copy_2", "2 together", [&] { return cuda::copy(line, 2); }},
                   {"copy_8", "8 together", [&] { return cuda::copy(line, 8); }},
                   {"copy_32", "32 together", [&] { return cuda::copy(line, 32); }}},
                  results);
    using cuda::Turn, cuda::Sum, cuda::Passes;
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
    show_variants("Passes: softmax of 8 rows of 1,000",
                  {{"softmax_three", "largest, sum, weights",
                    [&] { return cuda::softmax(rows, Passes::three); }},
                   {"softmax_two", "largest and sum, weights",
                    [&] { return cuda::softmax(rows, Passes::two); }}},
                  results);
}
// [ladder]
void show_ladder(std::uint64_t seed, Results& results) {
    const Tensor a = numbers({128, 128}, seed), b = numbers({128, 128}, seed + 1);
    std::vector<Variant> rungs;
    for (const auto& [rung, key, name] : cuda::rungs)
        rungs.push_back({key, name, [&a, &b, rung = rung] { return cuda::product(a, b, rung); },
                         rung == cuda::Rung::tensor_cores ? 0.1 : 1e-3});
    show_variants("A product, rung by rung: 128 x 128 times 128 x 128", rungs, results);
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
/// The emulator counts the kernels between the last two reports.
Losses train_some_steps(const Task& task, Index steps, std::uint64_t seed) {
    TrainingOptions training = task.training;
    training.epochs = steps;  // of one batch each
    training.batch_size = static_cast<Index>(task.corpus.train.size());
    Transformer model(task.model, Random(seed));
    Losses result;
    Transfers before;
    train(model, task.corpus, training, [&](const StepReport& step) {
        result.loss.push_back(step.loss);
        if (step.step == steps - 1) before = transfers();
        if (step.step >= steps - 1) cuda::count_kernels(step.step == steps - 1);
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
    const Losses device = train_some_steps(task, steps, seed);
    const std::vector<cuda::KernelCount> counts = cuda::kernel_counts();
    set_way(Way::fast);
    const Losses host = train_some_steps(task, steps, seed);
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
    if (!cuda::device().emulated()) {
        fmt::print("skipped on a real device, where these kernels have undefined behavior\n");
        return;
    }
    for (const std::string& message : cuda::messages_of_faults()) fmt::print("{}\n", message);
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
        show_ladder(program.seed(), results);
        show_roofline(results);
        show_bounds(program.seed(), results);
        show_training(program.seed(), results);
        show_faults();
    });
}
