// Per way: beam search.
#include "chapters/13_real_translation/search/beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "chapters/09_training/loss/loss.hpp"
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"
#include "tests/13_real_translation/hypotheses.hpp"
#include "tests/decoding.hpp"

using namespace abh;

namespace {

using Words = std::vector<std::int32_t>;

/// The sum of the log-probabilities of words, and of the end symbol if it was said, from one pass
/// over the whole translation.
double sum_of_whole(const Transformer& model, const Words& source, const Hypothesis& h,
                    std::int32_t first, std::int32_t end) {
    Words read{first}, said = h.ids;
    read.insert(read.end(), h.ids.begin(), h.ids.end());
    if (h.finished)
        said.push_back(end);
    else
        read.pop_back();
    const Tensor logits = model.logits(row_of(source), row_of(read));  // [1, t, V]
    return -static_cast<double>(said.size()) *
           cross_entropy(logits, row_of(said), {.ignore = no_end});
}

/// Sums of log-probabilities of some ten words.
constexpr double sum_bound = in_double ? 1e-10 : 1e-4;

/// An end symbol that random models say now and then: the third word of a greedy translation.
std::int32_t likely_end(const Transformer& model, const Words& source) {
    return greedy_decode(model, row_of(source), {start, no_end, 4}).ids[2];
}

/// Hypotheses as tensors.
std::vector<Tensor> tensors(const std::vector<std::vector<Hypothesis>>& found) {
    std::vector<Tensor> list;
    for (const auto& of_sentence : found)
        for (const Hypothesis& h : of_sentence) {
            Tensor t({static_cast<Index>(h.ids.size()) + 3});
            std::ranges::copy(h.ids, t.data());
            t(t.size() - 3) = static_cast<Real>(h.score);
            t(t.size() - 2) = static_cast<Real>(h.log_probability);
            t(t.size() - 1) = h.finished;
            list.push_back(t);
        }
    return list;
}

}  // namespace

TEST_CASE("a beam of one is greedy decoding, bit for bit") {
    Index ended = 0;
    for (const auto& [name, options] : kinds)
        for (std::uint64_t seed = 1; seed <= seeds(6); ++seed) {
            const Transformer model = random_model(options, seed);
            const std::int32_t end = likely_end(model, sentences[0]);
            const Index cap = 18;
            const auto greedy = greedy_decode_cached(model, padded_batch(), {start, end, cap});
            for (const Stopping stopping : {Stopping::usual, Stopping::full}) {
                BeamOptions o{.start = start, .end = end, .beam = 1, .max_words = cap};
                o.stopping = stopping;
                const auto found = beam_search(model, padded_batch(), o);
                REQUIRE(found.size() == sentences.size());
                for (std::size_t b = 0; b < found.size(); ++b) {
                    INFO(name << ", seed " << seed << ", sentence " << b);
                    REQUIRE(found[b].size() == 1);
                    CHECK(found[b][0].ids == greedy[b].ids);
                    CHECK(found[b][0].finished == greedy[b].finished);
                    ended += greedy[b].finished;
                    double sum = 0;
                    for (const Real p : greedy[b].probabilities) sum += std::log(p);
                    CHECK((on_cuda() ? std::abs(found[b][0].log_probability - sum) < 1e-5
                                     : found[b][0].log_probability == sum));
                }
            }
        }
    CHECK(ended > 0);
}

