// Per real and way: cross entropy, of logits and of the output map's input; the likeliest word.
#include "chapters/09_training/loss/loss.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/09_training/loss/vocabulary_loss.hpp"
#include "lib/linear.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/models.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

// A few roundings of numbers of order one.
constexpr double rounding = in_double ? 1e-12 : 2e-6;

Tensor example_logits() {
    return Tensor({2, 2, 4}, {Real(0.5), Real(-1.25), 2, Real(0.75), 3, 0, -2, 1,  //
                              0, 0, 0, 0, -1, 4, Real(2.5), 1});
}
Ids example_targets() {
    return Ids({2, 2}, {2, 3, 0, 1});
}

}  // namespace

TEST_CASE("cross entropy has the values of its definition, smoothed or not") {
    // computed from - sum_j pi_j log p_j with the decimal logits above
    const auto loss = [](std::int32_t ignore, double smoothing) {
        return cross_entropy(example_logits(), example_targets(),
                             {ignore, static_cast<Real>(smoothing)});
    };
    CHECK(loss(0, 0) == Approx(0.953111356247).margin(rounding));
    CHECK(loss(0, 0.1) == Approx(1.098944689580).margin(rounding));
    CHECK(loss(0, 0.3) == Approx(1.390611356247).margin(rounding));
    CHECK(loss(3, 0) == Approx(0.690037689081).margin(rounding));
    CHECK(loss(3, 0.1) == Approx(0.819204355748).margin(rounding));
    CHECK(loss(3, 0.3) == Approx(1.077537689081).margin(rounding));
}

TEST_CASE("the loss and the gradient of two words and a pad are those computed by hand") {
    const Tensor logits({1, 3, 4}, {0, 2, 1, 0, 0, 1, 3, 0, 5, 5, 5, 5});
    const Ids targets({1, 3}, {1, 2, 0});
    const auto to_three_digits = [](const Tensor& found, std::initializer_list<double> by_hand) {
        return std::equal(
            found.values().begin(), found.values().end(), by_hand.begin(), by_hand.end(),
            [](Real x, double y) { return std::abs(static_cast<double>(x) - y) <= 0.0005001; });
    };
    CrossEntropyCache cache;
    CHECK(cross_entropy(logits, targets, {}, &cache) == Approx(0.352).margin(0.0005));
    CHECK(to_three_digits(cache.probabilities, {0.083, 0.610, 0.225, 0.083, 0.040, 0.110, 0.810,
                                                0.040, 0.25, 0.25, 0.25, 0.25}));
    CHECK(to_three_digits(cross_entropy_backward(cache),
                          {0.041, -0.195, 0.112, 0.041, 0.020, 0.055, -0.095, 0.020, 0, 0, 0, 0}));
    CHECK(cross_entropy(logits, targets, {0, Real(0.1)}, &cache) == Approx(0.515).margin(0.0005));
    CHECK(to_three_digits(cross_entropy_backward(cache),
                          {0.029, -0.157, 0.100, 0.029, 0.008, 0.042, -0.058, 0.008, 0, 0, 0, 0}));
}

TEST_CASE("a loss may be divided by the words of several batches") {
    CrossEntropyCache own, part;
    const double loss = cross_entropy(example_logits(), example_targets(), {0, Real(0.1)}, &own);
    const double share =
        cross_entropy(example_logits(), example_targets(), {0, Real(0.1), 12}, &part);
    CHECK(share == Approx(loss * 3 / 12).margin(rounding));  // three of four targets count
    Tensor expected = cross_entropy_backward(own);
    expected *= Real(0.25);
    CHECK(max_difference(cross_entropy_backward(part), expected) < rounding);
    CHECK_THROWS_WITH(cross_entropy(example_logits(), example_targets(), {0, 0, 2}),
                      Contains("3 targets count, but the step has only 2"));
}

TEST_CASE("an ignored target counts neither in the sum nor in the number") {
    const Tensor one({1, 1, 3}, {2, 1, 0});
    const Tensor padded({1, 4, 3}, {2, 1, 0, 9, -9, 0, 0, 0, 5, 1, 1, 1});
    const double alone = cross_entropy(one, Ids({1, 1}, {1}));
    CHECK(cross_entropy(padded, Ids({1, 4}, {1, 0, 0, 0})) == alone);
    CHECK(alone == Approx(1.407605964444).margin(rounding));  // log(e^2 + e + 1) - 1
}

