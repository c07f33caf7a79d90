// Per real and way: cross entropy, the likeliest word, optimizers, learning rate.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "chapters/09_training/argmax.hpp"
#include "chapters/09_training/optimizer.hpp"
#include "chapters/09_training/vocabulary_loss.hpp"
#include "lib/fast/gradient.hpp"
#include "tests/gradients.hpp"

using namespace abh;

namespace {

// A few roundings of numbers of order one.
constexpr double round_off = in_double ? 1e-12 : 2e-6;

Tensor example_logits() {
    return Tensor({2, 2, 4}, {Real(0.5), Real(-1.25), 2, Real(0.75), 3, 0, -2, 1,  //
                              0, 0, 0, 0, -1, 4, Real(2.5), 1});
}
Tensor one_number(double x) {
    return Tensor({1}, {static_cast<Real>(x)});
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
    CHECK(loss(0, 0) == Approx(0.953111356247).margin(round_off));
    CHECK(loss(0, 0.1) == Approx(1.098944689580).margin(round_off));
    CHECK(loss(0, 0.3) == Approx(1.390611356247).margin(round_off));
    CHECK(loss(3, 0) == Approx(0.690037689081).margin(round_off));
    CHECK(loss(3, 0.1) == Approx(0.819204355748).margin(round_off));
    CHECK(loss(3, 0.3) == Approx(1.077537689081).margin(round_off));
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
    CHECK(share == Approx(loss * 3 / 12).margin(round_off));  // three of four targets count
    Tensor expected = cross_entropy_backward(own);
    expected *= Real(0.25);
    CHECK(max_difference(cross_entropy_backward(part), expected) < round_off);
    CHECK_THROWS_WITH(cross_entropy(example_logits(), example_targets(), {0, 0, 2}),
                      Contains("3 targets count, but the step has only 2"));
}

TEST_CASE("an optimizer goes on from what it remembers") {
    const auto go_on = [](auto make) {
        Parameter one(Tensor({2}, {1, -2})), other(Tensor({2}, {1, -2}));
        auto first = make(Parameters{{"w", &one}}), second = make(Parameters{{"w", &other}});
        const auto step = [](Parameter& p, Optimizer& optimizer) {
            p.zero_grad();
            p.grad() += p.value;
            optimizer.step(Real(0.1));
        };
        for (int i = 0; i < 3; ++i) step(one, first);
        other.value = one.value.clone();
        second.set_steps(first.steps());
        const auto from = first.memory(), to = second.memory();
        for (std::size_t i = 0; i < from.size(); ++i) {
            CHECK(from[i].name == to[i].name);
            CHECK(from[i].name.ends_with(".w"));
            Tensor tensor = to[i].tensor;
            std::copy_n(from[i].tensor.data(), 2, tensor.data());
        }
        step(one, first);
        step(other, second);
        CHECK(same_bits(one.value, other.value));
        return from.size();
    };
    CHECK(go_on([](const Parameters& p) { return Sgd(p, Real(0.9)); }) == 1);
    CHECK(go_on([](const Parameters& p) { return Adam(p); }) == 2);
}

TEST_CASE("an ignored target counts neither in the sum nor in the number") {
    const Tensor one({1, 1, 3}, {2, 1, 0});
    const Tensor padded({1, 4, 3}, {2, 1, 0, 9, -9, 0, 0, 0, 5, 1, 1, 1});
    const double alone = cross_entropy(one, Ids({1, 1}, {1}));
    CHECK(cross_entropy(padded, Ids({1, 4}, {1, 0, 0, 0})) == alone);
    CHECK(alone == Approx(1.407605964444).margin(round_off));  // log(e^2 + e + 1) - 1
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
        CHECK(vocabulary_loss(x, output, targets, options) == Approx(loss).epsilon(round_off));
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

TEST_CASE("backward of vocabulary loss twice adds its gradients twice") {
    const auto check = [](Index rows, Index words) {
        Random random(9);
        Linear output(3, words, true, random);
        const Tensor x = random_tensor({1, rows, 3});
        const Ids targets =
            random_ids({1, rows}, 1, static_cast<std::int32_t>(words), random.stream());
        VocabularyLossCache cache;
        for (int pass = 0; pass < 2; ++pass) {  // the second from the same cache
            vocabulary_loss(x, output, targets, {}, &cache);
            check_backward_twice(
                output, [&] { return std::vector{vocabulary_loss_backward(output, cache)}; });
        }
    };
    check(5, 12);
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
    Random random(6);
    Linear output(5, 9, true, random);
    const Tensor x = random_tensor({2, 4, 5});
    const Ids targets({2, 4}, {1, 2, 3, 0, 5, 8, 0, 0});
    const CrossEntropyOptions options{0, Real(0.1)};
    const auto forward = [&] { return one_number(vocabulary_loss(x, output, targets, options)); };
    VocabularyLossCache cache;
    vocabulary_loss(x, output, targets, options, &cache);
    const Tensor dx = vocabulary_loss_backward(output, cache);
    check_gradients(forward, one_number(1), with_parameters({{"x", x, dx}}, output));
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
    const Tensor logits = random_tensor({1, 3, 35}), cotangent({1}, {Real(-1.7)});
    const Ids targets({1, 3}, {1, 0, 34});
    for (const Real e : {Real(0), Real(0.1)}) {
        CrossEntropyCache cache;
        cross_entropy(logits, targets, {0, e}, &cache);
        Tensor d = cross_entropy_backward(cache);
        CHECK(same_bits(cross_entropy_backward(cache), d));  // a second time, the same
        d *= cotangent(0);
        const auto forward = [&] { return one_number(cross_entropy(logits, targets, {0, e})); };
        check_gradients(forward, cotangent, {{"logits", logits, d}});
    }
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

TEST_CASE("down a parabola the optimizers take the steps of the table") {
    const auto path = [](auto make, std::initializer_list<double> table) {
        Parameter w(Tensor({1}, {1}));
        auto optimizer = make(Parameters{{"w", &w}});
        for (const double expected : table) {
            const Real slope = w.grad()(0) = w.value(0);  // of w^2 / 2
            optimizer.step(Real(0.1));
            CHECK(w.grad()(0) == slope);
            CHECK(w.value(0) == Approx(expected).margin(0.0006));
        }
    };
    path([](const Parameters& p) { return Sgd(p, 0); }, {0.9, 0.81, 0.729, 0.656, 0.590});
    path([](const Parameters& p) { return Sgd(p, Real(0.9)); },
         {0.9, 0.9 - 0.18, 0.72 - 0.234, 0.227, -0.029});
    path([](const Parameters& p) { return Adam(p); },
         {0.9, 0.8, 0.702, 0.604, 0.604 - 0.1 * 0.780 / 0.813});
    path([](const Parameters& p) { return Adam(p, {.weight_decay = Real(0.5)}); },
         {0.85, 0.708, 0.575, 0.451, 0.335});
}

TEST_CASE("adamw shrinks a weight without a gradient, and adam leaves it alone") {
    Parameter w(Tensor({1}, {4}));
    w.grad()(0) = 0;
    Adam({{"w", &w}}).step(Real(0.1));
    CHECK(w.value(0) == 4);
    Adam({{"w", &w}}, {.weight_decay = Real(0.25)}).step(Real(0.1));
    CHECK(w.value(0) == Approx(4 * (1 - 0.1 * 0.25)).epsilon(1e-6));
    for (const Real decay : {Real(-1), std::numeric_limits<Real>::quiet_NaN()})
        CHECK_THROWS_WITH(Adam({{"w", &w}}, {.weight_decay = decay}), Contains("weight decay"));
}

TEST_CASE("adam's first step is the learning rate, whatever the size of the gradient") {
    for (const Real size : {Real(1e-3), Real(1), Real(1e3)}) {
        Parameter w(Tensor({2}, {0, 0}));
        w.grad()(0) = size;
        w.grad()(1) = -size;
        Adam adam({{"w", &w}});
        adam.step(Real(0.01));
        CHECK(w.value(0) == Approx(-0.01).epsilon(1e-4));
        CHECK(w.value(1) == Approx(0.01).epsilon(1e-4));
    }
}

TEST_CASE("optimizers move every parameter, the same bits for any number of threads", "[fast]") {
    for (const bool is_adam : {false, true})
        same_for_threads([&] {
            Random random(3);
            Parameter a(normal({300, 257}, random.stream())), b(normal({5}, random.stream()));
            const Tensor start = a.value.clone();
            const Parameters list{{"a", &a}, {"b", &b}};
            Sgd sgd(list, Real(0.99));
            Adam adam(list);
            for (int step = 0; step < 3; ++step) {
                a.grad() += normal(a.value.shape(), random.stream());
                b.grad() += normal(b.value.shape(), random.stream());
                is_adam ? adam.step(Real(0.01)) : sgd.step(Real(0.01));
            }
            Index moved = 0;
            for (Index i = 0; i < start.size(); ++i) moved += a.value.data()[i] != start.data()[i];
            CHECK(moved > start.size() * 99 / 100);
            return std::vector{a.value, b.value};
        });
}

TEST_CASE("sgd refuses a momentum outside 0 to 1") {
    Parameter w(Tensor({1}, {0}));
    CHECK_THROWS_WITH(Sgd({{"w", &w}}, 1), Contains("momentum 1, expected 0 <= momentum < 1"));
    CHECK_THROWS_WITH(Sgd({{"w", &w}}, -1), Contains("momentum -1"));
}

TEST_CASE("the learning rate grows to its peak and decays with the inverse root") {
    CHECK(learning_rate(1, Real(0.5), 0) == Real(0.5));
    CHECK(learning_rate(1'000'000, Real(0.5), 0) == Real(0.5));
    CHECK(learning_rate(10, 1, 40) == Approx(0.25));
    CHECK(learning_rate(40, 1, 40) == 1);
    CHECK(learning_rate(160, 1, 40) == Approx(0.5));
    CHECK_THROWS_WITH(learning_rate(0, 1, 40), Contains("step 0"));
    CHECK_THROWS_WITH(learning_rate(1, 1, -1), Contains("warm-up -1"));
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

TEST_CASE("every way takes plain's steps of each optimizer") {
    for (const std::string method : {"sgd", "adam", "adamw"})
        for (const Index n : {0, 1, 31, 33, 257, 35'980}) {
            CAPTURE(method, n);
            same_in_every_way([&] {
                Random random(static_cast<std::uint64_t>(n) + 3);
                Parameter p(normal({n}, random.stream())), untouched(Tensor::full({2}, 1));
                const Parameters list{{"p", &p}, {"untouched", &untouched}};
                Sgd sgd(list, Real(0.9));
                Adam adam(list, {.weight_decay = Real(method == "adamw" ? 0.1 : 0)});
                for (int step = 0; step < 3; ++step) {
                    zero_grad(list);
                    p.grad() += normal({n}, random.stream());
                    Optimizer& optimizer = method == "sgd" ? static_cast<Optimizer&>(sgd) : adam;
                    optimizer.step(Real(0.01));
                }
                return std::vector{p.value, untouched.value};
            });
        }
}

TEST_CASE("every way moves a list of parameters, all at once or one after the other") {
    for (const bool is_adam : {false, true})
        for (const bool one_by_one : {false, true}) {
            CAPTURE(is_adam, one_by_one);
            same_in_every_way([&] {
                Random random(5);
                std::vector<Parameter> all;
                for (const Index n : {5, 0, 4096, 4097, 1, 9000})
                    all.emplace_back(normal({n}, random.stream()));
                all.emplace_back(
                    normal({10}, random.stream()).rows(1, 10));  // where no four begins
                Parameters list;
                for (Parameter& p : all) list.push_back({"p", &p});
                Sgd sgd(list, Real(0.9));
                Adam adam(list);
                Optimizer& optimizer = is_adam ? static_cast<Optimizer&>(adam) : sgd;
                for (int step = 0; step < 2; ++step) {
                    for (Parameter& p : all)  // a gradient that lies elsewhere in each step
                        p.gradient.assign(normal(p.value.shape(), random.stream()));
                    if (!one_by_one) optimizer.step(Real(0.1));
                    if (one_by_one) optimizer.begin_step();
                    for (std::size_t i = 0; i < all.size() && one_by_one; ++i)
                        optimizer.move(i, Real(0.1));
                }
                std::vector<Tensor> found{one_number(grad_norm(list))};
                scale_grad(list, Real(0.5));
                for (Parameter& p : all) found.insert(found.end(), {p.value, p.grad()});
                return found;
            });
        }
}

TEST_CASE("every way measures the gradients of more parameters than a sum has parts") {
    same_in_every_way([] {
        std::vector<Parameter> all;
        Parameters list;
        for (Index i = 0; i < 1100; ++i) all.emplace_back(Tensor({1}, {0}));
        for (Parameter& p : all) {
            p.grad().fill(1);
            list.push_back({"p", &p});
        }
        return std::vector{one_number(grad_norm(list))};
    });
}

TEST_CASE("every way sums biases' gradients over any number of rows, added up or begun anew") {
    for (const Index first : {1, 64, 65, 300})
        for (const Way of_optimizer : ways_here())
            same_in_every_way([&] {
                Random random(2);
                Linear map(3, 35, true, random), other(3, 5, true, random);
                Parameters list = parameters_of(map, "map");
                other.collect(list, "other");
                Sgd sgd(list, 0);
                std::vector<Tensor> found;
                const auto backward = [&](Linear& of, Index n) {
                    Linear::Cache cache;
                    of.forward(normal({n, 3}, random.stream()), &cache);
                    of.backward(normal({n, of.d_out()}, random.stream()), cache);
                };
                backward(map, first);
                backward(map, first);
                found.push_back(map.bias.grad().clone());
                backward(map, first);
                backward(map, 3 * first);
                zero_grad(list);
                backward(map, first);
                backward(other, 200);
                found.push_back(one_number(grad_norm(list)));
                backward(map, 90);
                backward(other, 200);
                scale_grad(list, Real(0.5));
                backward(other, 200);
                backward(other, 300);
                const ScopedWay scoped(of_optimizer);  // may differ from that of backward
                sgd.step(Real(0.01));
                for (const NamedParameter& p : list)
                    found.insert(found.end(), {p.parameter->value, p.parameter->grad()});
                return found;
            });
}

TEST_CASE("gradients that are products move weights in every way as in plain") {
    same_in_every_way([] {
        Random random(4);
        Parameter w(normal({70, 90}, random.stream()));
        Sgd sgd({{"w", &w}}, Real(0.9));
        for (int step = 0; step < 2; ++step) {
            w.zero_grad();
            for (const Index rows : {3, 2})
                fast::add_product(w.gradient, normal({rows, 70}, random.stream()),
                                  normal({rows, 90}, random.stream()));
            sgd.step(Real(0.1));
        }
        return std::vector{w.value, one_number(grad_norm({{"w", &w}}))};
    });
}
