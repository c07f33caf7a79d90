#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "chapters/13_real_translation/commands.hpp"
#include "chapters/13_real_translation/search/beam_search.hpp"
#include "chapters/13_real_translation/search/top_k.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/random.hpp"

namespace abh {
// [small models]
namespace {

/// A model of three words: the probabilities of a, b and the end E after the words so far.
using SmallModel = std::array<double, 3> (*)(const std::vector<std::int32_t>& words);
constexpr std::int32_t a = 0, end = 2;

/// Here the likeliest first word, a, leads to less likely sentences than b.
std::array<double, 3> deceptive(const std::vector<std::int32_t>& words) {
    if (words.empty()) return {0.5, 0.4, 0.1};
    if (words.back() == a) return {0.3, 0.3, 0.4};
    return {0.05, 0.05, 0.9};
}

/// Here a sentence may end early, or go on with little doubt for eight words.
std::array<double, 3> patient(const std::vector<std::int32_t>& words) {
    if (words.empty()) return {0.9, 0.05, 0.05};
    if (words.size() == 1) return {0.45, 0.05, 0.5};
    if (words.size() < 8) return {0.98, 0.01, 0.01};
    return {0.01, 0.01, 0.98};
}

/// For each prefix all words, likeliest first.
std::vector<Choice> choices(SmallModel model, const std::vector<Beam::Prefix>& prefixes) {
    std::vector<Choice> all;
    for (const Beam::Prefix& prefix : prefixes) {
        const std::size_t first = all.size();
        for (std::int32_t word = 0; const double p : model(prefix.words))
            all.push_back({word++, static_cast<Real>(std::log(p))});
        std::ranges::stable_sort(std::span(all).subspan(first), std::greater(),
                                 &Choice::log_probability);
    }
    return all;
}

/// Words as text, such as `b E`.
std::string said(const std::vector<std::int32_t>& words, bool finished) {
    std::string text;
    for (const std::int32_t word : words) text += word == a ? "a " : "b ";
    return text + (finished ? "E" : "...");
}
// [by hand]
/// Shows each round of a search: what goes on and what is set aside, with their probabilities.
void show_rounds(Index beam, const std::string& name, Results& results) {
    section(fmt::format("A beam of {}", beam));
    const BeamOptions options{.end = end, .beam = beam, .n_best = beam, .length_penalty = 0};
    Table table(results, {{"round", "5"}, {"goes on", "<22"}, {"is set aside", "<22"}});
    Beam search(options, 9);
    for (Index round = 1; !search.prefixes().empty(); ++round) {
        search.extend(choices(deceptive, search.prefixes()));
        std::string on, aside;
        for (const Beam::Prefix& p : search.prefixes())
            on += fmt::format("{} {:.2f}  ", said(p.words, false), std::exp(p.log_probability));
        for (const Hypothesis& h : search.best())
            aside += fmt::format("{} {:.2f}  ", said(h.ids, true), std::exp(h.log_probability));
        table.row(round, round, on, aside);
    }
    const Hypothesis best = search.best().front();
    fmt::print("found: {}, probability {:.2f}\n", said(best.ids, best.finished),
               std::exp(best.log_probability));
    results.set(name + "_probability", std::exp(best.log_probability));
    results.set(name + "_found", said(best.ids, best.finished));
}
// [lengths and rules]
/// Shows what a beam of one finds by each rule, and how many rounds it takes.
void show_rules(Results& results) {
    section("Where the search ends");
    Table table(results, {{"alpha", "5.1f"},
                          {"rule", "<7"},
                          {"rounds", "6", "rounds_{}"},
                          {"found", "<18"},
                          {"sum", "7.3f", "sum_{}"},
                          {"score", "7.3f", "score_{}"}});
    const std::array<std::pair<const char*, Stopping>, 3> rules{
        {{"full", Stopping::full}, {"usual", Stopping::usual}, {"proven", Stopping::proven}}};
    for (const Real alpha : {Real(0), Real(1)})
        for (const auto& [name, stopping] : rules) {
            Beam search({.end = end, .beam = 1, .length_penalty = alpha, .stopping = stopping}, 20);
            Index rounds = 0;
            for (; !search.prefixes().empty(); ++rounds)
                search.extend(choices(patient, search.prefixes()));
            const Hypothesis best = search.best().front();
            table.row(fmt::format("{}_{:.0f}", name, alpha), alpha, name, rounds,
                      said(best.ids, best.finished), best.log_probability, best.score);
        }
}
// [speed]
/// Times how a beam of 4 chooses the words of one round, for 32 sentences.
void show_speed(Results& results, std::uint64_t seed) {
    section("Making it fast");
    Random random(seed);
    const Tensor logits = normal({32 * 4, 1, 6000}, random.stream());
    GainTable table(results, "128 rows of 6000 logits");
    table.ways("the 8 likeliest of a row", "top_k", [&] { top_k(logits, 8); });
}

}  // namespace
// [run]
void show_search(Results& results, std::uint64_t seed) {
    show_rounds(1, "greedy", results);
    show_rounds(2, "beam", results);
    show_rules(results);
    show_speed(results, seed);
}

}  // namespace abh
