#include "chapters/04_scaled_dot_product_attention/shown.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/learns.hpp"
#include "chapters/04_scaled_dot_product_attention/sentence.hpp"
#include "lib/eigen.hpp"
#include "lib/matmul.hpp"
#include "lib/random.hpp"

namespace abh::example {
namespace {
// [score table]
/// Prints the weights of two words. The first does not see the second.
void show_score_table() {
    section("Score table");
    const Tensor q({1, 1, 2, 1}, {1, 1}), k({1, 1, 2, 1}, {Real(0.19), Real(0.5)});
    const Tensor w = attention_weights(q, k, over_heads(look_ahead_mask(Ids::zeros({1, 2}))));
    const auto percent = (100 * matrix(w)).eval();
    fmt::print("robot looks at  robot {:.0f} % ({:.1f})\n", percent(0, 0), percent(0, 0));
    fmt::print("must  looks at  robot {:.0f} % ({:.1f})  must {:.0f} % ({:.1f})\n",
               std::floor(percent(1, 0)), percent(1, 0), std::floor(percent(1, 1)), percent(1, 1));
}
// [soft look-up]
/// Prints what 好 gets from the seven words, padding left out, and records what a plain mean and a
/// hard look-up would give instead.
void show_soft_lookup(Results& results) {
    section("A soft look-up");
    const Eigen::MatrixXd k = matrix(keys).topRows(7).cast<double>(),
                          v = matrix(values).topRows(7).cast<double>();
    const Eigen::VectorXd dots = k * matrix(queries).row(4).transpose().cast<double>();
    const Eigen::VectorXd e = (dots / 2).array().exp(), w = e / e.sum();
    const auto row = [](const char* name, int digits, const Eigen::VectorXd& numbers) {
        fmt::print("{:8}", name);
        for (double x : numbers) fmt::print("{:7.{}f}", x, digits);
    };
    fmt::print("        ");
    for (std::size_t j = 0; j < 7; ++j) fmt::print("{:>7}", words[j]);
    fmt::print("\n");
    row("q.k", 0, dots);
    fmt::print("\n");
    row("/ 2", 1, dots / 2);
    fmt::print("\n");
    row("exp", 3, e);
    fmt::print("   sum {:.2f}\n", e.sum());
    row("weight", 3, w);
    fmt::print("   sum {:.2f}\n", w.sum());
    row("place", 0, v.col(0));
    fmt::print("   mean {:.2f}\n", w.dot(v.col(0)));
    row("friend", 0, v.col(1));
    fmt::print("   mean {:.2f}\n", w.dot(v.col(1)));
    results.set("plain_place", v.col(0).mean());
    results.set("plain_friend", v.col(1).mean());
    results.set("soft_place", w.dot(v.col(0)));
    results.set("soft_friend", w.dot(v.col(1)));
}
// [late mask]
/// Prints what becomes of 好 if the weight of the hidden P is removed after the softmax.
void show_late_mask(Results& results) {
    section("The mask after the softmax");
    const Tensor unmasked = attention_weights(queries, keys, {}),
                 masked = attention_weights(queries, keys, over_heads(padding_mask(ids, ids)));
    Eigen::VectorXd all = matrix(unmasked).row(4).transpose().cast<double>(), late = all;
    late(7) = 0;
    const Eigen::VectorXd right = matrix(masked).row(4).transpose().cast<double>();
    const Eigen::MatrixXd v = matrix(values).cast<double>();
    fmt::print("row of 好                  sum   place  friend\n");
    const auto line = [&](const char* what, const Eigen::VectorXd& w) {
        fmt::print("{:22} {:7.3f} {:7.2f} {:7.2f}\n", what, w.sum(), w.dot(v.col(0)),
                   w.dot(v.col(1)));
    };
    line("no mask", all);
    line("mask after softmax", late);
    line("mask before softmax", right);
    results.set("late_sum", late.sum());
    results.set("late_place", late.dot(v.col(0)));
    results.set("right_place", right.dot(v.col(0)));
}
// [saturated]
/// Prints what random scores make of a row of seven weights and of the gradient that passes it.
void show_saturated(Results& results) {
    Random random(1);
    section("Rows of seven random keys");
    fmt::print("        q.k                                q.k / sqrt(d_k)\n");
    Table table(results, {{"d_k", "4"},
                          {"largest weight", "16.2f", "seven_{}"},
                          {"median |ds|", "14.5f", "gone_{}"},
                          {"largest weight", "18.2f", "seven_{}_scaled"},
                          {"median |ds|", "14.5f", "gone_{}_scaled"}});
    const Index n = 1001, n_k = 7;
    for (Index d_k : {4, 64, 512}) {
        const Tensor q = normal({n, 1, 1, d_k}, random.stream()),
                     k = normal({n, 1, n_k, d_k}, random.stream()),
                     dw = normal({n, 1, 1, n_k}, random.stream());
        std::vector<double> found;
        for (Real scale : {Real(1), 1 / std::sqrt(static_cast<Real>(d_k))}) {
            const Tensor w = softmax(matmul(q, k, {.transpose_b = true, .scale = scale}));
            const Tensor ds = softmax_backward(dw, w);
            Eigen::ArrayXd norms = matrix(ds).rowwise().norm().cast<double>().array();
            std::sort(norms.begin(), norms.end());
            found.push_back(static_cast<double>(matrix(w).rowwise().maxCoeff().mean()));
            found.push_back(norms(n / 2));
        }
        table.row(d_k, d_k, found[0], found[1], found[2], found[3]);
    }
}
// [learning]
/// The place of 好, 女 and 男, and the ids of what they mean.
constexpr Index differs = 4, good = 4, boy = 8;
constexpr Real rate = 1.5;

/// Trains readers from ten starts, and prints what the first says after *a* and where it looks.
void show_learning(Results& results) {
    section("What comes after a");
    const Mask pads = over_heads(padding_mask(said, source));  // [3, 1, 7, 8]
    Mask blind = pads.clone();
    for (Index b = 0; b < 3; ++b)
        for (Index i = 0; i < 7; ++i) blind(b, 0, i, differs) = 1;
    fmt::print("                                with 好         with 男\n");
    fmt::print("                              good   boy      good   boy     mean loss\n");
    const auto line = [&](const char* what, const Tensor& p) {  // row 3 is that of *a*
        double loss = 0;
        for (Index b = 0; b < next.dim(0); ++b)
            for (Index t = 0; t < next.dim(1); ++t)
                loss -= std::log(static_cast<double>(p(b, t, next(b, t))));
        fmt::print("{:28}{:6.2f}{:6.2f}{:10.2f}{:6.2f}{:14.2f}\n", what, p(0, 3, good),
                   p(0, 3, boy), p(2, 3, good), p(2, 3, boy),
                   loss / static_cast<double>(next.size()));
    };
    struct Kind {
        const char *name, *label;
        Look look;
    };
    Tensor weights;
    for (const auto& [name, label, look] : {Kind{"nothing", "no source", Look::at_nothing},
                                            Kind{"mean", "plain mean of it", Look::at_all_alike},
                                            Kind{"attention", "attention", Look::by_attention}}) {
        double least = 1, most = 0, later = 1, least_weight = 1;
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            Random random(seed);
            TinyTranslator translator(look, random);
            if (seed == 1 && look == Look::at_nothing)
                line("before training", translator.forward(pads));
            for (int step = 0; step < 300; ++step) translator.step(translator.forward(pads), rate);
            const Tensor p = translator.forward(pads);
            const Tensor w = translator.of_attention.weights;
            for (Real right : {p(0, 3, good), p(2, 3, boy)}) {
                least = std::min(least, static_cast<double>(right));
                most = std::max(most, static_cast<double>(right));
            }
            for (Index b : {0, 2}) {
                Index strongest = 0;
                vector(w).segment((b * 7 + 3) * 8, 8).maxCoeff(&strongest);
                least_weight =
                    std::min(least_weight,
                             strongest == differs ? static_cast<double>(w(b, 0, 3, differs)) : 0.0);
            }
            if (seed == 1) {
                line(label, p);
                weights = w.clone();
                if (look == Look::by_attention)
                    line("attention, 好 or 男 hidden", translator.forward(blind));
            }
            if (look != Look::at_all_alike) continue;
            for (int step = 300; step < 800; ++step)
                translator.step(translator.forward(pads), rate);
            later = std::min(later, static_cast<double>(translator.forward(pads)(0, 3, good)));
        }
        results.set(fmt::format("after_a_least_{}", name), least);
        results.set(fmt::format("after_a_most_{}", name), most);
        if (look == Look::at_all_alike) results.set("after_a_mean_later", later);
        results.set(fmt::format("looks_least_{}", name), least_weight);
    }
    results.array("learned", weights);  // [3, 1, 7, 8]
    section("Where it looks");
    for (Index b : {0, 2}) {
        fmt::print("{}says    ", b == 0 ? "" : "\n");
        for (Index j = 0; j < 7; ++j)
            fmt::print("{:>6}", chinese_words[static_cast<std::size_t>(source(b, j))]);
        fmt::print("\n");
        for (Index i = 0; i < 7; ++i) {
            fmt::print("{:8}", english_words[static_cast<std::size_t>(next(b, i))]);
            for (Index j = 0; j < 7; ++j) fmt::print("{:6.2f}", weights(b, 0, i, j));
            fmt::print("\n");
        }
    }
}
// [worked]
/// The weights of the page's worked gradient, their prices, and what these say about the scores.
void keep_worked_gradient(const Results& results) {
    const Tensor w = softmax(Tensor({3}, {std::log(Real(3)), 0, Real(-1e9)})), dw({3}, {4, 0, 7});
    results.array("worked_weights", w);
    results.array("worked_prices", dw);
    results.array("worked_ds", softmax_backward(dw, w));
}

}  // namespace
// [idea]
void show_idea(Results& results) {
    show_soft_lookup(results);
    show_late_mask(results);
    show_saturated(results);
    show_learning(results);
    keep_worked_gradient(results);
    show_score_table();
}

}  // namespace abh::example
