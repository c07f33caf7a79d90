#include "chapters/09_training/first.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/data/batches.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [by hand]
namespace {

void print_row(const std::string& name, std::span<const Real> row, const std::string& after = "") {
    fmt::print("{:<15}", name);
    for (const Real x : row) fmt::print("{:8.3f}", x);
    fmt::print("{}\n", after);
}

void print_words(const char* name) {
    fmt::print("{:<15}{:>8}{:>8}{:>8}{:>8}\n", name, "P", "I", "have", "friend");
}

/// A step on the four logits of one word.
void show_step(Results& results) {
    section("One step by hand");
    print_words("");
    Tensor z({1, 1, 4}, {0, 2, 1, 0});
    for (const std::string when : {"before", "after"}) {
        CrossEntropyCache cache;
        const double loss = cross_entropy(z, Ids({1, 1}, {1}), {}, &cache);
        const Tensor dz = cross_entropy_backward(cache);
        print_row("logits " + when, z.values());
        print_row("p", cache.probabilities.values(), fmt::format("   loss {:.3f}", loss));
        if (when == "before") print_row("p minus 1 at I", dz.values());
        results.set("loss_" + when, loss);
        results.array("logits_" + when, z.clone());
        results.array("p_" + when, cache.probabilities);
        results.array("gradient_" + when, dz);
        vector(z) -= vector(dz);
    }
}

/// The loss of two words and a pad, and its gradient.
double show_batch(const char* title, Real smoothing) {
    section(title);
    print_words("must say");
    CrossEntropyCache cache;
    const double loss = cross_entropy(Tensor({1, 3, 4}, {0, 2, 1, 0, 0, 1, 3, 0, 5, 5, 5, 5}),
                                      Ids({1, 3}, {1, 2, 0}), {0, smoothing}, &cache);
    const Tensor dz = cross_entropy_backward(cache);
    for (std::size_t r = 0; const std::string word : {"I", "have", "P"}) {
        print_row(fmt::format("{:<9}p", word), cache.probabilities.values().subspan(4 * r, 4));
        print_row("         dz", dz.values().subspan(4 * r++, 4));
    }
    fmt::print("loss {:.3f}\n", loss);
    return loss;
}
// [wrong losses]
double minus_log(const Tensor& logits) {
    return cross_entropy(logits.reshape({1, 1, 4}), Ids({1, 1}, {1}));
}

void show_wrong_losses(double mean, Results& results) {
    section("Squared error and minus ln p");
    fmt::print("{:<12}{:>8}{:>12}{:>10}{:>12}{:>10}\n", "logits", "p of I", "(p - y)^2", "pull",
               "-ln p", "pull");
    for (const Tensor& z : {Tensor({1, 4}, {0, 2, 1, 0}), Tensor({1, 4}, {0, 0, 3, 0}),
                            Tensor({1, 4}, {0, 0, 9, 0})}) {
        const Tensor p = softmax(z);
        Tensor dp = p.clone();
        dp(0, 1) -= 1;
        const double squares = vector(dp).squaredNorm();
        dp *= 2;
        const Real pull = -softmax_backward(dp, p)(0, 1);
        fmt::print("{:<12}{:8.4f}{:12.2f}{:10.4f}{:12.2f}{:10.4f}\n",
                   fmt::format("{} {} {} {}", z(0, 0), z(0, 1), z(0, 2), z(0, 3)), p(0, 1), squares,
                   pull, minus_log(z), 1 - p(0, 1));
        results.set(fmt::format("squared_pull_{}", z(0, 2)), pull);
    }
    const Tensor z({1, 4}, {0, 2, 1, 0});
    results.set("twice", minus_log(softmax(z)));
    results.set("twice_least", minus_log(Tensor({1, 4}, {0, 1, 0, 0})));
    results.set("padded", mean * 2 / 3);
}
// [step]
/// The words of a batch's first sentence.
std::string first_of(const Vocabulary& vocabulary, const Ids& ids) {
    std::string text;
    for (Index i = 0; i < ids.dim(1); ++i) text += (i ? " " : "") + vocabulary.word(ids(0, i));
    return text;
}

/// A step of gradient descent for these weights of the model. Returns the loss before it.
double step(Transformer& model, const Parameters& weights, const Batch& pairs, Real eta) {
    const Ids &chinese = pairs.source.ids, &english = pairs.target_in.ids;
    Sgd descent(weights, 0);
    Transformer::Cache seen;
    Linear::Cache last;
    CrossEntropyCache scored;
    // [step: six lines]
    zero_grad(weights);
    const Tensor z = model.output.forward(model.forward(chinese, english, &seen), &last);
    const double loss = cross_entropy(z, pairs.target_out, {}, &scored);
    const Tensor dz = cross_entropy_backward(scored);  // p minus 1 at the right word
    model.backward(model.output.backward(dz, last), seen);
    descent.step(eta);  // W -= eta dW, for every weight
    // [step: end]
    return loss;
}
// [training]
Transformer small_toy(const Task& toy, std::uint64_t seed) {
    TransformerOptions o = toy.model;
    o.n_encoder_layers = o.n_decoder_layers = 2;
    o.layer.attention.d_model = 32;
    o.layer.attention.n_heads = 4;
    o.layer.d_ff = 64;
    o.layer.add_norm.dropout = o.positions.dropout = 0;
    return Transformer(o, Random(seed));
}

/// Trains ten models for 200 steps, prints the first one's way if it has all its gradients, and
/// records the smallest probability of the right word after "I have a" and the largest loss.
void show_training(std::uint64_t seed, bool encoder_learns, Results& results) {
    const Task toy = toy_task();
    const Batch pairs = make_batch(toy.corpus, toy.corpus.train);
    const Index good = toy.corpus.target.id("good"), boy = toy.corpus.target.id("boy");
    results.set("source", first_of(toy.corpus.source, pairs.source.ids));
    results.set("target_in", first_of(toy.corpus.target, pairs.target_in.ids));
    results.set("target_out", first_of(toy.corpus.target, pairs.target_out));
    constexpr Index starts = 10, steps = 200, after_a = 3;
    const std::string end = encoder_learns ? "" : "_half";
    double least = 1, most_loss = 0, least_loss = 100;
    for (Index start = 0; start < starts; ++start) {
        Transformer model = small_toy(toy, seed + static_cast<std::uint64_t>(start));
        Parameters weights = parameters_of(model);
        results.set("parameters", count_elements(weights));
        results.set("d_model", model.options().layer.attention.d_model);
        results.set("target_words", model.options().tgt_words);
        if (!encoder_learns)
            std::erase_if(weights, [](const auto& w) {
                return w.name.starts_with("encoder") || w.name.starts_with("src");
            });
        for (Index n = 0; n <= steps; ++n) {
            const Tensor p = softmax(model.logits(pairs.source.ids, pairs.target_in.ids));
            const double loss = step(model, weights, pairs, Real(0.1));
            if (start == 0 && encoder_learns &&
                (n <= 2 || n == 5 || n == 10 || n == 20 || n % 50 == 0))
                fmt::print("{:4}{:8.2f}{:10.2f}{:8.2f}{:10.2f}{:8.2f}\n", n, loss,
                           p(0, after_a, good), p(0, after_a, boy), p(2, after_a, good),
                           p(2, after_a, boy));
            if (start == 0 && n == 0) results.set_varying("first_loss", loss);
            if (n < steps) continue;
            least = std::min<double>({least, p(0, after_a, good), p(2, after_a, boy)});
            most_loss = std::max(most_loss, loss);
            least_loss = std::min(least_loss, loss);
        }
    }
    results.set("starts", starts);
    results.set_varying("after_a_least" + end, least);
    results.set_varying("loss_most" + end, most_loss);
    results.set_varying("loss_least" + end, least_loss);
}

}  // namespace
// [first]
void show_first_training(std::uint64_t seed, Results& results) {
    show_step(results);
    const double mean = show_batch("A batch by hand", 0);
    show_batch("The same, smoothed", Real(0.1));
    show_wrong_losses(mean, results);
    section("A first training");
    fmt::print(
        "                after \"I have a\", for\n"
        "                我有一个好朋友    我有一个男朋友\n"
        "step    loss      good     boy      good     boy\n");
    show_training(seed, true, results);
    show_training(seed, false, results);
}

}  // namespace abh