TEST_CASE("a beam that holds everything finds the best of all sentences") {
    for (auto [name, options] : kinds)
        for (const Real alpha : {Real(0), Real(0.6), Real(1)}) {
            const Index n_words = 4, longest = emulated() ? 2 : 4, all = 400;
            options.tgt_words = n_words;
            const Transformer model = random_model(options, 5);
            const std::int32_t first = 3, end = 2;
            BeamOptions o{.start = first,
                          .end = end,
                          .beam = all,
                          .n_best = 30,
                          .max_words = longest,
                          .length_penalty = alpha};
            // all sentences: words other than the end, then the end or the limit
            std::vector<Hypothesis> expected;
            std::vector<Words> prefixes{{}};
            for (Index n = 1; n <= longest; ++n) {
                std::vector<Words> longer;
                for (const Words& prefix : prefixes)
                    for (std::int32_t w = 0; w < n_words; ++w) {
                        Words words = prefix;
                        if (w != end) words.push_back(w);
                        if (w != end && n < longest) longer.push_back(words);
                        if (w != end && n < longest) continue;
                        Hypothesis h{words, 0, 0, w == end};
                        h.log_probability = sum_of_whole(model, sentences[1], h, first, end);
                        h.score = normalized(h.log_probability, n, o);
                        expected.push_back(h);
                    }
                prefixes = longer;
            }
            std::ranges::sort(expected, std::greater(), &Hypothesis::score);
            const auto found = beam_search(model, row_of(sentences[1]), o);
            REQUIRE(found[0].size() == std::min<std::size_t>(30, expected.size()));
            for (std::size_t i = 0; i < found[0].size(); ++i) {
                INFO(name << ", alpha " << alpha << ", place " << i);
                CHECK(found[0][i].score == Approx(expected[i].score).epsilon(0).margin(sum_bound));
                if (in_double) CHECK(found[0][i].ids == expected[i].ids);
            }
        }
}

TEST_CASE("each hypothesis has the log-probability that a pass over all of it has") {
    for (const auto& [name, options] : kinds)
        for (std::uint64_t seed = 1; seed <= seeds(4); ++seed) {
            const Transformer model = random_model(options, seed);
            const std::int32_t end = likely_end(model, sentences[3]);
            const BeamOptions o{.start = start,
                                .end = end,
                                .beam = 5,
                                .n_best = 5,
                                .max_words = emulated() ? 4 : 9};
            const auto found = beam_search(model, padded_batch(), o);
            for (std::size_t b = 0; b < found.size(); ++b)
                for (const Hypothesis& h : found[b]) {
                    INFO(name << ", seed " << seed << ", sentence " << b);
                    const double whole = sum_of_whole(model, sentences[b], h, start, end);
                    CHECK(h.log_probability == Approx(whole).epsilon(0).margin(sum_bound));
                    const Index n = static_cast<Index>(h.ids.size()) + h.finished;
                    CHECK(h.score == normalized(h.log_probability, n, o));
                }
        }
}

TEST_CASE("a beam that does not reorder its keys and values gives other sums") {
    const Index k = 3;
    const auto off_by = [&](std::uint64_t seed, bool reorder) {
        const Transformer model = random_model(small_toy(), seed);
        BeamOptions o{.start = start, .end = no_end, .beam = k, .n_best = k, .max_words = 8};
        o.stopping = Stopping::full;
        Beam beam(o, 8);
        IncrementalDecoder decoder(model, row_of(sentences[1]));
        Words words{start};
        while (!words.empty()) {
            beam.extend(top_k(decoder.next(words), 2 * k).values());
            Words parents;
            words.clear();
            for (const Beam::Prefix& prefix : beam.prefixes()) {
                const bool first = beam.prefixes().size() > decoder.sentences().size();
                parents.push_back(reorder || first ? prefix.parent
                                                   : static_cast<std::int32_t>(words.size()));
                words.push_back(prefix.words.back());
            }
            decoder.select(parents);
        }
        double largest = 0;
        for (const Hypothesis& h : beam.best())
            largest = std::max(
                largest,
                std::abs(h.log_probability - sum_of_whole(model, sentences[1], h, start, no_end)));
        return largest;
    };
    double without = 0;
    for (std::uint64_t seed = 1; seed <= 8 && without < 0.01; ++seed) {  // in some, beams stay put
        CHECK(off_by(seed, true) < sum_bound);
        without = std::max(without, off_by(seed, false));
    }
    CHECK(without > 0.01);
}

TEST_CASE("every way finds plain's hypotheses") {
    for (const auto& [name, options] : kinds) {
        INFO(name);
        const Transformer model = random_model(options, 3);
        const std::int32_t end = likely_end(model, sentences[1]);
        const BeamOptions o{.start = start, .end = end, .beam = 3, .n_best = 2, .max_words = 7};
        same_in_every_way([&] { return tensors(beam_search(model, padded_batch(), o)); },
                          in_double ? 1e-11 : 1e-4);
    }
}

