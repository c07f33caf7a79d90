// Loss, optimizers and training: the device against the processor.
#include <cmath>

#include "chapters/09_training/likeliest.hpp"
#include "chapters/09_training/loss.hpp"
#include "chapters/09_training/optimizer.hpp"
#include "lib/gradcheck.hpp"
#include "tests/devices.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

const std::vector<Index> sizes{1, 2, 31, 33, 257, 1000};  // words: within a warp, a block, beyond

/// Targets among which every third is ignored, if there is another word.
Ids targets_for(Index rows, Index n_words) {
    Ids ids({1, rows});
    for (Index r = 0; r < rows; ++r)
        ids(0, r) =
            static_cast<std::int32_t>(r % 3 == 1 && n_words > 1 ? 0 : (7 * r + 1) % n_words);
    return ids;
}

}  // namespace

TEST_CASE("the device has the processor's cross entropy and its gradient", "[cuda]") {
    for (const Index n : sizes)
        for (const Index rows : {1, 5, 300})
            for (const Real smoothing : {Real(0), Real(0.1)}) {
                if (n * rows > 20'000) continue;
                const Tensor logits = random_tensor({1, rows, n});
                const Ids targets = targets_for(rows, n);
                const std::int32_t ignore = n > 1 ? 0 : -1;
                const auto run = [&] {
                    CrossEntropyCache cache;
                    const double loss = cross_entropy(logits, targets, {ignore, smoothing}, &cache);
                    const double plain = cross_entropy(logits, targets, {ignore, smoothing});
                    CHECK(loss == plain);  // whether somebody needs the probabilities or not
                    CHECK(same_bits(cross_entropy_backward(cache), cross_entropy_backward(cache)));
                    return std::tuple(loss, cache.probabilities, cross_entropy_backward(cache),
                                      cache.counted);
                };
                const auto [host, device] = on_both(run);
                INFO(rows << " rows of " << n << " words, smoothing " << smoothing);
                // A sum of n exponentials, in two orders; of such sums only roots of n remain.
                const double epsilon = std::numeric_limits<Real>::epsilon();
                CHECK(std::get<0>(device) ==
                      Approx(std::get<0>(host)).margin(20 * epsilon * (1 + std::get<0>(host))));
                CHECK(near(std::get<1>(host), std::get<1>(device), 20));
                CHECK(near(std::get<2>(host), std::get<2>(device), 20));
                CHECK(std::get<3>(host) == std::get<3>(device));
            }
}

TEST_CASE("on the device, too, the gradient of cross entropy agrees with central differences",
          "[cuda]") {
    if (!in_double) return;
    const OnDevice device;
    const Tensor logits = random_tensor({1, 3, 35}), cotangent({1}, {Real(0.7)});
    const Ids targets = targets_for(3, 35);
    for (const Real e : {Real(0), Real(0.1)}) {
        CrossEntropyCache cache;
        cross_entropy(logits, targets, {0, e}, &cache);
        Tensor d = cross_entropy_backward(cache);
        d *= cotangent(0);
        const auto forward = [&] {
            return Tensor({1}, {static_cast<Real>(cross_entropy(logits, targets, {0, e}))});
        };
        const GradientError error = check_gradient(forward, logits, d, cotangent);
        INFO(to_string(error));
        CHECK(error.relative < 1e-6);
        CHECK(error.checked == 105);
    }
}

TEST_CASE("infinite logits have the same cross entropy on the device", "[cuda]") {
    const Real inf = std::numeric_limits<Real>::infinity();
    Tensor hidden = random_tensor({1, 1, 300});
    for (Index w = 0; w < 300; ++w)
        if (w % 40 != 7) hidden(0, 0, w) = -inf;  // most threads see nothing else
    const auto loss = [](const Tensor& logits) {
        return on_both([&] { return cross_entropy(logits, Ids({1, 1}, {7}), {.ignore = -1}); });
    };
    const auto [host, device] = loss(hidden);
    CHECK(std::isfinite(host));
    CHECK(device == Approx(host).epsilon(1e-5));
    for (const Real v : {-inf, std::numeric_limits<Real>::quiet_NaN()}) {
        const auto [a, b] = loss(Tensor::full({1, 1, 300}, v));
        CHECK(std::isnan(a));
        CHECK(std::isnan(b));
    }
}

TEST_CASE("the device chooses the processor's words, of equal ones the first", "[cuda]") {
    for (const Index n : sizes) {
        Tensor logits = random_tensor({3, 7, n});
        for (Index w = 0; w < n; ++w) {
            logits(0, 0, w) = 2;                                  // all the same
            logits(0, 1, w) = w >= n / 2 ? Real(1) : Real(-1);    // the first of the larger half
            logits(0, 2, w) = w == n - 1 ? Real(1) : Real(-1e9);  // the last
        }
        const auto [host, device] = on_both([&] { return likeliest(logits); });
        INFO(n << " words");
        CHECK(host.shape() == Shape{3, 7});
        for (Index i = 0; i < host.size(); ++i) {
            CHECK(host.data()[i].word == device.data()[i].word);
            CHECK(static_cast<double>(device.data()[i].probability) ==
                  Approx(static_cast<double>(host.data()[i].probability))
                      .epsilon(20 * std::numeric_limits<Real>::epsilon()));
        }
        CHECK(device.data()[0].word == 0);
        CHECK(device.data()[1].word == n / 2);
        CHECK(device.data()[2].word == n - 1);
    }
    const auto [host, device] = on_both([] { return likeliest(Tensor({0, 2, 4})).shape(); });
    CHECK(device == host);
    CHECK_THROWS_WITH(likeliest(Tensor({2, 2, 0})), Contains("[2, 2, 0]"));
    CHECK_THROWS_WITH(likeliest(Tensor({2, 2})), Contains("expected [B, L, n_words]"));
}

TEST_CASE("a step of each optimizer is the same on the device", "[cuda]") {
    for (const std::string method : {"sgd", "adam", "adamw"})
        for (const Index n : {0, 1, 31, 33, 257, 5000}) {
            const auto run = [&] {
                Random random(n + 3);
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
                return std::pair(p.value, untouched.value);
            };
            const auto [host, device] = on_both(run);
            INFO(method << ", " << n << " weights");
            // Three steps of some ten roundings each; the device may fuse a product and a sum.
            CHECK(near(host.first, device.first, 30));
            CHECK(near(host.second, device.second, 30));
        }
}

TEST_CASE("gradients that are products move weights on the device as on the processor", "[cuda]") {
    const auto run = [] {
        Random random(4);
        Parameter w(normal({70, 90}, random.stream()));
        Sgd sgd({{"w", &w}}, Real(0.9));
        for (int step = 0; step < 2; ++step) {
            w.zero_grad();
            w.add_product(normal({3, 70}, random.stream()), normal({3, 90}, random.stream()));
            w.add_product(normal({2, 70}, random.stream()), normal({2, 90}, random.stream()));
            sgd.step(Real(0.1));
        }
        return std::pair(w.value, grad_norm({{"w", &w}}));
    };
    const auto [host, device] = on_both(run);
    CHECK(near(host.first, device.first, 30));  // sums of five products, in two orders
    CHECK(device.second == Approx(host.second).epsilon(1e-6));
}

namespace {

/// Five pairs of different lengths.
Corpus small_corpus() {
    Corpus corpus = empty_corpus();
    corpus.train = {{split_words("a b c"), split_words("x y")},
                    {split_words("b"), split_words("y x y")},
                    {split_words("c a"), split_words("z")},
                    {split_words("c c a b"), split_words("z z x y")},
                    {split_words("a c"), split_words("x z")}};
    for (const SentencePair& pair : corpus.train) add_words(corpus, pair);
    return corpus;
}

TransformerOptions fitting(TransformerOptions o, const Corpus& corpus) {
    o.src_words = corpus.source.size();
    o.tgt_words = corpus.target.size();
    return o;
}

/// Twenty steps, two of them an epoch of five pairs in batches of three.
TrainingOptions twenty_steps(const std::string& optimizer) {
    TrainingOptions o;
    o.epochs = 10;
    o.batch_size = 3;
    o.optimizer = optimizer;
    o.learning_rate = Real(1e-3);
    o.momentum = Real(0.9);
    o.smoothing = Real(0.1);
    return o;
}

/// What a step moved between the memories.
Transfers difference(const Transfers& a, const Transfers& b) {
    return {b.to_device - a.to_device, b.to_host - a.to_host, b.bytes_to_device - a.bytes_to_device,
            b.bytes_to_host - a.bytes_to_host};
}

void check_training(TransformerOptions options, const std::string& optimizer) {
    INFO(optimizer);
    const Corpus corpus = small_corpus();
    options.n_encoder_layers = options.n_decoder_layers = 1;
    const auto run = [&] {
        Transformer model(fitting(options, corpus), Random(1));
        std::vector<double> losses;
        Transfers before = transfers();
        train(model, corpus, twenty_steps(optimizer), [&](const StepReport& r) {
            losses.push_back(r.loss);
            const Transfers moved = difference(before, transfers());
            before = transfers();
            INFO("step " << r.step);
            if (!on_cuda() || r.step == 1) return;  // weights go over in the first step
            CHECK(moved.to_host == 1);
            CHECK(moved.bytes_to_host == sizeof(double));
            // source, target in and out: 3 sentences of 5 words; and where each begins, packed
            CHECK(moved.to_device == 3 + 2);
            CHECK(moved.bytes_to_device <= 3 * 3 * 5 * 4 + 2 * 4 * 4);
        });
        losses.push_back(evaluate(model, corpus, corpus.train).loss);
        return losses;
    };
    const auto [host, device] = on_both(run);
    REQUIRE(device.size() == 21);
    // The same pairs, and the same elements dropped; what is left is the order of sums. In float a
    // gradient differs by some 1e-6 of the largest, a step at a rate of 1e-3 carries that into
    // weights of order one, and Adam, which divides by the gradient's own size, may carry a weight
    // whose gradient is round-off by up to the rate: a few such weights among hundreds move a loss
    // by some 1e-5.
    const double tolerance = in_double ? 1e-8 : 1e-4;
    for (std::size_t i = 0; i < device.size(); ++i) {
        INFO("step " << i + 1);
        CHECK(device[i] == Approx(host[i]).epsilon(tolerance));
    }
}

}  // namespace

TEST_CASE("training the toy takes the same way on the device, and moves ids and a loss", "[cuda]") {
    check_training(toy_like(), "sgd");
    check_training(toy_like(), "adam");
}

TEST_CASE("training the paper's model takes the same way on the device, and moves ids and a loss",
          "[cuda]") {
    check_training(paper_like(NormPlacement::post), "sgd");
    check_training(paper_like(NormPlacement::pre), "adamw");
}

TEST_CASE("training shared heads takes the same way on the device, and moves ids and a loss",
          "[cuda]") {
    check_training(shared_head_like(), "sgd");
    check_training(shared_head_like(), "adam");
}

TEST_CASE("every gradient of a Transformer is the processor's on the device", "[cuda]") {
    for (const auto& [name, options] : std::vector<std::pair<const char*, TransformerOptions>>{
             {"toy", toy_like()},
             {"paper, post-norm", paper_like(NormPlacement::post)},
             {"paper, pre-norm", paper_like(NormPlacement::pre)},
             {"shared heads", shared_head_like()}}) {
        const auto run = [&, &options = options] {
            Transformer model(options, Random(5));
            shake(model, model.random());
            const Tensor dlogits = normal({2, 4, options.tgt_words}, model.random().stream());
            Transformer::Cache cache;
            const Tensor logits = model.forward(example_src(), example_tgt(), &cache);
            model.backward(dlogits, cache);
            std::vector<std::pair<std::string, Tensor>> list{{"logits", logits}};
            for (const NamedParameter& p : parameters_of(model))
                list.emplace_back(p.name, p.parameter->grad());
            return list;
        };
        const auto [host, device] = on_both(run);
        REQUIRE(device.size() == host.size());
        for (std::size_t i = 0; i < host.size(); ++i) {
            INFO(name << ": " << host[i].first);
            CHECK(max_difference(host[i].second, device[i].second) <= 10 * round_off);
        }
    }
}

TEST_CASE("evaluation brings back losses and words", "[cuda]") {
    const OnDevice device;
    const Corpus corpus = small_corpus();
    Transformer model(fitting(toy_like(), corpus), Random(1));
    evaluate(model, corpus, corpus.train);  // the weights go over
    const Transfers before = transfers();
    evaluate(model, corpus, corpus.train);
    const Transfers after = transfers();
    CHECK(after.to_host - before.to_host == 2);  // the loss, and one choice a place
    CHECK(after.bytes_to_host - before.bytes_to_host == 8 + 5 * 5 * sizeof(Choice));
    CHECK(after.to_device - before.to_device == 3);
}

TEST_CASE("a checkpoint from the device holds the weights, and goes back there", "[cuda]") {
    const Folder folder;
    const Corpus corpus = small_corpus();
    double expected = 0;
    {
        const OnDevice device;
        Transformer model(fitting(paper_like(NormPlacement::post), corpus), Random(1));
        train(model, corpus, twenty_steps("adam"), [](const StepReport&) {});
        save_checkpoint(folder / "m.safetensors", model, corpus);
        expected = evaluate(model, corpus, corpus.train).loss;
        const Checkpoint again = load_checkpoint(folder / "m.safetensors");
        CHECK(evaluate(again.model, corpus, corpus.train).loss == expected);
    }
    const OnProcessor processor;
    const Checkpoint here = load_checkpoint(folder / "m.safetensors");
    CHECK(evaluate(here.model, corpus, corpus.train).loss ==
          Approx(expected).epsilon(in_double ? 1e-12 : 1e-5));
}
