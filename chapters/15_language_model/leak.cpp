#include "chapters/15_language_model/leak.hpp"

#include <algorithm>

#include "chapters/09_training/loop/task.hpp"
#include "chapters/15_language_model/experiment.hpp"
#include "chapters/15_language_model/training.hpp"
#include "lib/part.hpp"

namespace abh {
// [leaking]
namespace {

/// A mistake: `Stack` without `hide_future()`.
struct LeakingStack : Stack {
    using Stack::Stack;

    Tensor forward(const Sentences& text, Cache* cache = nullptr) const {
        const Tensor vectors = embed.forward(text.ids, part(cache, &Cache::embed));
        const Tensor x = positions.forward(vectors, part(cache, &Cache::positions));
        AttentionMask mask;  // hides nothing
        mask.queries = mask.keys = text.packing;
        if (cache) cache->packing = text.packing;
        return layers.forward(pack(x, text.packing), mask, part(cache, &Cache::layers));
    }
};
// [write]
/// The likeliest words after the arrow, until the end symbol comes, or `most` words.
std::vector<std::string> write(const LeakingStack& model, const Vocabulary& words,
                               const SentencePair& pair, std::size_t most) {
    std::vector<std::int32_t> text;
    for (const std::string& word : line_of({pair.source, {}}))
        if (word != end_word) text.push_back(words.id(word));
    std::vector<std::string> said;
    while (said.size() < most && (said.empty() || said.back() != end_word)) {
        Ids read({1, std::ssize(text)});
        std::ranges::copy(text, read.values().begin());
        const Tensor y = model.forward(read);
        text.push_back(argmax(model.output.forward(y)).values().back().word);
        said.push_back(words.word(text.back()));
    }
    return said;
}

}  // namespace
// [leak]
void show_leak(Index seeds, Results& results) {
    const Task task = grammar_task();
    const Vocabulary words = line_vocabulary(task.corpus);
    Table table(results, {{"seed", "4"},
                          varying("loss", "7.4f", "{}_loss"),
                          varying("right with the right words before", "34", "{}_fed"),
                          varying("by itself", "10", "{}_written")});
    for (Index seed = 1; seed <= seeds; ++seed) {
        LeakingStack model(stack_options(words.size()), Random(static_cast<std::uint64_t>(seed)));
        Progress progress("training", count_steps(task.corpus, task.training));
        train_lines(model, words, task.corpus.train, Counted::translation, task.training,
                    [&](const StepReport& r) { progress.show(r.step); });
        progress.clear();
        const Evaluation fed = evaluate_lines(model, words, task.corpus.held_out);
        Index written = 0;
        for (const SentencePair& pair : task.corpus.held_out) {
            std::vector<std::string> right = pair.target;
            right.push_back(end_word);
            written += write(model, words, pair, right.size()) == right;
        }
        table.row(fmt::format("seed{}", seed), seed, fed.loss, fed.exact, written);
        const std::vector<std::string> said =
            write(model, words, {split_words("我 有 一 个 好 朋 友"), {}}, 7);
        results.set_varying(fmt::format("seed{}_says", seed), join_words(said));
        std::fflush(stdout);
    }
}

}  // namespace abh
