#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <thread>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/09_training/training.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "chapters/12_where_the_time_goes/twins.hpp"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"
#include "lib/program.hpp"
#include "lib/stopwatch.hpp"

using namespace abh;
// [models]
namespace {

/// A model, and what it is trained on in a step.
struct Case {
    std::string key, name;
    TransformerOptions options;
    Index sentences, src_words, tgt_words;
    OptimizerKind optimizer = OptimizerKind::adam;
};

TransformerOptions base() {
    TransformerOptions o = TransformerOptions::article();
    o.src_words = o.tgt_words = 8000;
    return o;
}

TransformerOptions small() {
    TransformerOptions o = TransformerOptions::article();
    o.src_words = o.tgt_words = 2000;
    o.layer.attention.d_model = 256;
    o.layer.attention.n_heads = 4;
    o.layer.d_ff = 1024;
    o.n_encoder_layers = o.n_decoder_layers = 2;
    return o;
}

Case toy_work() {
    return {.key = "toy",
            .name = "toy, 2 x 8 and 7 words",
            .options = TransformerOptions::toy(),
            .sentences = 2,
            .src_words = 8,
            .tgt_words = 7,
            .optimizer = OptimizerKind::momentum};
}

Case small_work() {
    return {"small", "small, 16 x 24 words", small(), 16, 24, 24};
}
// [limits]
/// The share of the processors that others use while we sleep, as the system counts it; negative
/// where it does not say.
double others() {
    const auto counts = [] {  // of all processors, in ticks: at work, and in all
        std::ifstream file("/proc/stat");
        std::string name;
        double sum = 0, idle = 0, ticks = 0;
        file >> name;
        for (int i = 0; i < 8 && file >> ticks; ++i) {
            sum += ticks;
            if (i == 3 || i == 4) idle += ticks;  // idle, or waiting for a disk
        }
        return std::pair(sum - idle, sum);
    };
    const auto before = counts();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto after = counts();
    const double all = after.second - before.second;
    return all > 0 ? (after.first - before.first) / all : -1;
}

Limits show_limits(Results& results) {
    section("What this machine reaches");
    const double busy = others();
    const std::string share = busy < 0 ? "an unknown share" : fmt::format("{:.0f} %", 100 * busy);
    const Limits limits = measure_limits();
    fmt::print("{} threads, products by {}; others use {} of the processors\n", threads(),
               products_by_library() ? "oneDNN" : "Eigen", share);
    results.set("others", share);
    const std::vector<std::tuple<const char*, const char*, double, const char*>> rates{
        {"product_flops", "matrix product, 1024 x 1024", limits.product_flops, "GFLOP/s"},
        {"read", "memory that is read", limits.read, "GB/s"},
        {"copy", "memory that is copied, both ways", limits.copy, "GB/s"},
        {"update", "memory changed in place, both ways", limits.update, "GB/s"}};
    for (const auto& [key, name, rate, unit] : rates) {
        fmt::print("{:36}{:>10.1f} {}\n", name, rate / 1e9, unit);
        results.set_varying(key, rate / 1e9, unit);
    }
    results.set_varying("threads", threads());
    return limits;
}
// [floor]
void show_floors(const Limits& limits, Results& results) {
    section("The floor");
    fmt::print("{:29}{:>8}{:>9}{:>12}{:>10}{:>8}{:>9}{:>8}\n", "", "GMA", "MB read", "MB updated",
               "products", "memory", "at once", "summed");
    const auto show = [&](const std::string& key, const std::string& name, const Floor& floor) {
        const LeastTime time = least_time(floor, limits);
        fmt::print("{:29}{:>8.2f}{:>9.1f}{:>12.1f}{:>10.1f}{:>8.1f}{:>9.1f}{:>8.1f}\n", name,
                   floor.multiply_adds / 1e9, floor.bytes_read / 1e6, floor.bytes_updated / 1e6,
                   time.products_ms, time.memory_ms, time.at_once(), time.one_after_other());
        results.set(key + "_gma", floor.multiply_adds / 1e9);
        results.set(key + "_read", floor.bytes_read / 1e6);
        results.set(key + "_updated", floor.bytes_updated / 1e6);
        results.set(key + "_intensity",
                    2 * floor.multiply_adds / (floor.bytes_read + floor.bytes_updated));
        results.set_varying(key + "_products_ms", time.products_ms, "ms");
        results.set_varying(key + "_memory_ms", time.memory_ms, "ms");
    };
    for (const Case& w :
         {toy_work(), small_work(), Case{"base", "base, 32 x 24 words", base(), 32, 24, 24}})
        show(w.key, w.name,
             training_floor(w.options, w.sentences, w.src_words, w.tgt_words, w.optimizer));
    show("say_32", "base says 24 words, 32 times", decoding_floor(base(), 32, 24, 24));
    show("say_1", "base says 24 words once", decoding_floor(base(), 1, 24, 24));
    results.set("toy_parameters", static_cast<double>(count_parameters(toy_work().options)));
}
// [roofline]
struct Point {
    std::string name;
    double flops, bytes, ms;
};

/// A linear map of 512 to 2048, one weight after another: they come from memory.
Point product_point(const std::vector<Tensor>& weights, Index n_rows) {
    const Tensor x = Tensor::full({n_rows, 512}, 1);
    const auto count = static_cast<std::size_t>(std::clamp<Index>(4096 / n_rows, 4, 64));
    const double ms = best_of(3, [&] {
        for (std::size_t i = 0; i < count; ++i) matmul(x, weights[i], {.transpose_b = true});
    });
    const double size = 512 * 2048, rows = static_cast<double>(n_rows);
    return {fmt::format("linear map, {} row{}", n_rows, n_rows > 1 ? "s" : ""), 2 * rows * size,
            sizeof(Real) * (size + rows * (512 + 2048)), ms / static_cast<double>(count)};
}

/// Passes over 16 million numbers. The operations are those of the equations, a root or a quotient
/// being one.
std::vector<Point> pass_points() {
    constexpr Index n = Index{1} << 24;
    const double numbers = static_cast<double>(n), bytes = numbers * sizeof(Real);
    Parameter p(Tensor::full({n / 512, 512}, 1));
    Adam adam({{"w", &p}});
    p.grad().fill(Real(1e-3));
    adam.step(Real(1e-6));
    const double adam_ms = best_of(3, [&] { adam.step(Real(1e-6)); });
    const LayerNorm norm(512);
    const Tensor x = p.value;
    norm.forward(x);
    return {{"Adam", 13 * numbers, 7 * bytes, adam_ms},
            {"layer norm", 8 * numbers, 2 * bytes, best_of(3, [&] { norm.forward(x); })}};
}

Point attention_point(Index length) {
    const Index sentences = 8192 / length;
    const Tensor x = Tensor::full({sentences, length, 512}, Real(0.1));
    attention_by_blocks(x, x, x, 8, {});
    const double numbers = static_cast<double>(x.size());
    return {fmt::format("attention, {} words", length), 4 * numbers * static_cast<double>(length),
            4 * numbers * sizeof(Real), best_of(3, [&] { attention_by_blocks(x, x, x, 8, {}); })};
}
// [roofline: show]
/// The stream that moves most bytes.
double best_stream(const Limits& limits) {
    return std::max({limits.read, limits.copy, limits.update});
}

void show_roofline(const Limits& limits, Results& results) {
    section("Intensity");
    std::vector<Tensor> weights;
    for (int i = 0; i < 64; ++i) weights.push_back(Tensor::full({2048, 512}, 1));
    std::vector<Point> points = pass_points();
    for (Index length : {24, 256}) points.push_back(attention_point(length));
    for (Index n_rows : {1, 4, 16, 64, 256, 1024}) points.push_back(product_point(weights, n_rows));
    fmt::print("{:26}{:>12}{:>12}{:>12}{:>10}\n", "", "FLOP/byte", "GFLOP/s", "roof", "reached");
    const auto n = static_cast<Index>(points.size());
    Tensor numbers({n, 2});
    std::string names;
    for (Index i = 0; i < n; ++i) {
        const Point& p = points[static_cast<std::size_t>(i)];
        const double intensity = p.flops / p.bytes, rate = p.flops / (p.ms / 1e3);
        const double roof = std::min(limits.product_flops, intensity * best_stream(limits));
        fmt::print("{:26}{:>12.2f}{:>12.1f}{:>12.1f}{:>8.0f} %\n", p.name, intensity, rate / 1e9,
                   roof / 1e9, 100 * rate / roof);
        numbers(i, 0) = static_cast<Real>(intensity);
        numbers(i, 1) = static_cast<Real>(rate / 1e9);
        names += (i ? "|" : "") + p.name;
    }
    results.array("points", numbers);
    results.set("point_names", names);
    results.set_varying("stream", best_stream(limits) / 1e9, "GB/s");
    results.set_varying("ridge", limits.product_flops / best_stream(limits), "FLOP/byte");
}
// [comparisons]
void show_comparisons(const std::string& title, const std::vector<Twins>& list,
                      const std::string& first, const std::string& second, Results& results) {
    section(title);
    fmt::print("{:38}{:>14}{:>14}{:>8}   {}\n", "", first + " ms", second + " ms", "ratio",
               "quartiles");
    Progress progress("measuring", static_cast<Index>(list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Twins& twins = list[i];
        progress.show(static_cast<Index>(i), twins.name);
        const auto [plain, other] = twins.make();
        const Comparison c = take_turns(plain.timed(), other.timed(), twins.rounds);
        progress.clear();
        fmt::print("{:38}{:>14.3f}{:>14.3f}{:>8.2f}   {:.2f} to {:.2f}\n", twins.name, c.plain_ms,
                   c.fast_ms, c.ratio, c.low, c.high);
        results.set_varying(twins.key + "_ratio", c.ratio);
        results.set_varying(twins.key + "_low", c.low);
        results.set_varying(twins.key + "_high", c.high);
        results.set(twins.key + "_name", twins.name);
    }
}

std::string keys(const std::vector<Twins>& list) {
    std::string text;
    for (const Twins& twins : list) text += (text.empty() ? "" : "|") + twins.key;
    return text;
}

double mib(const std::vector<Tensor>& tensors) {
    Index size = 0;
    for (const Tensor& t : tensors) size += t.size();
    return static_cast<double>(size) * sizeof(Real) / (1 << 20);
}

/// What attention keeps from forward to backward.
void show_attention_memory(Results& results) {
    section("What attention keeps");
    fmt::print("{:>8}{:>14}{:>16}\n", "words", "plain MiB", "by blocks MiB");
    for (Index length : {24, 256, 1024}) {
        const Tensor x = Tensor::zeros({1, length, 512}), heads = split_heads(x, 8);
        AttentionCache plain;
        BlockAttentionCache blocks;
        attention(heads, heads, heads, {}, {}, &plain);
        attention_by_blocks(x, x, x, 8, {}, {}, &blocks);
        const double plain_mib = mib({plain.q, plain.k, plain.v, plain.weights});
        const double blocks_mib =
            mib({blocks.q, blocks.k, blocks.v, blocks.context, blocks.largest, blocks.total});
        fmt::print("{:>8}{:>14.2f}{:>16.2f}\n", length, plain_mib, blocks_mib);
        results.set(fmt::format("plain_{}_mib", length), plain_mib);
        results.set(fmt::format("blocks_{}_mib", length), blocks_mib);
    }
}
// [step]
/// A model in training, and a batch.
class Training {
public:
    Training(const Case& work, std::uint64_t seed)
        : model_(work.options, Random(seed)),
          trainer_(model_, {.optimizer = work.optimizer == OptimizerKind::adam ? "adam" : "sgd"}),
          batch_(random_batch(work.sentences, work.src_words, work.options.src_words,
                              work.tgt_words, work.options.tgt_words, seed)) {}

    void step() {
        trainer_.set_gradients(batch_);
        trainer_.update(Real(1e-4));
    }

private:
    Transformer model_;
    Trainer trainer_;
    Batch batch_;
};
// [steps]
/// The own times of a warm step, mean of some, beside the least that each operation can take.
void show_step(const Case& work, const Limits& limits, std::uint64_t seed, Results& results) {
    section("A step: " + work.name);
    Training training(work, seed);
    for (int i = 0; i < 3; ++i) training.step();  // warm: all buffers are there
    constexpr int steps = 9;
    std::vector<double> times;
    start_profile();
    for (int i = 0; i < steps; ++i) {
        times.push_back(milliseconds([&] { training.step(); }));
    }
    const std::vector<ProfileRow> rows = profile_rows();
    start_profile();  // what `--profile` saves is this last step
    training.step();

    std::map<std::string, LeastTime> least;
    for (const Operation& o : training_operations(work.options, work.sentences, work.src_words,
                                                  work.tgt_words, work.optimizer))
        least[o.name] = least_time(o, limits);
    fmt::print("{:24}{:>7}{:>10}{:>9}{:>18}{:>9}\n", "own time of", "calls", "ms", "%",
               "least: products", "memory");
    double all = 0;
    for (const ProfileRow& row : rows) all += row.ms / steps;
    Tensor bars({static_cast<Index>(rows.size()), 3});
    std::string names;
    Index i = 0;
    for (const auto& [name, calls, total] : rows) {
        const double ms = total / steps;
        const LeastTime time = least.count(name) ? least[name] : LeastTime{0, 0};
        fmt::print("{:24}{:>7}{:>10.3f}{:>9.1f}", name, calls / steps, ms, 100 * ms / all);
        if (least.count(name)) fmt::print("{:>18.3f}{:>9.3f}", time.products_ms, time.memory_ms);
        fmt::print("\n");
        bars(i, 0) = static_cast<Real>(ms);
        bars(i, 1) = static_cast<Real>(time.products_ms);
        bars(i++, 2) = static_cast<Real>(time.memory_ms);
        names += (names.empty() ? "" : "|") + name;
    }
    const LeastTime whole = least_time(training_floor(work.options, work.sentences, work.src_words,
                                                      work.tgt_words, work.optimizer),
                                       limits);
    const double ms = quantile(times, 0.5);
    fmt::print(
        "a step takes {:.1f} ms (quartiles {:.1f} to {:.1f}), {:.1f} times the floor of "
        "{:.1f} ms\n",
        ms, quantile(times, 0.25), quantile(times, 0.75), ms / whole.one_after_other(),
        whole.one_after_other());
    results.array(work.key + "_bars", bars);
    results.set(work.key + "_names", names);
    results.set_varying(work.key + "_ms", ms, "ms");
    results.set_varying(work.key + "_floor_ms", whole.one_after_other(), "ms");
    results.set_varying(work.key + "_over_floor", ms / whole.one_after_other());
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    std::string only = "all";
    Program program("Count what must be done, measure what is done, and compare.");
    program.app()
        .add_option("--only", only, "all, floor, roofline, comparisons or steps")
        ->check(CLI::IsMember({"all", "floor", "roofline", "comparisons", "steps"}));
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        const auto wanted = [&](const char* part) { return only == "all" || only == part; };
        const Limits limits = show_limits(results);
        if (wanted("floor")) show_floors(limits, results);
        if (wanted("roofline")) show_roofline(limits, results);
        if (wanted("comparisons")) {
            const std::vector<Twins> gains = optimizations(), slips = traps();
            show_comparisons("What each step buys", gains, "plain", "ours", results);
            show_attention_memory(results);
            show_comparisons("Traps", slips, "in it", "around", results);
            results.set("gains", keys(gains));
            results.set("traps", keys(slips));
        }
        if (wanted("steps"))  // last: with --profile the last step is what is saved
            for (const Case& work : {toy_work(), small_work()})
                show_step(work, limits, program.seed(), results);
    });
}
