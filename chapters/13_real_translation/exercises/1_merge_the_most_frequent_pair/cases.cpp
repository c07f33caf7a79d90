#include "judge/answer/cases.hpp"

#include <map>
#include <set>

using namespace abh;
using namespace abh::judge;

namespace {

using Word = std::vector<std::int32_t>;

/// Which of equally frequent pairs is taken.
enum class Ties { right, last, first_in_text, last_in_text, second_id, larger_second_id };
/// The id of the first new piece.
enum class NewId { right, distinct, first_word };

struct Rules {
    Ties ties = Ties::right;
    NewId new_id = NewId::right;
    bool by_count = true, recount = true, overlapping = true, skips_both = true;
};

/// A pair and how often it occurs in the text.
using Pairs = std::vector<std::pair<Word, Index>>;

/// All pairs, in the order of the text.
Pairs count_pairs(const std::vector<Word>& text, const Ids& counts, const Rules& rules) {
    Pairs pairs;
    std::map<Word, std::size_t> place;
    for (std::size_t w = 0; w < text.size(); ++w)
        for (std::size_t i = 1; i < text[w].size(); ++i) {
            const Word pair{text[w][i - 1], text[w][i]};
            const auto [at, is_new] = place.try_emplace(pair, pairs.size());
            if (is_new) pairs.emplace_back(pair, 0);
            pairs[at->second].second += rules.by_count ? counts(static_cast<Index>(w)) : 1;
            if (!rules.overlapping && i + 1 < text[w].size() && pair[0] == pair[1] &&
                pair[0] == text[w][i + 1])
                ++i;
        }
    return pairs;
}

/// Whether pair `a`, which occurs in the text first, is taken before the equally frequent pair `b`.
bool goes_first(const Word& a, const Word& b, Ties ties) {
    switch (ties) {
        case Ties::last:
            return b < a;
        case Ties::first_in_text:
            return true;
        case Ties::last_in_text:
            return false;
        case Ties::second_id:
            return std::pair(a[1], a[0]) < std::pair(b[1], b[0]);
        case Ties::larger_second_id:
            return std::pair(a[0], -a[1]) < std::pair(b[0], -b[1]);
        default:
            return a < b;
    }
}

/// The word with its pairs joined, from left to right.
Word join(const Word& word, const Word& pair, std::int32_t piece, const Rules& rules) {
    Word joined;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const bool both = i + 1 < word.size() && word[i] == pair[0] && word[i + 1] == pair[1];
        joined.push_back(both ? piece : word[i]);
        if (both && rules.skips_both) ++i;
    }
    return joined;
}

/// The right merges, from lists of words, or those of other rules.
Ids learn(const Ids& words, const Ids& counts, Index n, const Rules& rules = {}) {
    std::vector<Word> text;
    std::set<std::int32_t> ids;
    for (Index w = 0; w < words.dim(0); ++w) {
        text.emplace_back();
        for (Index i = 0; i < words.dim(1) && words(w, i) >= 0; ++i)
            text.back().push_back(words(w, i));
        if (w == 0 || rules.new_id != NewId::first_word)
            ids.insert(text.back().begin(), text.back().end());
    }
    const std::int32_t first =
        rules.new_id == NewId::distinct ? static_cast<std::int32_t>(ids.size()) : *ids.rbegin() + 1;
    Ids merges = Ids::full({n, 2}, -1);
    Pairs pairs;
    for (Index k = 0; k < n; ++k) {
        if (k == 0 || rules.recount) pairs = count_pairs(text, counts, rules);
        if (pairs.empty()) break;
        auto best = pairs.begin();
        for (auto at = best + 1; at != pairs.end(); ++at)
            if (at->second > best->second ||
                (at->second == best->second && !goes_first(best->first, at->first, rules.ties)))
                best = at;
        const Word pair = best->first;
        pairs.erase(best);
        for (Index i = 0; i < 2; ++i) merges(k, i) = pair[static_cast<std::size_t>(i)];
        for (Word& word : text)
            word = join(word, pair, first + static_cast<std::int32_t>(k), rules);
    }
    return merges;
}

