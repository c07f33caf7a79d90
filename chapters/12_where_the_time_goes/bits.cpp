#include "chapters/12_where_the_time_goes/bits.hpp"

#include <array>
#include <cmath>
#include <memory>

#include "chapters/09_training/loop/task.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "lib/matmul.hpp"
#include "lib/precision.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [steps that are lost]
namespace {

/// Adds 0.001 to a weight of 1 a thousand times: to the weight in bf16, and to its master in single
/// precision, which only products read in bf16.
void show_lost_steps(Results& results) {
    section("A weight that does not move");
    const auto in_bf16 = [](Real x) { return rounded(Tensor({1}, {x}), Precision::bf16)(0); };
    Real weight = 1, master = 1;
    Table table(results, {{"steps", "5"},
                          {"in bf16", "10.4f", "weight_{}"},
                          {"master", "10.4f", "master_{}"},
                          {"its bf16", "10.4f", "rounded_{}"}});
    for (Index step = 1; step <= 1000; ++step) {
        weight = in_bf16(weight + Real(0.001));
        master += Real(0.001);
        if (step == 1 || step == 4 || step == 100 || step == 1000)
            table.row(step, step, weight, master, in_bf16(master));
    }
}
// [errors]
/// How much larger `x` is than its distance from `y`: the root mean square of the difference, over
/// that of `x`, in percent.
double error_of(const Tensor& x, const Tensor& y) {
    Tensor difference = x.clone();
    difference *= -1;
    difference += y;
    return 100 * std::sqrt(dot(difference, difference) / dot(x, x));
}

/// Rounds normal numbers, and multiplies them.
void show_errors(std::uint64_t seed, Results& results) {
    section("Errors of numbers, and of sums of products, in percent");
    Table table(results, {{"products in a sum", "17"},
                          {"number, bf16", "14.3f", "number_bf16_{}"},
                          {"sum, bf16", "11.3f", "sum_bf16_{}"},
                          {"number, int8", "14.3f", "number_int8_{}"},
                          {"sum, int8", "11.3f", "sum_int8_{}"}});
    Random random(seed);
    for (const Index n : {64, 512, 4096}) {
        const Tensor a = normal({128, n}, random.stream()), b = normal({128, n}, random.stream());
        const auto errors = [&](Precision precision) {
            const Tensor a_rounded = rounded(a, precision), b_rounded = rounded(b, precision);
            return std::pair(error_of(a, a_rounded),
                             error_of(matmul(a, b, {.transpose_b = true}),
                                      matmul(a_rounded, b_rounded, {.transpose_b = true})));
        };
        const auto [number_16, sum_16] = errors(Precision::bf16);
        const auto [number_8, sum_8] = errors(Precision::int8);
        table.row(n, n, number_16, sum_16, number_8, sum_8);
    }
}
// [scales]
/// Rounds the matrices of a trained model with a scale for each row, and with one for all rows.
void show_scales(Transformer& model, Results& results) {
    section("Errors of a trained model's matrices in 8 bits, in percent");
    Table table(results, {{"matrix", "<40"},
                          varying("a scale for each row", "20.2f", "scale_row_{}"),
                          varying("one for all", "12.2f", "scale_all_{}")});
    Index n = 0;
    double by_rows = 0, by_one = 0;
    for (const auto& [name, parameter] : parameters_of(model)) {
        const Tensor& w = parameter->value;
        if (w.rank() != 2) continue;
        const double rows = error_of(w, rounded(w, Precision::int8)),
                     one = error_of(
                         w, rounded(w.reshape({1, w.size()}), Precision::int8).reshape(w.shape()));
        if (n++ % 6 == 0) table.row(n, name, rows, one);
        by_rows += rows;
        by_one += one;
    }
    table.row("mean", fmt::format("mean of {}", n), by_rows / static_cast<double>(n),
              by_one / static_cast<double>(n));
}
// [trainings]
/// A model trained for the task. Without `masters`, its weights are rounded to bf16 after each
/// step.
Transformer trained(const Task& task, Index seed, Precision precision, bool masters = true) {
    const ScopedPrecision scoped(precision);
    Transformer model(task.model, Random(static_cast<std::uint64_t>(seed)));
    train(model, task.corpus, task.training, [&](const StepReport&) {
        if (masters) return;
        for (const auto& [name, weight] : parameters_of(model))
            weight->assign(rounded(weight->value, Precision::bf16));
    });
    return model;
}

Evaluation held_out(const Transformer& model, const Task& task) {
    return evaluate(model, task.corpus, task.corpus.held_out);
}

constexpr Index seeds = 5;

/// Trains the grammar's model with five seeds in single precision and in bf16.
/// @return  the last of them, in single precision
Transformer show_trainings(Results& results) {
    section("Trainings in single precision, and in bf16");
    const Task task = grammar_task();
    Table table(results, {{"seed", "4"},
                          varying("loss", "10.5f", "loss_float_{}"),
                          varying("in bf16", "10.5f", "loss_bf16_{}"),
                          varying("exact", "8.0f", "exact_float_{}"),
                          varying("in bf16", "8.0f", "exact_bf16_{}")});
    std::array<double, seeds> differences;
    std::unique_ptr<Transformer> last;
    for (Index seed = 1; seed <= seeds; ++seed) {
        last = std::make_unique<Transformer>(trained(task, seed, Precision::single));
        const Evaluation single = held_out(*last, task),
                         bf16 = held_out(trained(task, seed, Precision::bf16), task);
        table.row(seed, seed, single.loss, bf16.loss, single.exact, bf16.exact);
        differences[static_cast<std::size_t>(seed - 1)] = bf16.loss - single.loss;
    }
    double mean = 0, square = 0;
    for (const double d : differences) mean += d / seeds;
    for (const double d : differences) square += (d - mean) * (d - mean) / (seeds - 1);
    const double half = 2.776 * std::sqrt(square / seeds);  // Student's t, 95 %, four degrees
    fmt::print("in bf16 the loss is greater by {:.5f} ± {:.5f}\n", mean, half);
    results.set_varying("loss_more", mean);
    results.set_varying("loss_more_half", half);
    results.set("held_out", task.corpus.held_out.size());
    return *last;
}
// [masters]
/// Trains it in bf16 at a large and at a small learning rate, each time with masters and without.
void show_masters(Results& results) {
    section("With masters, and without");
    Task task = grammar_task();
    Table table(results, {{"seed", "4"},
                          varying("rate 0.001", "12.0f", "masters_large_{}"),
                          varying("no masters", "12.0f", "none_large_{}"),
                          varying("rate 0.0001", "13.0f", "masters_small_{}"),
                          varying("no masters", "12.0f", "none_small_{}")});
    for (Index seed = 1; seed <= seeds; ++seed) {
        const auto exact = [&](double rate, bool masters) {
            task.training.learning_rate = static_cast<Real>(rate);
            return held_out(trained(task, seed, Precision::bf16, masters), task).exact;
        };
        table.row(seed, seed, exact(1e-3, true), exact(1e-3, false), exact(1e-4, true),
                  exact(1e-4, false));
    }
}
// [floors]
/// The floors of a step and of decoding, with what products reach in 32, 16 and 8 bits, and with
/// weights of as many.
/// @param flops  operations a second in each of them
void show_floors(const std::array<double, 3>& flops, Results& results) {
    section("Floors");
    const Limits limits = undisturbed([] { return measure_limits(); });
    Table table(results, {{"", "<28"},
                          varying("32 bits, ms", "11.1f", "{}_floor_32", "ms"),
                          varying("16 bits", "9.1f", "{}_floor_16", "ms"),
                          varying("8 bits", "9.1f", "{}_floor_8", "ms")});
    const auto show = [&](const char* key, const char* name, const Floor& floor) {
        std::array<double, 3> ms{};
        for (std::size_t i = 0; i < flops.size(); ++i) {
            Limits faster = limits;
            faster.product_flops = flops[i];
            Floor smaller = floor;
            smaller.bytes_read /= static_cast<double>(1 << i);
            smaller.bytes_again /= static_cast<double>(1 << i);
            ms[i] = floor_ms(smaller, faster);
        }
        table.row(key, name, ms[0], ms[1], ms[2]);
    };
    const Step base = base_step();
    show("step", "base step", base.floor());
    show("say_32", "base says 24 words, 32 times", decoding_floor(base.options, 32, 24, 24));
    show("say_1", "base says 24 words once", decoding_floor(base.options, 1, 24, 24));
}
// [times]
/// What products reach, and how long a step and decoding take, in each precision.
void show_times(std::uint64_t seed, Results& results) {
    section("Time");
    const auto in = [](Precision precision, Work work) -> Work {
        return [=] {
            const ScopedPrecision scoped(precision);
            work();
        };
    };
    GainTable table(results, "work", "float", "fewer", 2);
    const auto compare = [&](const char* name, const char* key, Precision precision,
                             const Work& work) {
        return table.sides(name, key, work, in(precision, work), 5);
    };
    Random random(seed);
    const Index n = 1024;
    const Linear map(n, n, false, random);
    const Tensor x = normal({n, n}, random.stream());
    const Work product = [&] { map.forward(x); };
    const double operations = 2.0 * n * n * n / 1e6;  // and milliseconds: GFLOP/s
    std::array<double, 3> flops{};
    const auto peak = [&](std::size_t i, const char* key, double ms) {
        results.set_varying(fmt::format("peak_{}", key), operations / ms, "GFLOP/s");
        flops[i] = 1e9 * operations / ms;
    };
    if (has_bf16()) {
        const Comparison c =
            compare("product, 1024 x 1024, bf16", "product_bf16", Precision::bf16, product);
        peak(0, "float", c.plain_ms);
        peak(1, "bf16", c.fast_ms);
    }
    peak(2, "int8",
         compare("product, 1024 x 1024, int8", "product_int8", Precision::int8, product).fast_ms);
    const Step base = base_step();
    const Batch batch = base.batch(seed);
    Transformer model(base.options, random);
    if (has_bf16()) {
        Trainer trainer(model, {.optimizer = "adam"});
        compare("base step, bf16", "step", Precision::bf16,
                [&] { trainer.step(batch, Real(1e-4)); });
    }
    const auto decode = [&](const char* name, const char* key, Index sentences) {
        const Ids src = batch.source.ids.rows(0, sentences);
        compare(name, key, Precision::int8, [&] {
            greedy_decode_cached(model, src, {1, -1, base.tgt_words});
        });
    };
    decode("base says 24 words, 32 times, int8", "say_32", base.sentences);
    decode("base says 24 words once, int8", "say_1", 1);
    if (flops[1] > 0) show_floors(flops, results);
    for (const auto& [key, sentences] : {std::pair("say_32", Index{32}), {"say_1", Index{1}}})
        results.set(fmt::format("{}_mb", key),
                    decoding_floor(base.options, sentences, 24, 24).bytes_read / 1e6);
}

}  // namespace
// [bits]
void show_bits(std::uint64_t seed, Results& results) {
    show_lost_steps(results);
    show_errors(seed, results);
    if (has_bf16()) {
        Transformer last = show_trainings(results);
        show_masters(results);
        show_scales(last, results);
    } else {
        fmt::print("\nno trainings: here is no oneDNN, or no instruction for products in bf16\n");
    }
    show_times(seed, results);
}

}  // namespace abh
