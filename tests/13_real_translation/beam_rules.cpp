// Per way: what a beam keeps and when it stops, on tables of probabilities.
#include <algorithm>
#include <cmath>
#include <functional>

#include "chapters/13_real_translation/search/beam_search.hpp"
#include "lib/random.hpp"
#include "tests/13_real_translation/hypotheses.hpp"
#include "tests/catch.hpp"

using namespace abh;

namespace {

using Words = std::vector<std::int32_t>;

// A model that is a table: the log-probabilities of the word after a prefix.
using Table = std::function<std::vector<double>(const Words& prefix)>;

/// Probabilities that a hash of the prefix draws, far enough from equal.
Table random_table(Index n_words, std::uint64_t seed, double sharpness) {
    return [=](const Words& prefix) {
        std::uint64_t key = seed * 1000003;
        for (const std::int32_t w : prefix) key = key * 31 + static_cast<std::uint64_t>(w) + 1;
        Random random(key);
        const Tensor z = normal({n_words}, random.stream());
        std::vector<double> p;
        double total = 0;
        for (const Real x : z.values()) total += std::exp(sharpness * static_cast<double>(x));
        for (const Real x : z.values())
            p.push_back(sharpness * static_cast<double>(x) - std::log(total));
        return p;
    };
}

/// `Beam` on a table.
std::vector<Hypothesis> search_table(const Table& table, const BeamOptions& options, Index limit,
                                     Index* rounds = nullptr) {
    Beam beam(options, limit);
    for (Index round = 0; !beam.prefixes().empty(); ++round) {
        REQUIRE(round < limit);
        if (rounds) *rounds = round + 1;
        std::vector<Choice> choices;
        for (const Beam::Prefix& prefix : beam.prefixes()) {
            const std::vector<double> p = table(prefix.words);
            Words words;
            for (std::size_t w = 0; w < p.size(); ++w)
                words.push_back(static_cast<std::int32_t>(w));
            std::ranges::stable_sort(words, std::greater(), [&](std::int32_t w) {
                return static_cast<Real>(p[static_cast<std::size_t>(w)]);
            });
            words.resize(std::min(words.size(), 2 * static_cast<std::size_t>(options.beam)));
            for (const std::int32_t w : words)
                choices.push_back({w, static_cast<Real>(p[static_cast<std::size_t>(w)])});
        }
        beam.extend(choices);
    }
    return beam.best();
}

/// A beam search said in another way: it goes on to the limit, whatever it has found.
std::vector<Hypothesis> to_the_limit(const Table& table, const BeamOptions& options, Index limit) {
    struct Path {
        Words words;
        double sum;
    };
    std::vector<Path> paths{{{}, 0}};
    std::vector<Hypothesis> ended;
    for (Index n = 1; n <= limit && !paths.empty(); ++n) {
        std::vector<Path> longer;
        for (const Path& path : paths) {
            const std::vector<double> p = table(path.words);
            for (std::size_t w = 0; w < p.size(); ++w) {
                longer.push_back(path);
                longer.back().words.push_back(static_cast<std::int32_t>(w));
                longer.back().sum += static_cast<double>(static_cast<Real>(p[w]));
            }
        }
        std::ranges::stable_sort(longer, std::greater(), &Path::sum);
        paths.clear();
        for (std::size_t rank = 0; rank < longer.size(); ++rank) {
            Path& path = longer[rank];
            const bool finished = path.words.back() == options.end;
            if (!finished && n < limit) {
                if (static_cast<Index>(paths.size()) < options.beam) paths.push_back(path);
                continue;
            }
            if (static_cast<Index>(rank) >= options.beam) continue;
            if (finished) path.words.pop_back();
            ended.push_back({path.words, normalized(path.sum, n, options), path.sum, finished});
        }
    }
    std::ranges::stable_sort(ended, std::greater(), &Hypothesis::score);
    ended.resize(std::min(ended.size(), static_cast<std::size_t>(options.n_best)));
    return ended;
}

}  // namespace

TEST_CASE("what the proven rule returns is never overtaken, however long the search goes on") {
    Index usual_differs = 0, stopped_early = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed)
        for (const Real alpha : {Real(0), Real(0.6), Real(1), Real(2)}) {
            const Table table = random_table(5, seed, 1 + static_cast<double>(seed % 4));
            const Index limit = 3 + static_cast<Index>(seed % 9);
            BeamOptions o{
                .end = 2, .beam = 1 + static_cast<Index>(seed % 5), .length_penalty = alpha};
            o.n_best = std::min<Index>(o.beam, 1 + static_cast<Index>(seed % 3));
            const std::vector<Hypothesis> expected = to_the_limit(table, o, limit);
            o.stopping = Stopping::proven;
            Index rounds = 0;
            CAPTURE(seed, alpha, limit, o.beam, o.n_best);
            CHECK(same(search_table(table, o, limit, &rounds), expected));
            stopped_early += rounds < limit;
            o.stopping = Stopping::usual;
            const std::vector<Hypothesis> usual = search_table(table, o, limit);
            if (alpha == 0) CHECK(same(usual, expected));
            usual_differs += !same(usual, expected);
        }
    CHECK(stopped_early > 100);
    CHECK(usual_differs > 10);  // it is a guess
}

TEST_CASE("the rule full stops in the round in which k hypotheses are set aside") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const Table table = random_table(4, seed, 2);
        BeamOptions o{.end = 2, .beam = 3, .n_best = 3};
        o.stopping = Stopping::full;
        Index rounds = 0;
        const auto found = search_table(table, o, 30, &rounds);
        Index longest = 0;
        for (const Hypothesis& h : found)
            longest = std::max(longest, static_cast<Index>(h.ids.size()) + h.finished);
        REQUIRE(found.size() == 3);
        // what the last round has set aside may have fallen behind three others
        CHECK(longest <= rounds);
        o.beam = o.n_best = 1;
        const auto one = search_table(table, o, 30, &rounds);
        CHECK(static_cast<Index>(one[0].ids.size()) + one[0].finished == rounds);
    }
}

TEST_CASE("raw sums of finished hypotheses prefer the shorter one") {
    // the end at once: 0.3; or three words and the end, each 0.7
    const Table table = [](const Words& prefix) {
        const double end = prefix.empty() ? 0.3 : prefix.size() == 3 ? 0.7 : 0.01;
        const double a = prefix.size() == 3 ? 0.01 : 0.7;
        return std::vector{std::log(a), std::log(1 - a - end), std::log(end)};
    };
    BeamOptions o{.end = 2, .beam = 2};
    CHECK(search_table(table, o, 8)[0].ids == Words{0, 0, 0});
    o.length_penalty = 0;
    CHECK(search_table(table, o, 8)[0].ids.empty());
}
