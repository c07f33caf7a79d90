#include "judge/cases.hpp"

#include <array>
#include <cmath>

#include "chapters/13_real_translation/bleu.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

constexpr std::size_t orders = 4;

/// The rows as texts: a word is its number.
std::vector<std::string> texts(const Ids& ids) {
    std::vector<std::string> lines;
    for (Index b = 0; b < ids.dim(0); ++b) {
        lines.emplace_back();
        for (Index i = 0; i < ids.dim(1); ++i)
            if (ids(b, i) != 0) lines.back() += fmt::format(" {}", ids(b, i));
    }
    return lines;
}

const BleuOptions plainly{.tokenization = Tokenization::none, .smooth = false};

Counts counts_of(const Ids& hypotheses, const Ids& references) {
    return sum_of(count_sentences(bleu_metric(plainly), texts(hypotheses), texts(references)));
}

/// The share of a sentence's n-grams that the reference has at all, in place of the clipped ones.
Real unclipped(const Ids& hypotheses, const Ids& references, const Counts& counts) {
    Counts sums = counts;
    for (std::size_t k = 0; k < orders; ++k) sums[2 + k] = 0;
    for (Index b = 0; b < hypotheses.dim(0); ++b) {
        const auto said = score_words(texts(hypotheses)[static_cast<std::size_t>(b)],
                                      Tokenization::none),
                   wanted = score_words(texts(references)[static_cast<std::size_t>(b)],
                                        Tokenization::none);
        for (std::size_t k = 0; k < orders; ++k) {
            const auto theirs = count_ngrams(wanted, static_cast<Index>(k + 1));
            for (const auto& [ngram, count] : count_ngrams(said, static_cast<Index>(k + 1)))
                if (theirs.contains(ngram)) sums[2 + k] += static_cast<double>(count);
        }
    }
    return static_cast<Real>(bleu_parts(sums, plainly).value / 100);
}

void add(Cases& cases, const char* criterion, const Ids& hypotheses, const Ids& references,
         const std::string& about) {
    const Counts counts = counts_of(hypotheses, references);
    const BleuParts parts = bleu_parts(counts, plainly);
    const Real right = static_cast<Real>(parts.value / 100);
    const Real penalty = static_cast<Real>(parts.brevity_penalty);
    Real mean = 0, of_sentences = 0;
    for (const double p : parts.precisions) mean += static_cast<Real>(p / 400);
    for (Index b = 0; b < hypotheses.dim(0); ++b)
        of_sentences += static_cast<Real>(
            bleu_parts(counts_of(hypotheses.rows(b, b + 1), references.rows(b, b + 1)), plainly)
                .value /
            100);
    const Real both = counts[0] > 0 && counts[1] > 0
                          ? static_cast<Real>(std::exp(1 - std::max(counts[0], counts[1]) /
                                                               std::min(counts[0], counts[1])))
                          : Real(0);
    cases.add(
        {.criterion = criterion,
         .call = "bleu",
         .arguments = values(hypotheses, references),
         .results = values(right),
         .about = about,
         .names = {"hypotheses", "references", "bleu"},
         .mistakes = {
             {"an n-gram that is said more often than the reference has it matches only so often",
              values(unclipped(hypotheses, references, counts))},
             {"the brevity penalty is missing", values(penalty > 0 ? right / penalty : Real(0))},
             {"the mean of the precisions is the geometric one", values(penalty * mean)},
             {"a hypothesis that is too long pays by its precisions alone",
              values(penalty > 0 ? right / penalty * both : Real(0))},
             {"the sums run over all sentences before anything is divided",
              values(of_sentences / static_cast<Real>(hypotheses.dim(0)))}}});
}

/// A hypothesis made of its reference: some words are another one, some are doubled.
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

/// Words 1 to `words`; row b has `lengths[b]` of them.
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

/// The first words of each row, `less` fewer than there are.
Ids cut(const Ids& ids, Index less) {
    Ids result({ids.dim(0), ids.dim(1) - less});
    for (Index b = 0; b < ids.dim(0); ++b)
        for (Index i = 0; i < result.dim(1); ++i) result(b, i) = ids(b, i);
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "clipped matches", Ids({1, 8}, {1, 2, 4, 5, 6, 7, 8, 9}),
        Ids({1, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), "that of the statement");
    add(cases, "clipped matches", Ids({1, 10}, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2}),
        Ids({1, 10}, {1, 2, 3, 4, 5, 6, 7, 1, 2, 8}), "words and runs that are repeated");
    for (const Index n : {12, 30}) {
        const Ids reference = drawn(cases, {n}, 6);
        add(cases, "clipped matches", spoiled(cases, reference, n, 6), reference,
            fmt::format("a sentence of {} words, few different ones", n));
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
    add(cases, "nothing to multiply", Ids({1, 6}, {1, 2, 4, 5, 7, 8}),
        Ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), "no run of three matches");
    add(cases, "nothing to multiply", Ids({1, 5}, {1, 2, 3, 0, 0}), Ids({1, 5}, {1, 2, 3, 0, 0}),
        "a right sentence of three words");
    add(cases, "nothing to multiply", Ids({2, 2}, {0, 0, 0, 0}), Ids({2, 3}, {1, 2, 3, 4, 0, 0}),
        "nothing is said");
    add(cases, "nothing to multiply", Ids({1, 5}, {1, 2, 3, 4, 5}), Ids({1, 5}, {6, 7, 8, 9, 10}),
        "nothing is right");
}
