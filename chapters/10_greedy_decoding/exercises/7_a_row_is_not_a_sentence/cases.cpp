#include "judge/answer/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace abh;
using namespace abh::judge;

namespace {

constexpr std::int32_t start = 1, end_symbol = 2;

enum class Slip { none, by_row, last_select_alone, one_more, keeps_end, carried_along, to_the_cap };

/// What decoding with this slip says, padded with 0, and how many words the decoder is given.
Values said(const Ids& scripts, Index max_words, Slip slip = Slip::none) {
    const Index n = scripts.dim(0);
    std::vector<std::vector<std::int32_t>> results(static_cast<std::size_t>(n));
    std::vector<std::size_t> sentences(results.size());  // for each row
    std::iota(sentences.begin(), sentences.end(), std::size_t{0});
    std::vector<std::size_t> taken_for = sentences;
    Index given = 0, rounds = max_words + Index{slip == Slip::one_more};
    for (Index t = 0; t < rounds; ++t) {
        if (sentences.empty() && slip != Slip::to_the_cap) break;
        const bool all = slip == Slip::carried_along || slip == Slip::to_the_cap;
        given += all ? n : static_cast<Index>(sentences.size());
        std::vector<std::size_t> still, still_taken_for;
        for (std::size_t i = 0; i < sentences.size(); ++i) {
            const std::int32_t word =
                t < scripts.dim(1) ? scripts(static_cast<Index>(sentences[i]), t) : end_symbol;
            const std::size_t to = slip == Slip::by_row ? i : taken_for[i];
            if (word != end_symbol || slip == Slip::keeps_end) results[to].push_back(word);
            if (word == end_symbol) continue;
            still.push_back(sentences[i]);
            still_taken_for.push_back(slip == Slip::last_select_alone ? i : taken_for[i]);
        }
        sentences = still;
        taken_for = still_taken_for;
    }
    std::size_t longest = 1;
    for (const auto& words : results) longest = std::max(longest, words.size());
    Ids padded = Ids::zeros({n, static_cast<Index>(longest)});
    for (std::size_t s = 0; s < results.size(); ++s)
        for (std::size_t t = 0; t < results[s].size(); ++t)
            padded(static_cast<Index>(s), static_cast<Index>(t)) = results[s][t];
    return values(padded, given);
}

/// Sentences of these lengths, all of whose words are different.
Ids drawn(Cases& cases, const std::vector<Index>& lengths) {
    const Index n = static_cast<Index>(lengths.size()),
                longest = *std::ranges::max_element(lengths);
    std::vector<std::int32_t> words(static_cast<std::size_t>(n * longest));
    std::iota(words.begin(), words.end(), 3);
    for (std::size_t i = words.size(); i > 1; --i)
        std::swap(words[i - 1],
                  words[static_cast<std::size_t>(cases.between(0, static_cast<Index>(i) - 1))]);
    Ids scripts = Ids::full({n, longest + 1}, end_symbol);
    for (Index s = 0; s < n; ++s)
        for (Index t = 0; t < lengths[static_cast<std::size_t>(s)]; ++t)
            scripts(s, t) = words[static_cast<std::size_t>(s * longest + t)];
    return scripts;
}

void add(Cases& cases, const char* criterion, const Ids& scripts, Index max_words) {
    std::vector<Index> lengths;
    for (Index s = 0; s < scripts.dim(0); ++s) {
        Index t = 0;
        while (scripts(s, t) != end_symbol) ++t;
        lengths.push_back(t);
    }
    Case c{.criterion = criterion,
           .call = "greedy_batch",
           .arguments = values(scripts, start, end_symbol, max_words),
           .results = said(scripts, max_words),
           .about = fmt::format("{} sentences, which say {} words and the end symbol, max_words {}",
                                lengths.size(), fmt::join(lengths, ", "), max_words),
           .names = {"scripts", "start", "end", "max_words", "the table of translations",
                     "the number of words given to next"}};
    const auto says = [&](const char* text, Slip slip) {
        c.mistakes.push_back({text, said(scripts, max_words, slip)});
    };
    says("row i is taken for sentence i, even after another sentence has ended", Slip::by_row);
    says("the rows that the last select named are taken for sentences", Slip::last_select_alone);
    says("one word more than max_words is said", Slip::one_more);
    says("the end symbol is not a word of the translation", Slip::keeps_end);
    says("a sentence that has ended gets words until all have ended", Slip::carried_along);
    if (max_words > *std::ranges::max_element(lengths) + 1)
        says("a sentence that has ended gets words up to the cap", Slip::to_the_cap);
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const char *const times = "sentences that end at different times", *const cap = "the cap",
                      *const astray = "your test notices words in the wrong sentence",
                      *const other = "your test notices other faults";
    add(cases, times, Ids({3, 4}, {5, 2, 2, 2, 6, 7, 2, 2, 8, 9, 4, 2}), 10);
    add(cases, times, drawn(cases, {3}), 10);
    add(cases, times, drawn(cases, {1, 3, 2, 4}), 9);
    add(cases, times, drawn(cases, {4, 4, 0, 2}), 9);
    std::vector<Index> lengths{cases.between(0, 2)};
    for (int i = 0; i < 4; ++i) lengths.push_back(cases.between(0, 7));
    lengths.push_back(cases.between(5, 8));
    add(cases, times, drawn(cases, lengths), 40);
    add(cases, cap, drawn(cases, {4, 1, 4}), 3);
    add(cases, cap, drawn(cases, {2, 2}), 1);
    add(cases, cap, drawn(cases, {5, 0, 4, 1, 6}), 4);
    lengths = {cases.between(0, 1), cases.between(0, 9), cases.between(5, 9), cases.between(6, 9)};
    add(cases, cap, drawn(cases, lengths), cases.between(4, 5));
    for (const char* criterion : {astray, other}) {
        cases.add_test(criterion, "own", "your own greedy_batch");
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    for (const char* what : {"the one in your file at first",
                             "the rows that the last select named are taken for sentences",
                             "select is told sentences, not rows"})
        cases.add_test(astray, what, fmt::format("this function: {}", what));
    for (const char* what : {"select is never called", "a sentence that has ended is carried along",
                             "it stops when the first sentence ends", "the end symbol is kept",
                             "the cap is one too large"})
        cases.add_test(other, what, fmt::format("this function: {}", what));
}