void add(Cases& cases, const char* criterion, const Ids& words, const Ids& counts, Index n) {
    const auto with = [&](const Rules& rules) { return values(learn(words, counts, n, rules)); };
    cases.add(
        {.criterion = criterion,
         .call = "learn_merges",
         .arguments = values(words, counts, n),
         .results = with({}),
         .tolerance = 0,
         .about = fmt::format("words {}, n = {}", words.shape(), n),
         .names = {"words", "counts", "n", "merges"},
         .mistakes = {
             {"each word is counted once, without regard to how often a word occurs",
              with({.by_count = false})},
             {"a piece is used twice: move on by two places after a merge",
              with({.skips_both = false})},
             {"the pairs counted at the beginning are taken in order: count again after each merge",
              with({.recount = false})},
             {"the pair 0 0 occurs in 0 0 0 twice, because any two neighbors are a pair",
              with({.overlapping = false})},
             {"among equally frequent pairs, the last of several is taken",
              with({.ties = Ties::last})},
             {"among equally frequent pairs, the first in the text is taken, but their ids decide",
              with({.ties = Ties::first_in_text})},
             {"among equally frequent pairs, the last in the text is taken, but their ids decide",
              with({.ties = Ties::last_in_text})},
             {"between equally frequent pairs, the first id decides, and the second one only if "
              "the first ids are equal",
              with({.ties = Ties::second_id})},
             {"among equally frequent pairs with the same first id, take the one with the smaller "
              "second id",
              with({.ties = Ties::larger_second_id})},
             {"a new id is one more than the largest in words, even if ids are missing below it",
              with({.new_id = NewId::distinct})},
             {"a new id is one more than the largest in all words, not in the first one alone",
              with({.new_id = NewId::first_word})}}});
}

/// Words of a small alphabet, some of them short, with different counts.
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
    // One pair occurs three times in a rare word, another once in a frequent word.
    add(cases, "the first merge", Ids({2, 6}, {0, 1, 0, 1, 0, 1, 2, 3, -1, -1, -1, -1}),
        Ids({2}, {2, 9}), 1);
    add(cases, "the first merge", small, Ids({2}, {3, 2}), 1);
    for (const Index n : {6, 12}) {
        const auto [words, counts] = draw(cases, 2 * n, 9, 3);
        add(cases, "merges of merges", words, counts, n);
    }
    add(cases, "merges of merges", Ids({1, 9}, {0, 1, 0, 1, 0, 1, 0, 0, 0}), Ids({1}, {4}), 4);
    // Ids are missing, and the largest one is in the second word.
    add(cases, "merges of merges", Ids({2, 4}, {2, 5, 2, 5, 9, 2, 5, -1}), Ids({2}, {4, 3}), 3);
    add(cases, "equally frequent pairs", Ids({5, 2}, {2, 3, 1, 4, 4, 0, 5, 1, 3, 2}),
        Ids({5}, {5, 5, 5, 5, 5}), 1);
    add(cases, "equally frequent pairs", Ids({4, 2}, {1, 2, 1, 3, 1, 0, 2, 0}),
        Ids({4}, {1, 1, 1, 1}), 4);
    add(cases, "one piece twice in a row", Ids({1, 5}, {0, 0, 0, 0, 0}), Ids({1}, {2}), 3);
    // 0 0 occurs six times, 1 2 four times; without overlaps, 0 0 occurs only three times.
    add(cases, "one piece twice in a row", Ids({2, 3}, {1, 2, -1, 0, 0, 0}), Ids({2}, {4, 3}), 2);
    add(cases, "nothing left to join", small, Ids({2}, {3, 2}), 4);
    add(cases, "nothing left to join", Ids({2, 1}, {0, 1}), Ids({2}, {3, 2}), 2);
}
