#include "chapters/15_language_model/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/15_language_model/language_model.hpp"
#include "chapters/15_language_model/training.hpp"

namespace abh {
// [models]
StackOptions stack_options(Index words) {
    const TransformerOptions grammar = grammar_task().model;
    return {words, 5, grammar.layer, grammar.embedding, grammar.positions};
}

LlamaOptions llama_options(Index words) {
    LlamaOptions o{.words = words, .n_layers = 5};
    o.block.attention = {.d_model = 128, .n_heads = 4, .n_kv_heads = 4};
    o.block.d_ff = 172;
    o.block.dropout = Real(0.1);
    return o;
}
// [try]
namespace {

struct Found {
    Index parameters = 0;
    Evaluation all = {};
    std::map<std::string, Index> exact = {};  ///< by kind of what is held out
    Tensor curve = {};                        ///< held-out pairs exact after each epoch
};

/// Trains and evaluates, by the functions that do both for this kind of model.
/// @param learn     takes what is called after each step
/// @param evaluate  takes pairs
template <class Learn, class Evaluate>
void try_out(Found& found, const Task& task, const Learn& learn, const Evaluate& evaluate) {
    const Index epochs = task.training.epochs,
                steps = count_steps(task.corpus, task.training) / epochs;
    Progress progress("training", steps * epochs);
    found.curve = Tensor({epochs});
    learn([&](const StepReport& r) {
        progress.show(r.step);
        if (r.step % steps == 0)
            found.curve(r.epoch - 1) = static_cast<Real>(evaluate(task.corpus.held_out).exact);
    });
    const HeldOutKinds kinds = grammar_held_out();
    found.exact = {{"combination", evaluate(kinds.combination).exact},
                   {"swapped", evaluate(kinds.swapped).exact},
                   {"both_ways", evaluate(kinds.both_ways).exact}};
    found.all = evaluate(task.corpus.held_out);
}

Found try_transformer(Transformer& model, const Task& task) {
    Found found{.parameters = count_elements(parameters_of(model))};
    try_out(
        found, task, [&](const auto& report) { train(model, task.corpus, task.training, report); },
        [&](std::span<const SentencePair> pairs) { return evaluate(model, task.corpus, pairs); });
    return found;
}

template <class Model>
Found try_lines(Model& model, const Task& task, const Vocabulary& words, Counted counted) {
    Found found{.parameters = count_elements(parameters_of(model))};
    try_out(
        found, task,
        [&](const auto& report) {
            train_lines(model, words, task.corpus.train, counted, task.training, report);
        },
        [&](std::span<const SentencePair> pairs) { return evaluate_lines(model, words, pairs); });
    return found;
}

Table begin_table(Results& results) {
    return {results,
            {{"", "<24"},
             {"seed", "4"},
             {"parameters", "10", "{}_parameters"},
             varying("held out", "8", "{}_exact"),
             varying("combination", "8", "{}_combination"),
             varying("swapped", "8", "{}_swapped"),
             varying("both ways", "8", "{}_both_ways"),
             varying("loss", "7.4f", "{}_loss")}};
}

void show(Table& table, const std::string& what, const std::string& name, Index seed,
          const Found& f, Results& results) {
    const std::string key = fmt::format("{}_seed{}", name, seed);
    table.row(key, what, seed, f.parameters, f.all.exact, f.exact.at("combination"),
              f.exact.at("swapped"), f.exact.at("both_ways"), f.all.loss);
    results.array(key + "_curve", f.curve);
    std::fflush(stdout);
}

/// Where the words of one line look, in all heads of all layers.
void keep_maps(const Stack& model, const Vocabulary& words, Results& results) {
    const SentencePair pair{split_words("我 有 一 个 好 朋 友"),
                            split_words("I have a good friend .")};
    const LineBatch batch = make_line_batch(words, {&pair, 1}, {{0}}, Counted::all);
    std::vector<Tensor> weights;  // [1, H, L, L] of each layer
    model.forward(batch.read.ids, nullptr, &weights);
    for (std::size_t l = 0; l < weights.size(); ++l)
        results.array(fmt::format("map{}", l + 1), weights[l]);
    results.set("line", join_words(line_of(pair)));
}

}  // namespace
// [experiment]
void show_experiment(Index seeds, std::uint64_t first_seed, Results& results) {
    const Task task = grammar_task();
    const Vocabulary words = line_vocabulary(task.corpus);
    fmt::print("{} pairs, {} held out; {} steps\n\n", task.corpus.train.size(),
               task.corpus.held_out.size(), count_steps(task.corpus, task.training));
    Table table = begin_table(results);
    for (Index i = 0; i < seeds; ++i) {
        const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
        const auto row = [&](const char* what, const char* name, const Found& found) {
            show(table, what, name, static_cast<Index>(seed), found, results);
        };
        Transformer two(task.model, Random(seed));
        row("encoder and decoder", "two", try_transformer(two, task));
        Stack one(stack_options(words.size()), Random(seed));
        row("one stack", "one", try_lines(one, task, words, Counted::translation));
        if (i == 0) keep_maps(one, words, results);
        if (seeds == 1) continue;
        Stack all(stack_options(words.size()), Random(seed));
        row("one stack, all words", "all", try_lines(all, task, words, Counted::all));
    }
}
// [parts]
void show_parts(Index seeds, Results& results) {
    const Task task = grammar_task();
    const Vocabulary words = line_vocabulary(task.corpus);
    const LlamaOptions today = llama_options(words.size());
    std::vector<std::tuple<const char*, const char*, LlamaOptions>> kinds(6, {"", "", today});
    kinds[0] = {"today", "today", today};
    const auto change = [&](std::size_t i, const char* what, const char* name) -> BlockOptions& {
        std::get<0>(kinds[i]) = what, std::get<1>(kinds[i]) = name;
        return std::get<2>(kinds[i]).block;
    };
    change(1, "layer norm", "layer_norm").rms_norm = false;
    change(2, "sinusoid", "sinusoid").attention.rotary.reset();
    BlockOptions& relu = change(3, "ReLU", "relu");
    relu.gated = false, relu.d_ff = 256;
    change(4, "one head of keys", "grouped").attention.n_kv_heads = 1;
    change(5, "no positions", "none").attention.rotary.reset();
    std::get<2>(kinds[5]).positions = false;
    Table table = begin_table(results);
    for (Index seed = 1; seed <= seeds; ++seed)
        for (const auto& [what, name, options] : kinds) {
            Llama model(options, Random(static_cast<std::uint64_t>(seed)));
            show(table, what, name, seed, try_lines(model, task, words, Counted::translation),
                 results);
        }
}

}  // namespace abh
