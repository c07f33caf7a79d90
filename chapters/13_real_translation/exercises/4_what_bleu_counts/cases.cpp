#include "judge/answer/cases.hpp"

#include <array>
#include <cmath>
#include <map>

#include "chapters/13_real_translation/scores/bleu.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

constexpr std::size_t orders = 4;

/// The rows as texts, in which each word is its number.
std::vector<std::string> texts(const Ids& ids) {
    std::vector<std::string> lines;
    for (Index b = 0; b < ids.dim(0); ++b) {
        lines.emplace_back();
        for (Index i = 0; i < ids.dim(1); ++i)
            if (ids(b, i) != 0) lines.back() += fmt::format(" {}", ids(b, i));
    }
    return lines;
}

const BleuOptions plainly{.tokenization = "none", .smooth = false};

Counts counts_of(const Ids& hypotheses, const Ids& references) {
    return sum_of(count_sentences(texts(hypotheses), texts(references), plainly));
}

/// The places in `Counts`: words of hypotheses and of references, then matches, then n-grams.
constexpr std::size_t said_at = 0, wanted_at = 1, matches_at = 2, total_at = 2 + orders;

Real score(const Counts& counts) {
    return static_cast<Real>(bleu_parts(counts, plainly).value / 100);
}

/// Each order's n-grams, of one row or of all rows.
using Ngrams = std::array<std::map<std::vector<std::int32_t>, double>, orders>;

void count(Ngrams& ngrams, const Ids& ids, Index b) {
    std::vector<std::int32_t> words;
    for (Index i = 0; i < ids.dim(1); ++i)
        if (ids(b, i) != 0) words.push_back(ids(b, i));
    for (std::size_t n = 1; n <= orders; ++n)
        for (std::size_t i = 0; i + n <= words.size(); ++i) {
            const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
            ++ngrams[n - 1][{first, first + static_cast<std::ptrdiff_t>(n)}];
        }
}

/// Adds the matches of these n-grams: the smaller of both counts if `clip`, otherwise all.
void add_matches(Counts& counts, const Ngrams& ours, const Ngrams& theirs, bool clip) {
    for (std::size_t k = 0; k < orders; ++k)
        for (const auto& [ngram, times] : ours[k])
            if (const auto at = theirs[k].find(ngram); at != theirs[k].end())
                counts[matches_at + k] += clip ? std::min(times, at->second) : times;
}

/// The counts without their matches, which are then counted in another way.
Counts without_matches(Counts counts) {
    for (std::size_t k = 0; k < orders; ++k) counts[matches_at + k] = 0;
    return counts;
}

Counts unclipped(const Ids& hypotheses, const Ids& references, const Counts& right) {
    Counts counts = without_matches(right);
    for (Index b = 0; b < hypotheses.dim(0); ++b) {
        Ngrams ours, theirs;
        count(ours, hypotheses, b);
        count(theirs, references, b);
        add_matches(counts, ours, theirs, false);
    }
    return counts;
}

Counts clipped_over_all(const Ids& hypotheses, const Ids& references, const Counts& right) {
    Counts counts = without_matches(right);
    Ngrams ours, theirs;
    for (Index b = 0; b < hypotheses.dim(0); ++b) {
        count(ours, hypotheses, b);
        count(theirs, references, b);
    }
    add_matches(counts, ours, theirs, true);
    return counts;
}

/// The words of a hypothesis count only up to the length of its reference.
Counts shorter_lengths(const Ids& hypotheses, const Ids& references, const Counts& right) {
    Counts counts = right;
    counts[said_at] = 0;
    for (Index b = 0; b < hypotheses.dim(0); ++b) {
        const Counts one = counts_of(hypotheses.rows(b, b + 1), references.rows(b, b + 1));
        counts[said_at] += std::min(one[said_at], one[wanted_at]);
    }
    return counts;
}

