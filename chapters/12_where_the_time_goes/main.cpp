#include <cmath>
#include <limits>

#include "chapters/09_training/loop/training.hpp"
#include "chapters/12_where_the_time_goes/bits.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "chapters/12_where_the_time_goes/operations.hpp"
#include "chapters/12_where_the_time_goes/traps.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/fast/product.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [limits]
namespace {

Limits show_limits(Results& results) {
    section("What this machine reaches");
    const Limits limits = undisturbed([] { return measure_limits(); });
    const Noise& noise = limits.noise;
    const std::string share =
        noise.others ? fmt::format("{:.0f} %", 100 * *noise.others) : "an unknown share";
    fmt::print("{} threads, products by {}; others used {} of the processors{}\n", threads(),
               products_by_library() ? "oneDNN" : "this book", share,
               noise.disturbed() ? ": disturbed" : "");
    results.set_varying("others", share);
    Table table(results, {{"", "<36"}, varying("", "10.1f", "{}"), {"", "<8"}});
    table.row("product_flops", "matrix product, 1024 x 1024", limits.product_flops / 1e9,
              "GFLOP/s");
    table.row("read", "memory that is read", limits.read / 1e9, "GB/s");
    table.row("copy", "memory that is copied, both ways", limits.copy / 1e9, "GB/s");
    table.row("update", "memory changed in place, both ways", limits.update / 1e9, "GB/s");
    const double stream = static_cast<double>(stream_bytes());
    if (limits.cache > 0) table.row("cache", "all caches", limits.cache / (1 << 20), "MiB");
    table.row("stream", "each stream", stream / (1 << 20), "MiB");
    if (stream <= 2 * limits.cache)
        fmt::print("too little memory for long streams: these may be rates of a cache\n");
    return limits;
}
// [floor]
void show_floors(const Limits& limits, Results& results) {
    section("The floor");
    Table table(results, {{"", "<28"},
                          {"GMA", "8.2f", "{}_gma"},
                          {"MB read", "9.1f", "{}_read"},
                          {"MB updated", "12.1f", "{}_updated"},
                          varying("products", "10.1f", "{}_products_ms", "ms"),
                          varying("memory", "8.1f", "{}_memory_ms", "ms"),
                          varying("floor", "8.1f", "{}_floor_ms", "ms")});
    const auto show = [&](const std::string& key, const std::string& name, const Floor& floor) {
        const auto [products_ms, memory_ms] = least_time(floor, limits);
        table.row(key, name, floor.multiply_adds / 1e9, floor.bytes_read / 1e6,
                  floor.bytes_updated / 1e6, products_ms, memory_ms, floor_ms(floor, limits));
        results.set(key + "_intensity", 2 * floor.multiply_adds / floor.bytes());
    };
    for (const Step& work : {toy_step(), small_step(), base_step()})
        show(work.key, work.name, work.floor());
    show("say_32", "base says 24 words, 32 times", decoding_floor(base_step().options, 32, 24, 24));
    show("say_1", "base says 24 words once", decoding_floor(base_step().options, 1, 24, 24));
    results.set("toy_parameters", count_parameters(toy_step().options));
}
/// Whether a time is more than 5 % below its floor, the least time that the work can take. If so,
/// one of the two is wrong, and the time supports no conclusion.
bool refuted(const std::string& name, double ms, double least_ms) {
    if (ms >= 0.95 * least_ms) return false;
    fmt::print("the floor is wrong: {} takes {:.3f} ms, less than its floor of {:.3f} ms\n", name,
               ms, least_ms);
    return true;
}
// [gains]
/// How many times as long the fast way takes on one thread as on all of them.
Comparison one_thread_against_all(const Work& work) {
    const Work fast = under(Way::fast, work);
    const auto alone = [&fast] {
        const int all = threads();
        set_threads(1);
        fast();
        set_threads(all);
    };
    return take_turns(alone, fast, 3);
}

/// Compares the plain and the fast way of every operation with its floor. Which gains the least, on
/// all threads, and on one, where only the tuning counts?
void show_gains(const Limits& limits, Results& results) {
    section("Plain, fast, and the floor");
    Tensor points({n_operations, 2});
    std::string names, keys;
    double one_row = 0;
    // the operation that gains the least
    std::pair least(std::numeric_limits<double>::infinity(), std::string("none"));
    auto least_tuned = least;
    Table table(results, {{"", "<30"},
                          varying("plain ms", "9.3f", "{}_plain", "ms"),
                          varying("fast ms", "8.3f", "{}_fast", "ms"),
                          varying("gain", "6.2f", "{}_gain"),
                          varying("from", "6.2f", "{}_low"),
                          varying("to", "6.2f", "{}_high"),
                          varying("1 thread", "8.2f", "{}_tuned"),
                          varying("floor ms", "8.3f", "{}_floor", "ms"),
                          varying("x floor", "7")});
    Progress progress("measuring", n_operations);
    measure_operations([&, i = Index{0}](const std::string& key, const std::string& name,
                                         const Floor& floor, const Work& work) mutable {
        progress.show(i, name);
        const Comparison c = take_turns(under(Way::plain, work), under(Way::fast, work), 5);
        const Comparison by_threads = one_thread_against_all(work);
        const double tuned = c.ratio / by_threads.ratio;
        progress.clear();
        const double least_ms = floor_ms(floor, limits), flops = 2 * floor.multiply_adds;
        if (key == "linear_1") one_row = c.fast_ms;
        if (key == "linear_4" || key == "linear_16")
            results.set_varying(key + "_over_1", c.fast_ms / one_row);
        const bool refused = refuted(name, c.fast_ms, least_ms) || c.noise.disturbed() ||
                             by_threads.noise.disturbed();
        table.measured_row(refused, key, name, c.plain_ms, c.fast_ms, c.ratio, c.low, c.high, tuned,
                           least_ms,
                           least_ms > 0 ? fmt::format("{:.2f}", c.fast_ms / least_ms) : "-");
        if (!refused) {
            least = std::min(least, std::pair(c.ratio, name));
            least_tuned = std::min(least_tuned, std::pair(tuned, name));
        }
        points(i, 0) = static_cast<Real>(flops / floor.bytes());
        points(i, 1) = static_cast<Real>(flops / c.fast_ms / 1e6);
        results.set(key + "_name", name);
        names += (i ? "|" : "") + name;
        keys += (i++ ? "|" : "") + key;
    });
    results.array("points", points);
    results.set("point_names", names);
    results.set("gains", keys);
    for (const auto& [key, of] : {std::pair("least_gain", least), {"least_tuned", least_tuned}}) {
        const auto& [gain, name] = of;
        results.set_varying(key, std::isfinite(gain) ? gain : 0, "", !std::isfinite(gain));
        results.set_varying(fmt::format("{}_name", key), name);
    }
    results.set_varying("stream", limits.best_stream() / 1e9, "GB/s");
    results.set_varying("ridge", limits.product_flops / limits.best_stream(), "FLOP/byte");
}
// [traps]
void show_traps(Results& results) {
    section("Traps");
    GainTable table(results, "trap", "with it", "without", 4);
    std::string keys;
    for (const Trap& trap : traps()) {
        table.sides(trap.name, trap.key, trap.with, trap.without);
        results.set(trap.key + "_name", trap.name);
        keys += (keys.empty() ? "" : "|") + trap.key;
    }
    results.set("traps", keys);
}
// [steps]
/// The own times of the parts of a warm step, averaged over several steps.
/// @param written  whether backward leaves all gradients in memory, instead of factors that wait
void show_step(const Step& work, bool written, const Limits& limits, std::uint64_t seed,
               Results& results) {
    section("A step: " + work.name + (written ? ", gradients written" : ""));
    const std::string key = work.key + (written ? "_written" : "");
    Transformer model(work.options, Random(seed));
    Trainer trainer(model, {.optimizer = work.optimizer == OptimizerKind::adam ? "adam" : "sgd"});
    const Batch batch = work.batch(seed);
    const Parameters parameters = parameters_of(model);
    const Work step = [&] {
        trainer.begin();
        trainer.add_part(batch, batch.n_targets, 0);
        if (written)
            for (const auto& [name, parameter] : parameters) parameter->grad();
        trainer.update(Real(1e-4));
    };
    for (int i = 0; i < 3; ++i) step();  // warms up: then all buffers are allocated
    start_profile();
    const Measured time = measure(step, 9);
    const std::vector<ProfileRow> rows = profile_rows();
    start_profile();  // so that `--profile` saves this last step alone
    step();
    double all = 0;
    for (const ProfileRow& row : rows) all += row.ms;
    Table table(results, {{"own time of", "<24"}, varying("ms", "10.3f"), varying("%", "8.1f")});
    Tensor bars({std::ssize(rows)});
    std::string names;
    for (Index i = 0; const auto& [name, calls, total] : rows) {
        const double share = total / all, ms = share * time.ms;
        table.row(name, name, ms, 100 * share);
        bars(i++) = static_cast<Real>(ms);
        names += (names.empty() ? "" : "|") + name;
    }
    const double least_ms = floor_ms(work.floor(), limits);
    const bool wrong = refuted(work.name, time.ms, least_ms), disturbed = time.noise.disturbed();
    if (!wrong)
        fmt::print(
            "a step takes {:.1f} ms (quartiles {:.1f} to {:.1f}), {:.1f} times its floor{}\n",
            time.ms, time.low, time.high, time.ms / least_ms, disturbed ? "; disturbed" : "");
    results.array(key + "_bars", bars);
    results.set_varying(key + "_names", names);
    results.set_varying(key + "_over_floor", time.ms / least_ms, "", wrong || disturbed);
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Count what must be done, measure what is done, and compare");
    const Options steps =
        program.options().command("steps", "where the time of a training step goes, and no more");
    const Options bits = program.options().command("bits", "products in 16 and in 8 bits");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        if (bits.chosen()) return show_bits(program.seed(), results);
        const Limits limits = show_limits(results);
        if (!steps.chosen()) {
            show_floors(limits, results);
            show_gains(limits, results);
            show_traps(results);
        }
        show_step(toy_step(), true, limits, program.seed(), results);
        for (const Step& work : {toy_step(), small_step()})  // last: --profile saves the last step
            show_step(work, false, limits, program.seed(), results);
    });
}
