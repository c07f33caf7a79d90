#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace abh;
using namespace abh::judge;

namespace {

/// The mistakes that a beam may make.
struct Slips {
    bool drop_finished = false, per_word = false, raw = false, first_finished = false;
};

struct Found {
    std::string words;
    Real sum;
};

Tensor logits_of(const Tensor& table, const std::vector<std::int32_t>& words) {  // as in call.cpp
    const Index t = static_cast<Index>(words.size()), n = table.dim(2), longest = table.dim(0);
    Tensor logits({n});
    for (Index j = 0; j < n; ++j) {
        logits(j) = table(t % longest, t == 0 ? 1 : words.back(), j);
        if (t > 1) logits(j) += table((t + 1) % longest, words.front(), j) / 2;
    }
    return logits;
}

/// `ln sum_j exp(z_j)`
Real log_sum(const Tensor& z) {
    const Real largest = *std::max_element(z.values().begin(), z.values().end());
    Real sum = 0;
    for (const Real x : z.values()) sum += std::exp(x - largest);
    return largest + std::log(sum);
}

Found beam(const Tensor& table, Index max_words, Index width, const Slips& slips = {}) {
    struct Prefix {
        std::vector<std::int32_t> words;
        Real sum = 0;
        bool finished = false;
    };
    std::vector<Prefix> kept(1);
    const auto score = [&](const Prefix& p) {
        return slips.per_word ? p.sum / static_cast<Real>(p.words.size() + p.finished) : p.sum;
    };
    for (Index round = 0; round < max_words; ++round) {
        std::vector<Prefix> candidates;
        for (const Prefix& p : kept) {
            if (p.finished && !slips.drop_finished) candidates.push_back(p);
            if (p.finished) continue;
            const Tensor z = logits_of(table, p.words);
            const Real l = log_sum(z);
            for (std::int32_t j = 0; j < z.size(); ++j) {
                Prefix next = p;
                next.sum += z(j) - (slips.raw ? 0 : l);
                next.finished = j == 2;
                if (j != 2) next.words.push_back(j);
                candidates.push_back(next);
            }
        }
        if (candidates.empty()) break;
        std::stable_sort(candidates.begin(), candidates.end(),
                         [&](const Prefix& a, const Prefix& b) { return score(a) > score(b); });
        candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(width)));
        kept = candidates;
        const auto done = [](const Prefix& p) { return p.finished; };
        if (std::all_of(kept.begin(), kept.end(), done)) break;
        if (slips.first_finished && std::any_of(kept.begin(), kept.end(), done)) {
            kept = {*std::find_if(kept.begin(), kept.end(), done)};
            break;
        }
    }
    Found found{"", kept.front().sum};
    for (const std::int32_t word : kept.front().words) {
        if (!found.words.empty()) found.words += ' ';
        found.words += std::to_string(word);
    }
    return found;
}

Values as_values(const Found& found) {
    return values(Tensor({1}, {found.sum}), found.words);
}

void add(Cases& cases, const char* criterion, const Tensor& table, Index max_words, Index width) {
    cases.add(
        {.criterion = criterion,
         .call = "beam_decode",
         .arguments = values(table, max_words, width),
         .results = as_values(beam(table, max_words, width)),
         .about = fmt::format("{} words in the vocabulary, max_words {}, width {}", table.dim(2),
                              max_words, width),
         .names = {"table", "max_words", "width", "the sum", "the translation"},
         .mistakes = {{"finished prefixes are dropped, but should compete",
                       as_values(beam(table, max_words, width, {.drop_finished = true}))},
                      {"the sums are divided by the lengths, but should stay as they are",
                       as_values(beam(table, max_words, width, {.per_word = true}))},
                      {"these are sums of logits instead of log-probabilities",
                       as_values(beam(table, max_words, width, {.raw = true}))},
                      {"the first finished prefix is taken, but all should finish",
                       as_values(beam(table, max_words, width, {.first_finished = true}))},
                      {"this is what a width of 1 finds", as_values(beam(table, max_words, 1))}}});
}

/// A table for which `wanted` holds.
template <class Wanted>
Tensor search(Cases& cases, Index n_words, Real end, const Wanted& wanted) {
    for (int trial = 0; trial < 10000; ++trial) {
        Tensor table = cases.normal({5, n_words, n_words});
        table *= 2;
        for (Index t = 0; t < 5; ++t)
            for (Index i = 0; i < n_words; ++i) table(t, i, 2) += end;
        if (wanted(table)) return table;
    }
    throw std::logic_error("no such table");
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    // words: pad, start, end, a, b
    const Real none = Real(-1e4);
    Tensor example = Tensor::full({1, 5, 5}, none);
    const auto set = [&](Index row, double e, double a, double b) {
        for (const auto& [j, p] : {std::pair{2, e}, std::pair{3, a}, std::pair{4, b}})
            if (p > 0) example(0, row, j) = static_cast<Real>(std::log(p));
    };
    set(1, 0, 0.6, 0.4);
    set(3, 0.4, 0.3, 0.3);
    set(4, 0.9, 0.05, 0.05);
    const auto other_than = [](Index max_words, Index width, const Slips& slips) {
        return [=](const Tensor& table) {
            return beam(table, max_words, width).words !=
                   beam(table, max_words, width, slips).words;
        };
    };
    const auto ends = [](const Tensor& table) {
        return beam(table, 12, 1).words.size() >= 3 &&
               beam(table, 12, 1).words == beam(table, 30, 1).words;
    };
    const auto better = [](Index width) {
        return [=](const Tensor& table) {
            return beam(table, 8, width).sum > beam(table, 8, width - 1).sum;
        };
    };
    add(cases, "a beam of one", example, 10, 1);
    for (const Index n_words : {4, 9})
        add(cases, "a beam of one", search(cases, n_words, 1, ends), 12, 1);
    add(cases, "a beam of two", example, 10, 2);
    add(cases, "a beam of two", search(cases, 5, 0, better(2)), 8, 2);
    for (const Slips& slips :
         {Slips{.drop_finished = true}, Slips{.per_word = true}, Slips{.first_finished = true}}) {
        add(cases, "a beam of two", search(cases, 5, 1, other_than(8, 2, slips)), 8, 2);
        add(cases, "wider beams", search(cases, 6, 1, other_than(8, 4, slips)), 8, 4);
    }
    add(cases, "wider beams", search(cases, 6, 0, better(3)), 8, 3);
    add(cases, "wider beams", search(cases, 4, 0, better(2)), 8, 50);
    for (const Index width : {1, 2, 3}) {  // no end in sight
        add(cases, "the cap", search(cases, 6, -50, [](const Tensor&) { return true; }), 4, width);
        add(cases, "the cap", search(cases, 6, -50, [](const Tensor&) { return true; }), 1, width);
    }
}
