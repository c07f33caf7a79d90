#include "judge/cases.hpp"

#include <algorithm>
#include <map>
#include <tuple>

using namespace abh;
using namespace abh::judge;

namespace {

using Word = std::vector<std::int32_t>;

struct Rules {
    bool by_count = true, last_of_equals = false, recount = true;
};

/// What is right, by lists of words, and what other rules give.
Ids learn(const Ids& words, const Ids& counts, Index n, const Rules& rules = {}) {
    std::vector<Word> text;
    std::int32_t piece = 0;
    for (Index w = 0; w < words.dim(0); ++w) {
        text.emplace_back();
        for (Index i = 0; i < words.dim(1) && words(w, i) >= 0; ++i)
            text.back().push_back(words(w, i));
        for (const std::int32_t id : text.back()) piece = std::max(piece, id + 1);
    }
    Ids merges = Ids::full({n, 2}, -1);
    std::map<Word, Index> pairs;
    for (Index k = 0; k < n; ++k) {
        if (k == 0 || rules.recount) {
            pairs.clear();
            for (std::size_t w = 0; w < text.size(); ++w)
                for (std::size_t i = 1; i < text[w].size(); ++i)
                    pairs[{text[w][i - 1], text[w][i]}] +=
                        rules.by_count ? counts(static_cast<Index>(w)) : 1;
        }
        if (pairs.empty()) break;
        const auto less = [&](const auto& a, const auto& b) {
            return rules.last_of_equals ? a.second <= b.second : a.second < b.second;
        };
        auto best = pairs.begin();
        for (auto at = pairs.begin(); at != pairs.end(); ++at)
            if (at != best && less(*best, *at)) best = at;
        const Word pair = best->first;
        pairs.erase(best);
        for (Index i = 0; i < 2; ++i) merges(k, i) = pair[static_cast<std::size_t>(i)];
        for (Word& word : text)
            for (auto at = word.begin();
                 (at = std::search(at, word.end(), pair.begin(), pair.end())) != word.end();) {
                *at = piece + static_cast<std::int32_t>(k);
                at = word.erase(at + 1);
            }
    }
    return merges;
}

void add(Cases& cases, const char* criterion, const Ids& words, const Ids& counts, Index n) {
    cases.add(
        {.criterion = criterion,
         .call = "learn_merges",
         .arguments = values(words, counts, n),
         .results = values(learn(words, counts, n)),
         .tolerance = 0,
         .about = fmt::format("words {}, {} merges", words.shape(), n),
         .names = {"words", "counts", "n", "merges"},
         .mistakes = {{"each word is counted once: how often a word occurs is forgotten",
                       values(learn(words, counts, n, {.by_count = false}))},
                      {"of equally frequent pairs the last of several is taken",
                       values(learn(words, counts, n, {.last_of_equals = true}))},
                      {"the pairs of the beginning are taken in order: count again after each "
                       "merge",
                       values(learn(words, counts, n, {.recount = false}))}}});
}

/// Words of a small alphabet, some short, counts that differ.
std::pair<Ids, Ids> draw(Cases& cases, Index n_words, Index length, Index alphabet) {
    Ids words = cases.ids({n_words, length}, alphabet), counts({n_words});
    for (Index w = 0; w < n_words; ++w) {
        counts(w) = static_cast<std::int32_t>(1 + 7 * w + cases.between(0, 5));
        for (Index i = cases.between(2, length); i < length; ++i) words(w, i) = -1;
    }
    return {words, counts};
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Ids small({2, 3}, {0, 1, 2, 1, 2, -1});
    // One pair three times in one word that is rare, another once in a word that is frequent.
    add(cases, "the first merge", Ids({2, 6}, {0, 1, 0, 1, 0, 1, 2, 3, -1, -1, -1, -1}),
        Ids({2}, {2, 9}), 1);
    add(cases, "the first merge", small, Ids({2}, {3, 2}), 1);
    for (const Index n : {6, 12}) {
        const auto [words, counts] = draw(cases, 2 * n, 9, 3);
        add(cases, "merges of merges", words, counts, n);
    }
    add(cases, "merges of merges", Ids({1, 9}, {0, 1, 0, 1, 0, 1, 0, 0, 0}), Ids({1}, {4}), 4);
    add(cases, "equally frequent pairs", Ids({2, 2}, {3, 0, 1, 2}), Ids({2}, {5, 5}), 1);
    add(cases, "equally frequent pairs", Ids({3, 2}, {1, 3, 1, 0, 2, 0}), Ids({3}, {1, 1, 1}), 3);
    add(cases, "one piece twice in a row", Ids({1, 5}, {0, 0, 0, 0, 0}), Ids({1}, {2}), 3);
    add(cases, "nothing left to join", small, Ids({2}, {3, 2}), 4);
    add(cases, "nothing left to join", Ids({2, 1}, {0, 1}), Ids({2}, {3, 2}), 2);
}
