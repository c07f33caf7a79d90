#include "chapters/09_training/first.hpp"

#include <algorithm>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [by hand]
namespace {

void print_row(const std::string& name, std::span<const Real> row) {
    fmt::print("{:<15}", name);
    for (const Real x : row) fmt::print("{:8.3f}", x);
    fmt::print("\n");
}

/// A loss and its gradient, with the words P, I, have and friend.
struct ByHand {
    CrossEntropyCache cache;
    double loss;
    Tensor p, dz;

    ByHand(const Tensor& z, const Ids& right, Real smoothing = 0)
        : loss(cross_entropy(z, right, {0, smoothing}, &cache)),
          p(cache.probabilities),
          dz(cross_entropy_backward(cache)) {}
};

void print_words(const char* title, const char* first) {
    section(title);
    fmt::print("{:<15}{:>8}{:>8}{:>8}{:>8}\n", first, "P", "I", "have", "friend");
}

/// A step on the four logits of one word.
void show_step(Results& results) {
    print_words("One step by hand", "");
    Tensor z({1, 1, 4}, {0, 2, 1, 0});
    for (const std::string when : {"before", "after"}) {
        const ByHand now(z, Ids({1, 1}, {1}));
        print_row("logits " + when, z.values());
        print_row("p", now.p.values());
        fmt::print("loss {:.3f}\n", now.loss);
        if (when == "before") print_row("p minus 1 at I", now.dz.values());
        results.set("loss_" + when, now.loss);
        results.array("logits_" + when, z.clone());
        results.array("p_" + when, now.p);
        vector(z) -= vector(now.dz);
    }
}

/// The loss of two words and a pad, and its gradient.
double show_batch(const char* title, Real smoothing) {
    print_words(title, "must say");
    const ByHand batch(Tensor({1, 3, 4}, {0, 2, 1, 0, 0, 1, 3, 0, 5, 5, 5, 5}),
                       Ids({1, 3}, {1, 2, 0}), smoothing);
    for (std::size_t r = 0; const std::string word : {"I", "have", "P"}) {
        print_row(fmt::format("{:<9}p", word), batch.p.values().subspan(4 * r, 4));
        print_row("         dz", batch.dz.values().subspan(4 * r++, 4));
    }
    fmt::print("loss {:.3f}\n", batch.loss);
    return batch.loss;
}
// [wrong losses]
/// How hard two losses pull at the logit of I, and what a second softmax does to the loss.
void show_wrong_losses(Results& results) {
    section("How hard two losses pull");
    fmt::print(
        "                     pull of   pull of\n"
        "logits      p of I   (p-y)^2     -ln p\n");
    const Ids right({1, 1}, {1});
    for (const Tensor& z : {Tensor({1, 1, 4}, {0, 2, 1, 0}), Tensor({1, 1, 4}, {0, 0, 3, 0}),
                            Tensor({1, 1, 4}, {0, 0, 9, 0})}) {
        const Tensor p = softmax(z);
        Tensor dp = p.clone();
        dp(0, 0, 1) -= 1;
        dp *= 2;
        const Real pull = -softmax_backward(dp, p)(0, 0, 1);
        fmt::print("0 {} {} 0{:10.4f}{:10.4f}{:10.4f}\n", z(0, 0, 1), z(0, 0, 2), p(0, 0, 1), pull,
                   -ByHand(z, right).dz(0, 0, 1));
        results.set("squared_pull", pull);  // of the last line
    }
    results.set("twice", ByHand(softmax(Tensor({1, 1, 4}, {0, 2, 1, 0})), right).loss);
    results.set("twice_least", ByHand(Tensor({1, 1, 4}, {0, 1, 0, 0}), right).loss);
}
// [step]
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
    o.layer.attention.d_model = 32, o.layer.attention.n_heads = 4, o.layer.d_ff = 64;
    o.layer.add_norm.dropout = o.positions.dropout = 0;
    return Transformer(o, Random(seed));
}

/// Trains ten models for 200 steps, and prints the first one's way. Records the smallest
/// probability of the right word after "I have a", and the largest loss.
void show_training(std::uint64_t seed, bool encoder_learns, Results& results) {
    const Task toy = toy_task();
    const Batch pairs = make_batch(toy.corpus, toy.corpus.train);
    const Index good = toy.corpus.target.id("good"), boy = toy.corpus.target.id("boy");
    constexpr Index starts = 10, steps = 200, after_a = 3;
    Transformer first = small_toy(toy, seed);
    results.set("parameters", count_elements(parameters_of(first)));
    results.set("d_model", first.options().layer.attention.d_model);
    results.set("target_words", first.options().tgt_words);
    const std::string end = encoder_learns ? "" : "_half";
    double least = 1, most_loss = 0;
    for (Index start = 0; start < starts; ++start) {
        Transformer model = small_toy(toy, seed + static_cast<std::uint64_t>(start));
        Parameters weights = parameters_of(model);
        if (!encoder_learns)
            std::erase_if(weights, [](const auto& w) {
                return w.name.starts_with("encoder") || w.name.starts_with("src");
            });
        for (Index n = 0; n <= steps; ++n) {
            const Tensor p = softmax(model.logits(pairs.source.ids, pairs.target_in.ids));
            const double loss = step(model, weights, pairs, Real(0.1));
            const bool shown = n <= 2 || n == 5 || n == 10 || n == 20 || n % 50 == 0;
            if (start == 0 && encoder_learns && shown)
                fmt::print("{:4}{:8.2f}{:8.2f}{:6.2f}{:8.2f}{:6.2f}\n", n, loss,
                           p(0, after_a, good), p(0, after_a, boy), p(2, after_a, good),
                           p(2, after_a, boy));
            if (start == 0 && n == 0) results.set_varying("first_loss", loss);
            if (n < steps) continue;
            least = std::min<double>({least, p(0, after_a, good), p(2, after_a, boy)});
            most_loss = std::max(most_loss, loss);
        }
    }
    results.set("starts", starts);
    results.set_varying("after_a_least" + end, least);
    results.set_varying("loss_most" + end, most_loss);
}

}  // namespace
// [first]
void show_first_training(std::uint64_t seed, Results& results) {
    show_wrong_losses(results);
    show_step(results);
    results.set("padded", show_batch("A batch by hand", 0) * 2 / 3);
    show_batch("The same, smoothed", Real(0.1));
    section("A first training");
    fmt::print(
        "               我有一个好朋友 我有一个男朋友\n"
        "step    loss    good   boy    good   boy\n");
    show_training(seed, true, results);
    show_training(seed, false, results);
}

}  // namespace abh