TEST_CASE("label smoothing leaves ignored targets out") {
    const Tensor one({1, 1, 3}, {2, 1, 0});
    const Tensor padded({1, 4, 3}, {2, 1, 0, 9, -9, 0, 0, 0, 5, 1, 1, 1});
    const CrossEntropyOptions options{.ignore = 0, .smoothing = Real(0.25)};
    CrossEntropyCache cache;
    CHECK(cross_entropy(padded, Ids({1, 4}, {1, 0, 0, 0}), options, &cache) ==
          cross_entropy(one, Ids({1, 1}, {1}), options));
    const Tensor d = cross_entropy_backward(cache);
    for (Index t = 1; t < 4; ++t)
        for (Index w = 0; w < 3; ++w) CHECK(d(0, t, w) == 0);
}

TEST_CASE("the gradient of cross entropy agrees with central differences") {
    for (const Real e : {Real(0), Real(0.1)})
        check_trial(proof::cross_entropy_of(e), {.length = 67, .tgt_words = 33});
}

TEST_CASE("cross entropy of huge logits is finite") {
    const Tensor logits({1, 2, 3}, {10000, 9999, -10000, -3000, -3000, 3000});
    const double loss = cross_entropy(logits, Ids({1, 2}, {0, 2}), {.ignore = -1});
    CHECK(loss == Approx(std::log(1 + std::exp(-1)) / 2).margin(in_double ? 1e-11 : 1e-3));
}

TEST_CASE("cross entropy of infinite logits is finite where one is finite, and NaN elsewhere") {
    const Real inf = std::numeric_limits<Real>::infinity();
    Tensor logits = random_tensor({1, 1, 300});
    for (Index w = 0; w < 300; ++w)
        if (w % 40 != 7) logits(0, 0, w) = -inf;  // a device's threads mostly see nothing else
    double sum = 0;
    for (Index w = 7; w < 300; w += 40) sum += std::exp(static_cast<double>(logits(0, 0, w)));
    const auto loss = [](const Tensor& of) {
        return cross_entropy(of, Ids({1, 1}, {7}), {.ignore = -1});
    };
    CHECK(loss(logits) ==
          Approx(std::log(sum) - static_cast<double>(logits(0, 0, 7))).epsilon(1e-5));
    for (const Real v : {-inf, std::numeric_limits<Real>::quiet_NaN()})
        CHECK(std::isnan(loss(Tensor::full({1, 1, 300}, v))));
}

TEST_CASE("cross entropy names what does not fit") {
    const Tensor logits = Tensor::zeros({2, 3, 4});
    CHECK_THROWS_WITH(cross_entropy(logits, Ids::full({3, 2}, 1)),
                      Contains("logits have shape [2, 3, 4] and targets [3, 2]"));
    CHECK_THROWS_WITH(cross_entropy(logits, Ids::full({2, 3}, 4)),
                      Contains("target 4 is not in a vocabulary of 4 words"));
    CHECK_THROWS_WITH(cross_entropy(logits, Ids::full({2, 3}, -1)),
                      Contains("target -1 is not in a vocabulary of 4 words"));
    CHECK_THROWS_WITH(cross_entropy(logits, Ids::full({2, 3}, 0)),
                      Contains("all 6 targets are ignored"));
    CHECK_THROWS_WITH(cross_entropy(logits, Ids::full({2, 3}, 1), {0, 1}),
                      Contains("smoothing 1, expected 0 <= smoothing < 1"));
}

namespace {

const std::vector<Index> word_counts{1, 2, 31, 33, 257, 1000};  // within a warp, a block, beyond

/// Targets among which every third is ignored, if there is another word.
Ids targets_for(Index rows, Index n_words) {
    Ids ids({1, rows});
    for (Index r = 0; r < rows; ++r)
        ids(0, r) =
            static_cast<std::int32_t>(r % 3 == 1 && n_words > 1 ? 0 : (7 * r + 1) % n_words);
    return ids;
}

}  // namespace

