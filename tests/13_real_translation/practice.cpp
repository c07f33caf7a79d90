// Once: a run of training: batches by words, accumulation, clipping, choosing, bad runs.
#include <algorithm>
#include <cmath>
#include <set>

#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/13_real_translation/practice/translator_in_training.hpp"
#include "tests/13_real_translation/pairs.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

std::vector<Batch> batches_of(std::span<const IdPair> pairs,
                              std::initializer_list<std::vector<Index>> numbers) {
    std::vector<Batch> batches;
    for (const auto& some : numbers) batches.push_back(make_batch(pairs, some, {}));
    return batches;
}

}  // namespace

TEST_CASE("an epoch takes each pair once, in batches that have at most so many words") {
    const std::vector<IdPair> pairs = drawn_pairs(500, 5);
    for (const Index tokens : {30, 100, 1000, 100000})
        for (Index epoch = 1; epoch <= 3; ++epoch) {
            std::multiset<Index> seen;
            for (const auto& numbers : token_batches(pairs, tokens, 3, epoch)) {
                Index words = 0;
                for (const Index n : numbers)
                    words += count_words(pairs[static_cast<std::size_t>(n)]);
                CHECK(words <= tokens);
                CHECK(!numbers.empty());
                seen.insert(numbers.begin(), numbers.end());
            }
            CHECK(seen.size() == 500);
            CHECK(std::set<Index>(seen.begin(), seen.end()).size() == 500);
        }
}

TEST_CASE("the order of an epoch's batches depends on the seed and the epoch alone") {
    const std::vector<IdPair> pairs = drawn_pairs(200, 6);
    const auto second = token_batches(pairs, 60, 3, 2);
    CHECK(token_batches(pairs, 60, 3, 1) != second);
    CHECK(token_batches(pairs, 60, 3, 2) == second);
    CHECK(token_batches(pairs, 60, 4, 2) != second);
}

TEST_CASE("a batch is filled, with sentences of like lengths") {
    const std::vector<IdPair> pairs = drawn_pairs(2000, 7);
    const auto batches = token_batches(pairs, 200, 3, 1);
    Index words = 0, places = 0;
    for (const auto& numbers : batches) {
        const Batch batch = make_batch(pairs, numbers, {});
        places += batch.source.ids.size() + batch.target_in.ids.size();
        for (const Index n : numbers) words += count_words(pairs[static_cast<std::size_t>(n)]);
    }
    const auto of = [](Index a, Index b) {
        return static_cast<double>(a) / static_cast<double>(b);
    };
    CHECK(of(words, 200 * std::ssize(batches)) > 0.8);
    CHECK(of(words, places) > 0.8);  // targets are sorted first, then sources
}

TEST_CASE("batches refuse a pair that is too long, and none at all") {
    const std::vector<IdPair> pairs{{{5, 6}, {7}}, {{5, 6, 7}, {8, 9}}};
    CHECK_THROWS_WITH(token_batches(pairs, 6, 1, 1),
                      Contains("pair 1 has 7 words with its symbols"));
    CHECK(token_batches(pairs, 7, 1, 1).size() == 2);
    CHECK_THROWS_WITH(token_batches({}, 7, 1, 1), Contains("no pair"));
}

TEST_CASE("sources end with the end symbol, targets follow the start symbol, pads come last") {
    const std::vector<IdPair> pairs{{{5, 6}, {7}}, {{8}, {9, 10, 11}}, {{}, {}}};
    const std::vector<Index> numbers{1, 0, 2};
    const Batch batch = make_batch(pairs, numbers, {});
    CHECK(same_bits(batch.source.ids, Ids({3, 3}, {8, 3, 0, 5, 6, 3, 3, 0, 0})));
    CHECK(same_bits(batch.target_in.ids, Ids({3, 4}, {2, 9, 10, 11, 2, 7, 0, 0, 2, 0, 0, 0})));
    CHECK(same_bits(batch.target_out, Ids({3, 4}, {9, 10, 11, 3, 7, 3, 0, 0, 3, 0, 0, 0})));
    const std::vector<Index> missing{3};
    CHECK_THROWS_WITH(make_batch(pairs, missing, {}), Contains("no pair 3 among 3"));
}

