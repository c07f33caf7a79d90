#include "chapters/15_language_model/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/15_language_model/language_model.hpp"
#include "chapters/15_language_model/training.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [models]
namespace {

/// The grammar's model without its encoder: as many layers as give the same number of parameters.
StackOptions stack_options(Index words) {
    const TransformerOptions grammar = grammar_task().model;
    return {words, 5, grammar.layer, grammar.embedding, grammar.positions};
}

/// The same width and depth with the parts of today. A gated network of two thirds the width has as
/// many parameters as chapter 6's.
LlamaOptions llama_options(Index words) {
    LlamaOptions o{.words = words, .n_layers = 5};
    o.block.attention = {.d_model = 128, .n_heads = 4, .n_kv_heads = 4};
    o.block.d_ff = 172;
    o.block.dropout = Real(0.1);
    return o;
}

struct Found {
    Index parameters = 0;
    Evaluation all;
    std::map<std::string, Index> exact;  ///< by kind of what is held out
    double seconds = 0;
};

template <class Evaluate>
void count_kinds(Found& found, const Corpus& corpus, const Evaluate& evaluate) {
    const HeldOutKinds kinds = grammar_held_out();
    found.exact = {{"combination", evaluate(kinds.combination).exact},
                   {"swapped", evaluate(kinds.swapped).exact},
                   {"both_ways", evaluate(kinds.both_ways).exact}};
    found.all = evaluate(corpus.held_out);
}

Found try_transformer(const Task& task, std::uint64_t seed) {
    Transformer model(task.model, Random(seed));
    Found found{.parameters = count_elements(parameters_of(model))};
    found.seconds =
        milliseconds([&] { train(model, task.corpus, task.training, [](const StepReport&) {}); }) /
        1000;
    count_kinds(found, task.corpus, [&](std::span<const SentencePair> pairs) {
        return evaluate(model, task.corpus, pairs);
    });
    return found;
}

template <class Model, class Options>
Found try_lines(const Options& options, const Task& task, const Vocabulary& words, Counted counted,
                std::uint64_t seed) {
    Model model(options, Random(seed));
    Found found{.parameters = count_elements(parameters_of(model))};
    found.seconds = milliseconds([&] {
                        train_lines(model, words, task.corpus.train, counted, task.training);
                    }) /
                    1000;
    count_kinds(found, task.corpus, [&](std::span<const SentencePair> pairs) {
        return evaluate_lines(model, words, pairs);
    });
    return found;
}

Table begin_table(Results& results) {
    return {results,
            {{"", "<34"},
             {"parameters", "10", "{}_parameters"},
             varying("held out", "8", "{}_exact"),
             varying("combination", "8", "{}_combination"),
             varying("swapped", "8", "{}_swapped"),
             varying("both ways", "8", "{}_both_ways"),
             varying("loss", "7.4f", "{}_loss"),
             varying("s", "6.1f", "{}_seconds", "s")}};
}

void show(Table& table, const std::string& what, const std::string& key, const Found& f) {
    table.row(key, what, f.parameters, f.all.exact, f.exact.at("combination"),
              f.exact.at("swapped"), f.exact.at("both_ways"), f.all.loss, f.seconds);
    std::fflush(stdout);
}

}  // namespace
// [experiment]
void show_experiment(Index seeds, Index first_seed, Results& results) {
    const Task task = grammar_task();
    const Vocabulary words = line_vocabulary(task.corpus);
    Table table = begin_table(results);
    for (Index i = 0; i < seeds; ++i) {
        const auto seed = static_cast<std::uint64_t>(first_seed + i);
        const auto key = [&](const std::string& name) {
            return fmt::format("{}_seed{}", name, seed);
        };
        show(table, fmt::format("encoder-decoder, seed {}", seed), key("two"),
             try_transformer(task, seed));
        const StackOptions options = stack_options(words.size());
        show(table, fmt::format("one stack, loss after the arrow, seed {}", seed), key("one"),
             try_lines<Stack>(options, task, words, Counted::translation, seed));
        show(table, fmt::format("one stack, loss everywhere, seed {}", seed), key("all"),
             try_lines<Stack>(options, task, words, Counted::all, seed));
    }
}
// [parts]
void show_parts(Index seeds, Results& results) {
    const Task task = grammar_task();
    const Vocabulary words = line_vocabulary(task.corpus);
    const LlamaOptions today = llama_options(words.size());
    std::vector<std::pair<std::string, LlamaOptions>> kinds{{"today", today}};
    kinds.emplace_back("layer_norm", today).second.block.rms_norm = false;
    kinds.emplace_back("sinusoid", today).second.block.attention.rotary.reset();
    LlamaOptions relu = today;
    relu.block.gated = false, relu.block.d_ff = 256;
    kinds.emplace_back("relu", relu);
    kinds.emplace_back("grouped", today).second.block.attention.n_kv_heads = 1;
    Table table = begin_table(results);
    for (Index seed = 1; seed <= seeds; ++seed)
        for (const auto& [name, options] : kinds)
            show(table, fmt::format("{}, seed {}", name, seed),
                 fmt::format("{}_seed{}", name, seed),
                 try_lines<Llama>(options, task, words, Counted::translation,
                                  static_cast<std::uint64_t>(seed)));
}

}  // namespace abh
