#include "chapters/09_training/systems.hpp"

#include <vector>

#include "chapters/09_training/data/corpus.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [systems]
namespace {

/// The system of one of the four source texts, and a batch for it.
struct System {
    const char* name;
    TransformerOptions options;
    Ids src, tgt;
};

std::vector<System> systems_of_source_texts() {
    const auto all = [](const Corpus& corpus) { return make_batch(corpus, corpus.train); };
    const Batch toy = all(toy_corpus()), notebook = all(notebook_corpus());
    const Ids article({2, 4}, {100, 2, 421, 508, 491, 998, 1, 221});  // its embedding's example
    const Ids src({2, 9}, {1, 5, 6, 4, 3, 9, 5, 2, 0, 1, 8, 7, 3, 4, 5, 6, 7, 2});
    const Ids tgt({2, 7}, {1, 7, 4, 3, 5, 9, 2, 1, 5, 6, 2, 4, 7, 6});  // without its last column
    return {
        {"toy", TransformerOptions::toy(), toy.source.ids, toy.target_in.ids},
        {"notebook", TransformerOptions::notebook(), notebook.source.ids, notebook.target_in.ids},
        {"article", TransformerOptions::article(), article, article},
        {"shared_heads", TransformerOptions::shared_heads(), src, tgt}};
}

}  // namespace

TransformerOptions preset(const std::string& name) {
    for (const System& system : systems_of_source_texts())
        if (name == system.name) return system.options;
    throw std::invalid_argument(
        fmt::format("unknown preset {}, expected toy, notebook, article or shared_heads", name));
}
// [print]
void show_systems(const std::string& device, std::uint64_t seed, Results& results) {
    section("The systems of the four source texts");
    fmt::print("{:<14}{:>8}{:>7}{:>12}    {:8}{:8}{}\n", "", "d_model", "d_ff", "parameters",
               "source", "target", "logits");
    Shape last;
    for (const System& s : systems_of_source_texts()) {
        Transformer model(s.options, Random(seed));
        const Index parameters = count_elements(parameters_of(model));
        last = model.logits(s.src, s.tgt).shape();  // [B, Lt, tgt_words]
        fmt::print("{:<14}{:>8}{:>7}{:>12}    {:8}{:8}{}\n", s.name,
                   s.options.layer.attention.d_model, s.options.layer.d_ff, parameters,
                   fmt::format("{}", s.src.shape()), fmt::format("{}", s.tgt.shape()), last);
        results.set(fmt::format("{}_parameters", s.name), parameters);
    }
    section("What the shared-head block prints");
    fmt::print("{}\ntorch.Size({})\n", device, last);
}

}  // namespace abh