TEST_CASE("several batches make the step of one large batch, however their words differ") {
    const std::vector<IdPair> pairs = drawn_pairs(7, 8);
    const std::vector<Batch> large = batches_of(pairs, {{0, 1, 2, 3, 4, 5, 6}}),
                             parts = batches_of(pairs, {{3}, {0, 5, 6, 1}, {2, 4}});
    Transformer one(tiny_model(0), Random(1)), other(tiny_model(0), Random(1));
    const TrainingOptions options{.optimizer = "adam", .smoothing = Real(0.1)};
    const auto of_one = alone().trainer(one, options), of_parts = alone().trainer(other, options);
    for (int step = 0; step < 3; ++step) {
        CHECK(of_parts->forward_backward(parts) ==
              Approx(of_one->forward_backward(large)).margin(round_off));
        const Parameters p = parameters_of(one), q = parameters_of(other);
        for (std::size_t i = 0; i < p.size(); ++i) {
            INFO(p[i].name);
            CHECK(max_difference(p[i].parameter->grad(), q[i].parameter->grad()) < round_off);
        }
        if (!in_double) return;  // Adam divides tiny gradients by their size: round-off grows
        of_one->update(Real(1e-3));
        of_parts->update(Real(1e-3));
        for (std::size_t i = 0; i < p.size(); ++i)
            CHECK(max_difference(p[i].parameter->value, q[i].parameter->value) < 1e-9);
    }
}

TEST_CASE("dropout draws other elements for each batch of a step") {
    const std::vector<IdPair> pairs{{{5, 6}, {7, 8}}};
    const std::vector<Batch> once = batches_of(pairs, {{0}}), twice = batches_of(pairs, {{0}, {0}});
    Transformer model(tiny_model(Real(0.3)), Random(1));
    const auto trainer = alone().trainer(model, {.optimizer = "adam"});
    const double first = trainer->forward_backward(once);
    CHECK(trainer->forward_backward(once) == first);  // the same step
    const double both = trainer->forward_backward(twice);
    CHECK(std::abs(both - first) > 1e-3);
    CHECK(model.random().step() == 0);
    trainer->update(Real(1e-3));
    CHECK(model.random().step() == 1);
    CHECK(std::abs(trainer->forward_backward(once) - first) > 1e-3);
}

TEST_CASE("one factor brings all gradients together to the largest norm") {
    Parameter a(Tensor::zeros({2})), b(Tensor::zeros({1}));
    const Parameters both{{"a", &a}, {"b", &b}};
    const auto set = [&] {
        a.grad() = Tensor({2}, {3, 0});
        b.grad() = Tensor({1}, {4});
    };
    set();
    CHECK(clip_gradients(both, 1) == Approx(5));
    CHECK(a.grad()(0) == Approx(0.6));
    CHECK(a.grad()(1) == 0);
    CHECK(b.grad()(0) == Approx(0.8));
    CHECK(grad_norm(both) == Approx(1));
    for (const Real largest : {Real(0), Real(5), Real(7)}) {
        set();
        CHECK(clip_gradients(both, largest) == Approx(5));
        CHECK(a.grad()(0) == 3);
        CHECK(b.grad()(0) == 4);
    }
}

TEST_CASE("a step takes as many batches as it is told, and the epoch's last one what is left") {
    const std::vector<IdPair> pairs = drawn_pairs(60, 10);
    Transformer model(tiny_model(Real(0.1)), Random(1));
    TrainingRun run(model, pairs, {}, {.tokens = 60, .accumulate = 4});
    const Index batches = run.batches();
    REQUIRE(batches > 4);
    REQUIRE(batches % 4 != 0);
    Index steps = 0, tokens = 0, all = 0;
    while (!run.epoch_over()) {
        tokens += run.step().tokens;
        ++steps;
    }
    for (const IdPair& pair : pairs) all += count_words(pair);
    CHECK(steps == (batches + 3) / 4);
    CHECK(tokens == all);
    CHECK(run.progress().step == steps);
    CHECK(run.progress().random_step == static_cast<std::uint64_t>(steps));
    const EpochReport report = run.end_epoch({.loss = 1, .score = 2, .translations = {}});
    CHECK(report.epoch == 1);
    CHECK(report.steps == steps);
    CHECK(report.dev_loss == 1);
    CHECK(report.bleu == 2);
    CHECK(report.loss == Approx(std::log(12)).epsilon(0.3));
    CHECK(run.progress().epoch == 2);
    CHECK(run.progress().batch == 0);
    CHECK_THROWS_WITH(run.end_epoch({}), Contains("0 of"));
}