/// The score of the orders that have a match, by a root of degree `root`, or of their number if 0.
Real without_empty_orders(const Counts& counts, double root, double penalty) {
    double logs = 0, n = 0;
    for (std::size_t k = 0; k < orders; ++k)
        if (counts[matches_at + k] > 0) {
            logs += std::log(counts[matches_at + k] / counts[total_at + k]);
            ++n;
        }
    if (n == 0 && root == 0) return 0;
    return static_cast<Real>(penalty * std::exp(logs / (root > 0 ? root : n)));
}

std::vector<Mistake> mistakes_of(const Ids& hypotheses, const Ids& references,
                                 const Counts& counts) {
    const BleuParts parts = bleu_parts(counts, plainly);
    const double said = counts[said_at], wanted = counts[wanted_at];
    const double right = parts.value / 100, penalty = parts.brevity_penalty;
    const double bare = penalty > 0 ? right / penalty : 0;  // without a penalty
    const bool some = said > 0 && wanted > 0;
    const double ratio = some ? std::min(said, wanted) / std::max(said, wanted) : 1;
    double mean = 0, of_sentences = 0;
    for (const double p : parts.precisions) mean += p / (100 * orders);
    for (Index b = 0; b < hypotheses.dim(0); ++b)
        of_sentences += static_cast<double>(
            score(counts_of(hypotheses.rows(b, b + 1), references.rows(b, b + 1))));
    const char* const empty_order =
        "an order without a match, or without n-grams, makes the score 0: it is not left out";
    std::vector<std::pair<const char*, double>> found{
        {"an n-gram that is said more often than the reference has it matches only as often as "
         "there",
         static_cast<double>(score(unclipped(hypotheses, references, counts)))},
        {"the mean of the precisions must be the geometric one", penalty * mean},
        {"this is in percent, but the score is a share, from 0 to 1", 100 * right},
        {empty_order, static_cast<double>(without_empty_orders(counts, orders, penalty))},
        {empty_order, static_cast<double>(without_empty_orders(counts, 0, penalty))}};
    if (said < wanted) {
        found.emplace_back(
            "the brevity penalty is missing, or applies to what is too long in place of what is "
            "too short",
            bare);
        found.emplace_back(
            "the penalty is e^(1 - r/c) with r for the references, but the lengths are the wrong "
            "way round",
            bare * std::exp(1 - ratio));
    } else {
        const char* const too_long =
            "a hypothesis that is too long is punished by its precisions alone";
        found.emplace_back(too_long, bare * std::exp(1 - 1 / ratio));
        found.emplace_back("the penalty is e^(1 - r/c) only if c is less than r, and otherwise 1",
                           bare * std::exp(1 - ratio));
    }
    if (hypotheses.dim(0) > 1) {
        found.emplace_back("sum over all sentences before you divide anything",
                           of_sentences / static_cast<double>(hypotheses.dim(0)));
        found.emplace_back(
            "the lengths are summed as they are: a sentence that is too long makes up for one "
            "that is too short",
            static_cast<double>(score(shorter_lengths(hypotheses, references, counts))));
        found.emplace_back(
            "matches are clipped in each sentence, not over the whole test set",
            static_cast<double>(score(clipped_over_all(hypotheses, references, counts))));
    }
    std::vector<Mistake> mistakes;
    for (const auto& [says, result] : found)
        mistakes.push_back({says, values(static_cast<Real>(result))});
    return mistakes;
}

void add(Cases& cases, const char* criterion, const Ids& hypotheses, const Ids& references,
         const std::string& about) {
    const Counts counts = counts_of(hypotheses, references);
    cases.add({.criterion = criterion,
               .call = "bleu",
               .arguments = values(hypotheses, references),
               .results = values(score(counts)),
               .about = about,
               .names = {"hypotheses", "references", "bleu"},
               .mistakes = mistakes_of(hypotheses, references, counts)});
}

/// A hypothesis made from its reference, with some words replaced and some doubled.
Ids spoiled(Cases& cases, const Ids& references, Index width, Index words) {
    Ids result({references.dim(0), width});
    result.fill(0);
    const Ids chances = cases.ids(references.shape(), 8),
              others = cases.ids(references.shape(), words);
    for (Index b = 0; b < references.dim(0); ++b)
        for (Index i = 0, j = 0; i < references.dim(1) && j < width; ++i) {
            if (references(b, i) == 0) break;
            result(b, j++) = chances(b, i) == 0 ? 1 + others(b, i) : references(b, i);
            if (chances(b, i) == 1 && j < width) result(b, j++) = references(b, i);
        }
    return result;
}

