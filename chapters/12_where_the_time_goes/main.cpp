#include <map>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/heads.hpp"
#include "chapters/09_training/training.hpp"
#include "chapters/12_where_the_time_goes/gains.hpp"
#include "chapters/12_where_the_time_goes/traps.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "lib/fast/matmul.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/program/profile.hpp"
#include "lib/program/program.hpp"
#include "lib/program/table.hpp"

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
    const Index cache = largest_cache(), stream = stream_bytes();
    if (cache > 0)
        table.row("cache", "largest cache", static_cast<double>(cache) / (1 << 20), "MiB");
    table.row("stream", "each stream", static_cast<double>(stream) / (1 << 20), "MiB");
    if (stream <= 2 * cache)
        fmt::print("memory is short: these are streams of the cache, not of memory\n");
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
                          varying("at once", "9.1f"),
                          varying("summed", "8.1f")});
    const auto show = [&](const std::string& key, const std::string& name, const Floor& floor) {
        const LeastTime time = least_time(floor, limits);
        table.row(key, name, floor.multiply_adds / 1e9, floor.bytes_read / 1e6,
                  floor.bytes_updated / 1e6, time.products_ms, time.memory_ms, time.at_once(),
                  time.one_after_other());
        results.set(key + "_intensity",
                    2 * floor.multiply_adds / (floor.bytes_read + floor.bytes_updated));
    };
    for (const Step& work : {toy_step(), small_step(), base_step()})
        show(work.key, work.name, work.floor());
    show("say_32", "base says 24 words, 32 times", decoding_floor(base_step().options, 32, 24, 24));
    show("say_1", "base says 24 words once", decoding_floor(base_step().options, 1, 24, 24));
    results.set("toy_parameters", static_cast<double>(count_parameters(toy_step().options)));
}
// [attention memory]
/// What attention keeps from forward to backward.
void show_attention_memory(Results& results) {
    section("What attention keeps");
    const auto mib = [](std::initializer_list<Tensor> tensors) {
        Index size = 0;
        for (const Tensor& t : tensors) size += t.size();
        return static_cast<double>(size) * sizeof(Real) / (1 << 20);
    };
    Table table(results, {{"words", "8"},
                          {"plain MiB", "12.2f", "plain_{}_mib"},
                          {"fast MiB", "12.2f", "blocks_{}_mib"}});
    const ScopedWay scoped(Way::fast);  // whatever way the program was told
    for (Index length : {24, 256, 1024}) {
        const Tensor x = Tensor::zeros({1, length, 512}), heads = split_heads(x, 8);
        AttentionCache plain;
        AttendHeadsCache fast;
        attention(heads, heads, heads, {}, {}, &plain);
        attend_heads(x, x, x, 8, {}, {}, &fast);
        const auto& kept = std::get<BlockwiseCache>(fast.kept);
        table.row(length, length, mib({plain.q, plain.k, plain.v, plain.weights}),
                  mib({kept.q, kept.k, kept.v, kept.context, kept.row_max, kept.row_sum}));
    }
}
// [traps]
void show_traps(Results& results) {
    section("Traps");
    GainTable table(results, "", "in it", "around", stdout, 4);
    std::string keys;
    for (const Trap& trap : traps()) {
        const auto [in_it, around] = trap.make();
        table.sides(trap.name, trap.key, in_it.timed(), around.timed(), trap.rounds);
        results.set(trap.key + "_name", trap.name);
        keys += (keys.empty() ? "" : "|") + trap.key;
    }
    results.set("traps", keys);
}
// [steps]
/// The own times of a warm step, mean of some, beside the least that each operation can take.
void show_step(const Step& work, const Limits& limits, std::uint64_t seed, Results& results) {
    section("A step: " + work.name);
    Transformer model(work.options, Random(seed));
    Trainer trainer(model, {.optimizer = work.optimizer == OptimizerKind::adam ? "adam" : "sgd"});
    const Batch batch = random_batch(work.sentences, work.src_words, work.options.src_words,
                                     work.tgt_words, work.options.tgt_words, seed);
    const Work step = [&] {
        trainer.forward_backward(batch);
        trainer.update(Real(1e-4));
    };
    for (int i = 0; i < 3; ++i) step();  // warm: all buffers are there
    start_profile();
    const Measured time = measure(step, 9);
    const std::vector<ProfileRow> rows = profile_rows();
    start_profile();  // what `--profile` saves is this last step
    step();
    std::map<std::string, LeastTime> least;
    for (const Operation& o : training_operations(work.options, work.sentences, work.src_words,
                                                  work.tgt_words, work.optimizer))
        least[o.name] = least_time(o.floor, limits);
    double all = 0;
    for (const ProfileRow& row : rows) all += row.ms;
    Table table(results, {{"own time of", "<24"},
                          varying("ms", "10.3f"),
                          varying("%", "8.1f"),
                          varying("products", "11.3f"),
                          varying("weights", "10.3f"),
                          varying("least", "8.3f")});
    Tensor bars({static_cast<Index>(rows.size()), 3});
    std::string names;
    for (Index i = 0; const auto& [name, calls, total] : rows) {
        const double share = total / all, ms = share * time.ms;
        const LeastTime bound = least.count(name) ? least[name] : LeastTime{0, 0};
        table.row(name, name, ms, 100 * share, bound.products_ms, bound.memory_ms, bound.at_once());
        bars(i, 0) = static_cast<Real>(ms);
        bars(i, 1) = static_cast<Real>(bound.products_ms);
        bars(i++, 2) = static_cast<Real>(bound.memory_ms);
        names += (names.empty() ? "" : "|") + name;
    }
    const double floor_ms = least_time(work.floor(), limits).one_after_other();
    fmt::print("a step takes {:.1f} ms (quartiles {:.1f} to {:.1f}), ", time.ms, time.low,
               time.high);
    fmt::print("{:.1f} times the summed floor of {:.1f} ms{}\n", time.ms / floor_ms, floor_ms,
               time.noise.disturbed() ? "; disturbed" : "");
    results.array(work.key + "_bars", bars);
    results.set_varying(work.key + "_names", names);
    results.set_varying(work.key + "_ms", time.ms, "ms", time.noise.disturbed());
    results.set_varying(work.key + "_floor_ms", floor_ms, "ms");
    results.set_varying(work.key + "_over_floor", time.ms / floor_ms, "", time.noise.disturbed());
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Count what must be done, measure what is done, and compare.");
    Options& options = program.options();
    options.allow_several_commands();
    const Options floor = options.command("floor", "the least that whole steps must do"),
                  operations =
                      options.command("operations", "every operation plain, fast, and its floor"),
                  traps = options.command("traps", "what makes the same code slow"),
                  steps = options.command("steps", "the own times of a step");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        const bool all =
            !floor.chosen() && !operations.chosen() && !traps.chosen() && !steps.chosen();
        const Limits limits = show_limits(results);
        if (all || floor.chosen()) show_floors(limits, results);
        if (all || operations.chosen()) show_gains(limits, results), show_attention_memory(results);
        if (all || traps.chosen()) show_traps(results);
        if (all || steps.chosen())  // last: with --profile the last step is what is saved
            for (const Step& work : {toy_step(), small_step()})
                show_step(work, limits, program.seed(), results);
    });
}