TEST_CASE("a run ends when neither BLEU nor the loss has got better for a while") {
    const std::vector<IdPair> pairs = drawn_pairs(5, 11);
    Transformer model(tiny_model(0), Random(1));
    TrainingRun run(
        model, pairs, {},
        {.training = {.epochs = 20, .optimizer = "adam"}, .tokens = 500, .patience = 3});
    const std::vector<std::pair<double, double>> bleu_and_loss{{1, 5},   {3, 4}, {3, 3.9}, {2, 3},
                                                               {3, 4.5}, {2, 4}, {1, 3.5}};
    for (const auto& [bleu, loss] : bleu_and_loss) {
        CHECK(!run.over());
        while (!run.epoch_over()) run.step();
        run.end_epoch({.loss = loss, .score = bleu, .translations = {}});
    }
    REQUIRE(run.over());
    CHECK(*run.over() == "neither BLEU nor the loss has improved since epoch 4");
    CHECK(run.progress().epochs.size() == 7);
    CHECK(run.progress().best().epoch == 3);  // as much BLEU as epoch 2, and less loss
}

TEST_CASE("a run ends where another epoch would take too long") {
    const std::vector<IdPair> pairs = drawn_pairs(5, 12);
    Transformer model(tiny_model(0), Random(1));
    TrainingRun timed(
        model, pairs, {},
        {.training = {.epochs = 100, .optimizer = "adam"}, .tokens = 500, .minutes = 1});
    const auto epoch = [&](double seconds) {
        while (!timed.epoch_over()) timed.step();
        timed.took(seconds, true);
        timed.end_epoch({.loss = 1, .score = 1, .translations = {}});
    };
    epoch(25);
    CHECK(!timed.over());
    timed.step();
    CHECK(!timed.over());
    epoch(15);
    CHECK(!timed.over());  // 40 s, and 15 more
    epoch(15);
    REQUIRE(timed.over());
    CHECK(*timed.over() == "another epoch takes 15 s and would end after more than 1 min");
}

TEST_CASE("a loss that is not finite ends a run before the weights move, and says what to change") {
    const std::vector<IdPair> pairs = drawn_pairs(5, 14);
    Transformer model(tiny_model(0), Random(1));
    TrainingRun run(model, pairs, {},
                    {.training = {.optimizer = "adam", .learning_rate = Real(0.25), .warmup = 7},
                     .tokens = 30});
    model.output.bias.value(5) = std::numeric_limits<Real>::quiet_NaN();
    const Tensor before = model.output.weight.value.clone();
    CHECK_THROWS_WITH(run.step(),
                      Contains("step 1: the loss is nan") && Contains("learning rate was 0.036") &&
                          Contains("warm-up than 7 steps") && Contains("still those of step 0"));
    CHECK(same_bits(model.output.weight.value, before));
    CHECK(run.progress().step == 0);
}

TEST_CASE("the loss of the words' frequencies is that of the best constant logits") {
    const std::vector<IdPair> pairs{{{5}, {6, 6, 7}}, {{5}, {6, 8}}, {{5}, {}}};
    // 6 three times, 7 and 8 once, the end symbol three times: of eight
    const double expected = -2 * 3. / 8 * std::log(3. / 8) - 2 * 1. / 8 * std::log(1. / 8);
    CHECK(frequency_loss(pairs, 12, {}, 0) == Approx(expected).epsilon(1e-12));

    const double smoothing = 0.1;
    Tensor logits({1, 8, 12});
    Ids targets({1, 8}, {6, 6, 7, 3, 6, 8, 3, 3});
    for (Index r = 0; r < 8; ++r)
        for (Index w = 0; w < 12; ++w) {
            const double f = w == 6 || w == 3 ? 3 : w == 7 || w == 8 ? 1 : 0;
            logits(0, r, w) = static_cast<Real>(std::log(0.9 * f / 8 + 0.1 / 12));
        }
    const double found = cross_entropy(logits, targets, {0, static_cast<Real>(smoothing)});
    CHECK(frequency_loss(pairs, 12, {}, smoothing) == Approx(found).epsilon(1e-5));
    logits(0, 3, 3) += Real(0.01);
    logits(0, 2, 3) += Real(0.01);  // any other constant is no better; nor is this
    CHECK_THROWS(frequency_loss(pairs, 8, {}, 0));
}