TEST_CASE("of equally likely translations the first in order is found, whatever the batch") {
    Transformer model = random_model(small_toy(), 1);
    model.output.weight.value.fill(0);  // every word is as likely as any other, everywhere
    BeamOptions o{.start = start, .end = 4, .beam = 3, .n_best = 3, .max_words = 3};
    const auto found = beam_search(model, padded_batch(), o);
    for (const auto& of_sentence : found) CHECK(same(of_sentence, found[0]));
    CHECK(found[0][0].ids == Words{0, 0, 0});
    CHECK(found[0][1].ids == Words{0, 0, 1});
    CHECK(found[0][2].ids == Words{0, 0, 2});
}

TEST_CASE("a word that is not to be said is not said, and keeps its probability") {
    const Transformer model = random_model(small_toy(), 4);
    BeamOptions o{.start = start, .end = no_end, .beam = 4, .n_best = 4, .max_words = 6};
    const auto free = beam_search(model, row_of(sentences[0]), o);
    o.never = {free[0][0].ids[0], 3, free[0][0].ids[0]};
    const auto others = beam_search(model, row_of(sentences[0]), o);
    for (const Hypothesis& h : others[0]) {
        for (const std::int32_t w : o.never) CHECK(std::ranges::count(h.ids, w) == 0);
        CHECK(h.log_probability == Approx(sum_of_whole(model, sentences[0], h, start, no_end))
                                       .epsilon(0)
                                       .margin(sum_bound));
    }
    o.never = {0, 1, 2, 3, 4, 5, 6, 7};  // one word is left
    const auto last = beam_search(model, row_of(sentences[0]), o)[0];
    REQUIRE(last.size() == 1);
    CHECK(last[0].ids == Words(6, 8));
}

TEST_CASE("a translation has at most max_words, and max_more than its source") {
    const Transformer model = random_model(small_toy(), 4);
    BeamOptions o{.start = start, .end = no_end, .beam = 2, .n_best = 2, .max_words = 7};
    for (const auto& of_sentence : beam_search(model, padded_batch(), o))
        for (const Hypothesis& h : of_sentence) {
            CHECK(h.ids.size() == 7);
            CHECK_FALSE(h.finished);
        }
    o.max_more = 2;
    const auto found = beam_search(model, padded_batch(), o);
    for (std::size_t b = 0; b < found.size(); ++b)
        CHECK(found[b][0].ids.size() == std::min<std::size_t>(sentences[b].size() + 2, 7));
    o.max_words = 1000;
    o.max_more = 1000;
    CHECK(beam_search(model, row_of(sentences[0]), o)[0][0].ids.size() == 20);  // positions
}

TEST_CASE("a beam search that cannot be made is refused, and the values are named") {
    Transformer model = random_model(small_toy(), 1);
    const auto with = [&](const std::function<void(BeamOptions&)>& change,
                          const Ids& src = padded_batch()) {
        BeamOptions o{.start = start, .end = 5};
        change(o);
        return beam_search(model, src, o);
    };
    const auto nothing = [](BeamOptions&) {};
    CHECK_THROWS_WITH(with(nothing, Ids::full({3}, 1)), Contains("[3]"));
    CHECK_THROWS_WITH(with(nothing, Ids({0, 3})), Contains("[0, 3]"));
    CHECK_THROWS_WITH(with(nothing, Ids::full({1, 21}, 1)), Contains("21 words"));
    CHECK_THROWS_WITH(with([](BeamOptions& o) { o.beam = 0; }), Contains("n_best is 1, beam is 0"));
    CHECK_THROWS_WITH(with([](BeamOptions& o) { o.n_best = 5; }),
                      Contains("n_best is 5, beam is 4"));
    CHECK_THROWS_WITH(with([](BeamOptions& o) { o.n_best = 0; }), Contains("n_best is 0"));
    CHECK_THROWS_WITH(with([](BeamOptions& o) { o.start = 0; }), Contains("symbol 0 is padding"));
    CHECK_THROWS_WITH(with([](BeamOptions& o) { o.never = {9}; }), Contains("9"));
    CHECK_THROWS_WITH(with([](BeamOptions& o) { o.never = {0, 1, 2, 3, 4, 5, 6, 7, 8}; }),
                      Contains("9 are in never"));
    model.output.weight.value.fill(NAN);
    CHECK_THROWS_WITH(with(nothing), Contains("not a number"));
}