/// Random words from 1 to `words`, of which row b has `lengths[b]`.
Ids drawn(Cases& cases, std::initializer_list<Index> lengths, Index words) {
    const Index width = std::max(lengths);
    Ids ids = cases.ids({static_cast<Index>(lengths.size()), width}, words);
    Index b = 0;
    for (const Index length : lengths) {
        for (Index i = 0; i < width; ++i) ids(b, i) = i < length ? ids(b, i) + 1 : 0;
        ++b;
    }
    return ids;
}

/// The rows without their last `less` words.
Ids cut(const Ids& ids, Index less) {
    Ids result({ids.dim(0), ids.dim(1) - less});
    for (Index b = 0; b < ids.dim(0); ++b)
        for (Index i = 0; i < result.dim(1); ++i) result(b, i) = ids(b, i);
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "clipped matches", Ids({1, 8}, {1, 2, 3, 5, 6, 7, 8, 9}),
        Ids({1, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), "the example of the statement");
    add(cases, "clipped matches", Ids({1, 10}, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2}),
        Ids({1, 10}, {1, 2, 3, 4, 5, 6, 7, 1, 2, 8}), "repeated words and runs");
    for (const Index n : {12, 30}) {
        const Ids reference = drawn(cases, {n}, 6);
        add(cases, "clipped matches", spoiled(cases, reference, n, 6), reference,
            fmt::format("a sentence of {} words, few of them different", n));
    }
    const Ids sentence = drawn(cases, {20}, 50);
    for (const Index less : {1, 7, 15}) {
        add(cases, "the brevity penalty", cut(sentence, less), sentence,
            fmt::format("{} words too short", less));
        add(cases, "the brevity penalty", sentence, cut(sentence, less),
            fmt::format("{} words too long", less));
    }
    add(cases, "the brevity penalty", sentence, sentence, "all is right");
    const Ids references = drawn(cases, {9, 25, 4, 1, 14, 7}, 12);
    add(cases, "a whole test set", spoiled(cases, references, 28, 12), references,
        "six sentences of many lengths");
    const Ids alike = drawn(cases, {11, 11, 11}, 5);
    add(cases, "a whole test set", spoiled(cases, alike, 9, 5), alike,
        "three sentences, cut short");
    add(cases, "a whole test set", Ids({2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}),
        Ids({2, 7}, {1, 2, 3, 4, 5, 7, 6, 8, 7, 0, 0, 0, 0, 0}), "a good sentence and a bad one");
    add(cases, "a whole test set",
        Ids({2, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 0, 0, 0, 0}),
        Ids({2, 8}, {1, 2, 3, 4, 5, 6, 0, 0, 11, 12, 13, 14, 15, 16, 17, 18}),
        "a sentence that is too long, and one that is too short by as much");
    add(cases, "a whole test set", Ids({2, 7}, {1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 14, 15, 0, 0}),
        Ids({2, 7}, {1, 2, 3, 4, 5, 6, 0, 11, 12, 13, 14, 15, 7, 8}),
        "words that the reference of another sentence has");
    add(cases, "nothing to multiply", Ids({1, 6}, {1, 2, 4, 5, 7, 8}),
        Ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), "no run of three matches");
    add(cases, "nothing to multiply", Ids({1, 5}, {1, 2, 3, 0, 0}), Ids({1, 5}, {1, 2, 3, 0, 0}),
        "a right sentence of three words");
    add(cases, "nothing to multiply", Ids({2, 2}, {0, 0, 0, 0}), Ids({2, 3}, {1, 2, 3, 4, 0, 0}),
        "nothing is said");
    add(cases, "nothing to multiply", Ids({1, 5}, {1, 2, 3, 4, 5}), Ids({1, 5}, {6, 7, 8, 9, 10}),
        "nothing is right");
}