TEST_CASE("every way has plain's cross entropy and its gradient") {
    for (const Index n : word_counts)
        for (const Index rows : {1, 5, 300})
            for (const Real smoothing : {Real(0), Real(0.1)}) {
                if (n * rows > 20'000) continue;
                CAPTURE(n, rows, smoothing);
                const Tensor logits = random_tensor({1, rows, n});
                const Ids targets = targets_for(rows, n);
                const CrossEntropyOptions options{n > 1 ? 0 : -1, smoothing};
                same_in_every_way([&] {
                    CrossEntropyCache cache;
                    const double loss = cross_entropy(logits, targets, options, &cache);
                    CHECK(cross_entropy(logits, targets, options) == loss);  // cache or none
                    return std::vector{one_number(loss), cache.probabilities,
                                       one_number(static_cast<double>(cache.counted)),
                                       cross_entropy_backward(cache)};
                });
            }
}

TEST_CASE("every way chooses plain's words, of equal ones the first") {
    for (const Index n : word_counts) {
        CAPTURE(n);
        Tensor logits = random_tensor({3, 7, n});
        for (Index w = 0; w < n; ++w) {
            logits(0, 0, w) = 2;                                  // all the same
            logits(0, 1, w) = w >= n / 2 ? Real(1) : Real(-1);    // the first of the larger half
            logits(0, 2, w) = w == n - 1 ? Real(1) : Real(-1e9);  // the last
        }
        same_in_every_way([&] {
            const BasicTensor<Prediction> best = argmax(logits);
            CHECK(best(0, 0).word == 0);
            CHECK(best(0, 1).word == n / 2);
            CHECK(best(0, 2).word == n - 1);
            Tensor words(best.shape()), probabilities(best.shape());
            for (Index i = 0; i < best.size(); ++i) {
                words.data()[i] = static_cast<Real>(best.data()[i].word);
                probabilities.data()[i] = best.data()[i].probability;
            }
            return std::vector{words, probabilities};
        });
    }
    CHECK(argmax(Tensor({0, 2, 4})).shape() == Shape{0, 2});
    CHECK_THROWS_WITH(argmax(Tensor({2, 2, 0})), Contains("[2, 2, 0]"));
    CHECK_THROWS_WITH(argmax(Tensor({2, 2})), Contains("expected [B, L, n_words]"));
}

namespace {

/// What the two functions give that `vocabulary_loss` stands for: the loss, and all gradients.
std::vector<Tensor> output_and_loss(const Tensor& x, Linear output, const Ids& targets,
                                    const CrossEntropyOptions& options) {
    zero_grad(parameters_of(output));
    Linear::Cache cache;
    CrossEntropyCache loss_cache;
    const double loss = cross_entropy(output.forward(x, &cache), targets, options, &loss_cache);
    const Tensor dx = output.backward(cross_entropy_backward(loss_cache), cache);
    return with_gradients({one_number(loss), dx}, output);
}

/// Requires that `vocabulary_loss` gives the same, under every way what plain gives.
void compare(const Tensor& x, Linear output, const Ids& targets,
             const CrossEntropyOptions& options) {
    const std::vector<Tensor> expected = output_and_loss(x, output, targets, options);
    same_in_every_way([&] {
        zero_grad(parameters_of(output));
        VocabularyLossCache cache;
        const double loss = vocabulary_loss(x, output, targets, options, &cache);
        CHECK(vocabulary_loss(x, output, targets, options) == Approx(loss).epsilon(rounding));
        const Tensor dx = vocabulary_loss_backward(output, cache);
        std::vector<Tensor> found = with_gradients({one_number(loss), dx}, output);
        check_agree(expected, found);
        return found;
    });
}

/// Three sentences; of the second only three words count.
Ids sentences_of_seven(Index words) {
    Random random(5);
    Ids targets = random_ids({3, 7}, 1, static_cast<std::int32_t>(words), random.stream());
    for (Index t = 3; t < 7; ++t) targets(1, t) = 0;
    return targets;
}

}  // namespace

TEST_CASE("vocabulary loss is the output map, then cross entropy") {
    for (const bool bias : {false, true})
        for (const Real smoothing : {Real(0), Real(0.1)}) {
            CAPTURE(bias, smoothing);
            Random random(8);
            const Linear output(20, 33, bias, random);
            compare(random_tensor({3, 7, 20}), output, sentences_of_seven(33), {0, smoothing});
            compare(random_tensor({1, 1, 20}), output, Ids({1, 1}, {4}), {0, smoothing});
        }
}

TEST_CASE("vocabulary loss block by block is that of all rows at once", "[fast]") {
    const Index words = most_logits / 50;  // more than a 64th of them: then a block has 64 rows
    Random random(7);
    for (const auto& [rows, n_words] : {std::pair<Index, Index>{130, words},  // 44, 43 and 43
                                        {65, words},                          // 33 and 32
                                        {450, most_logits / 200}})            // 150 three times
        for (const bool bias : {false, true}) {
            CAPTURE(rows, n_words, bias);
            const Linear output(3, n_words, bias, random);
            const Tensor x = random_tensor({1, rows, 3});
            Ids targets =
                random_ids({1, rows}, 1, static_cast<std::int32_t>(n_words), random.stream());
            for (Index r = 10; r < rows; r += 3) targets(0, r) = 0;
            VocabularyLossCache cache;
            vocabulary_loss(x, output, targets, {0, Real(0.1)}, &cache);
            REQUIRE(std::holds_alternative<VocabularyLossCache::Blocks>(cache.kept));
            compare(x, output, targets, {0, Real(0.1)});
        }
}

TEST_CASE("backward of vocabulary loss goes the way of its forward pass, and adds up") {
    const auto check = [](Index rows, Index words) {
        Random random(9);
        Linear output(3, words, true, random);
        const Tensor x = random_tensor({1, rows, 3});
        const Ids targets =
            random_ids({1, rows}, 1, static_cast<std::int32_t>(words), random.stream());
        VocabularyLossCache cache;
        for (int pass = 0; pass < 2; ++pass) {  // the second from the same cache
            vocabulary_loss(x, output, targets, {}, &cache);
            check_backward(parameters_of(output),
                           [&] { return std::vector{vocabulary_loss_backward(output, cache)}; });
        }
    };
    check(201, 41);
    if (way() == Way::fast) check(130, most_logits / 50);  // blocks
}

TEST_CASE("vocabulary loss names what does not fit") {
    Random random(5);
    Linear output(20, 33, false, random);
    const Tensor x = random_tensor({3, 7, 20});
    VocabularyLossCache cache;
    const auto loss = [&](const Ids& targets) {
        return vocabulary_loss(x, output, targets, {}, &cache);
    };
    CHECK_THROWS_WITH(loss(Ids({3, 6})),
                      "vocabulary loss: x has shape [3, 7, 20] and targets [3, 6], expected [B, L, "
                      "d_model] and [B, L]");
    CHECK_THROWS_WITH(loss(Ids::full({3, 7}, 33)),
                      "cross entropy: target 33 is not in a vocabulary of 33 words");
    CHECK_THROWS_WITH(vocabulary_loss_backward(output, VocabularyLossCache()),
                      Contains("was not filled by a forward pass"));
}

TEST_CASE("the gradients of vocabulary loss match central differences") {
    if (!in_double) return;
    Random random(6);
    Linear output(5, 9, true, random);
    const Tensor x = random_tensor({2, 4, 5});
    const Ids targets({2, 4}, {1, 2, 3, 0, 5, 8, 0, 0});
    const CrossEntropyOptions options{0, Real(0.1)};
    VocabularyLossCache cache;
    vocabulary_loss(x, output, targets, options, &cache);
    const Tensor dx = vocabulary_loss_backward(output, cache);
    for (const auto& [t, d] : {std::pair{x, dx},
                               {output.weight.value, output.weight.grad()},
                               {output.bias.value, output.bias.grad()}}) {
        const auto forward = [&] {
            return one_number(vocabulary_loss(x, output, targets, options));
        };
        CHECK(check_gradient(forward, t, d, one_number(1)).relative < 1e-6);
    }
}
