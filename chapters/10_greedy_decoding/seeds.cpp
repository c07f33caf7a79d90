#include <algorithm>
#include <array>
#include <vector>

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/10_greedy_decoding/claims.hpp"

namespace abh {
// [seeds]
void show_seeds(Results& results) {
    constexpr Index seeds = 5;
    Task wide = grammar_task();
    wide.model.embedding.deviation = 1;
    const std::array<std::pair<std::string, Task>, 3> kinds{
        {{"", grammar_task()},
         {"without_codes_", grammar_task(false)},
         {"wide_", std::move(wide)}}};
    std::map<std::string, std::vector<double>> found;
    Progress progress("seeds", seeds * std::ssize(kinds));
    for (Index seed = 1, trained = 0; seed <= seeds; ++seed)
        for (const auto& [kind, task] : kinds) {
            const Random random(static_cast<std::uint64_t>(seed));
            const Transformer start(task.model, random);
            Transformer model(task.model, random);
            train(model, task.corpus, task.training, [](const StepReport&) {});
            const Claims claims = kind == "without_codes_" ? exact_by_kind(model, task.corpus)
                                                           : claims_of(model, start, task.corpus);
            for (const auto& [name, value] : claims) found[kind + name].push_back(value);
            progress.show(++trained);
        }
    progress.clear();
    std::vector<Column> columns{{"", "<38"}};
    for (Index seed = 1; seed <= seeds; ++seed)
        columns.push_back(
            varying(fmt::format("seed {}", seed), "8.3f", fmt::format("seed{}_{{}}", seed)));
    columns.push_back(varying("least", "8.3f", "{}_least"));
    columns.push_back(varying("most", "8.3f", "{}_most"));
    Table table(results, columns);
    for (const auto& [name, v] : found)
        table.row(name, name, v[0], v[1], v[2], v[3], v[4], *std::ranges::min_element(v),
                  *std::ranges::max_element(v));
    const HeldOutKinds held = grammar_held_out();
    results.set("seeds", seeds);
    results.set("combinations", held.combination.size());
    results.set("swaps", held.swapped.size());
    results.set("pairs_both_ways", held.both_ways.size());
    results.set("held_out", grammar_corpus().held_out.size());
}

}  // namespace abh