TEST_CASE(
    "an epoch that learned nothing but frequencies is explained, unless the rate still grew") {
    const TrainingOptions options{.learning_rate = Real(0.5), .warmup = 100};
    const auto explained = [&](Index steps_before, double known) {
        const std::vector<EpochReport> epochs{{.epoch = 2, .steps = steps_before, .loss = 9},
                                              {.epoch = 3, .steps = 300, .loss = 2.5}};
        return explain_bad_epoch(epochs, known, options);
    };
    CHECK(
        explained(100, 2.4) ==
        "epoch 3: the loss per word is 2.500, but a model that knows only the words' frequencies "
        "has 2.400. So this model learns nothing from its input: try a smaller learning rate than "
        "0.5 or a longer warm-up than 100 steps, and check that sources and targets are "
        "translations of each other.");
    CHECK(explained(99, 2.4).empty());
    CHECK(explained(100, 2.6).empty());
}

TEST_CASE("a validation's loss is the mean over words, its translations come in the pairs' order",
          "[fast]") {
    std::vector<IdPair> pairs = drawn_pairs(70, 16);  // more than are translated at once
    const Transformer model(tiny_model(Real(0.2)), Random(2));
    double sum = 0, words = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const double count = static_cast<double>(pairs[i].target.size()) + 1;
        sum += count * mean_loss(model, std::span(pairs).subspan(i, 1), {});
        words += count;
    }
    CHECK(mean_loss(model, pairs, {}) == Approx(sum / words).margin(round_off));
    const auto translations = translate_greedily(model, pairs, {});
    for (const std::size_t i : {std::size_t{0}, std::size_t{33}, std::size_t{69}}) {
        const std::vector<std::int32_t>* one = &pairs[i].source;
        const Translation alone = greedy_decode(model, source_batch({&one, 1}, {}),
                                                {.start = 2, .end = 3, .max_words = 25});
        const std::size_t n = std::min(alone.ids.size(), translations[i].size());
        REQUIRE(n > 0);
        CHECK(std::equal(alone.ids.begin(), alone.ids.begin() + static_cast<std::ptrdiff_t>(n),
                         translations[i].begin()));
    }
    CHECK_THROWS_WITH(mean_loss(model, {}, {}), Contains("no pair"));
}

TEST_CASE("a validation scores texts, and not ids") {
    const std::vector<IdPair> pairs = drawn_pairs(5, 17);
    const HeldOut held{pairs, {}, {"some", "references", "of", "the", "pairs"}};
    const Transformer model(tiny_model(0), Random(1));
    std::vector<std::string> seen;
    const TextScoring scoring{
        [](std::span<const std::int32_t> ids) { return fmt::format("{} words", ids.size()); },
        [&](std::span<const std::string> texts, std::span<const std::string> references) {
            seen.assign(texts.begin(), texts.end());
            CHECK(std::ranges::equal(references, held.references));
            return 12.5;
        }};
    const Validation v = validate(model, held, {}, scoring);
    CHECK(v.score == 12.5);
    CHECK(v.translations == seen);
    CHECK(v.loss == mean_loss(model, pairs, {}));
    REQUIRE(seen.size() == 5);
    CHECK(seen[0].ends_with(" words"));
}

TEST_CASE("a time is told in hours, minutes and seconds") {
    CHECK(clock_text(59.9) == "0:59");
    CHECK(clock_text(125) == "2:05");
    CHECK(clock_text(3600 + 62) == "1:01:02");
    CHECK(clock_text(-1) == "0:00");
}
