#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/measures.hpp"
#include "chapters/02_positional_encoding/other_tables.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"

using namespace abh;

namespace {
// [by hand]
void show_by_hand(const Results& results) {
    section("Eight positions, four columns");
    const std::vector<std::string> words = {"我", "有", "一", "个", "好", "朋", "友", "P"};
    const Tensor code = sinusoid_table(8, 4);
    fmt::print("word   t    sin t    cos t  sin(t/100)  cos(t/100)\n");
    for (Index t = 0; t < 8; ++t)
        fmt::print("{:<5} {:2d}  {:7.4f}  {:7.4f}  {:10.4f}  {:10.4f}\n",
                   words[static_cast<std::size_t>(t)], t, code(t, 0), code(t, 1), code(t, 2),
                   code(t, 3));
    results.array("clock", sinusoid_table(309, 4));  // 44 words are 7.003 turns of the fast hand
}
// [columns]
/// Tables for the figures.
void keep_columns(const Results& results) {
    results.array("columns_of_20", sinusoid_table(100, 20));
    results.array("toy_of_16", column_exponent_table(100, 16));
    results.array("code_of_16", sinusoid_table(100, 16));
}
// [wavelengths]
void keep_wavelengths(Index d_model, Results& results) {
    const auto wavelength = [&](Index i) {
        return 2 * std::numbers::pi / sinusoid_frequency(i, d_model);
    };
    Tensor waves({2, d_model});  // by column, for the paper's formula and for the toy's
    for (Index c = 0; c < d_model; ++c) {
        waves(0, c) = static_cast<Real>(wavelength(c / 2));
        waves(1, c) = static_cast<Real>(wavelength(c));
    }
    results.array("wavelengths", waves);
    results.set("longest_wave", wavelength(d_model / 2 - 1));
    const Index still = count_still(sinusoid_table(101, d_model));
    results.set("still", still);
    // How far the slowest sine has risen at the last of 100 positions.
    const double farthest = 99 * sinusoid_frequency(d_model / 2 - 1, d_model);
    results.set("slowest_sine", std::sin(farthest));
}
// [dot products]
constexpr Index distances[] = {0, 1, 2, 3, 5, 10, 20, 50, 99};

double spread(const Tensor& range) {  // the widest range of dot products at one distance
    return static_cast<double>((matrix(range).row(1) - matrix(range).row(0)).maxCoeff());
}

void show_dots(Index d_model, Results& results) {
    section("Dot products by distance");
    const Tensor code = dots_by_distance(sinusoid_table(200, d_model), 100);
    fmt::print("distance  sum of cos   lowest  highest\n");
    const auto sum_of_cosines = [d_model](Index shift) {
        double sum = 0;
        for (Index i = 0; i < d_model / 2; ++i)
            sum += std::cos(static_cast<double>(shift) * sinusoid_frequency(i, d_model));
        return sum;
    };
    for (Index shift : distances) {
        fmt::print("{:8d}  {:10.3f}  {:7.3f}  {:7.3f}\n", shift, sum_of_cosines(shift),
                   code(0, shift), code(1, shift));
        if (shift == 10) results.set("dot_10", sum_of_cosines(shift));
    }
    results.array("dots", code);
    results.set_varying("dot_spread", spread(code));
}
// [other formula]
void show_toy(Index d_model, Results& results) {
    section("The toy's formula, measured");
    const Tensor toy = column_exponent_table(200, d_model);  // its row of zeros is left out below
    const Index still = count_still(toy.rows(0, 101), 1);
    fmt::print("{} of {} columns move by less than 0.01 over 100 positions\n", still, d_model);
    const Tensor dots = dots_by_distance(toy, 100, 1);
    fmt::print("distance   lowest  highest\n");
    for (Index shift : distances)
        fmt::print("{:8d}  {:7.3f}  {:7.3f}\n", shift, dots(0, shift), dots(1, shift));
    results.set("toy_still", still);
    results.set("toy_dot_spread", spread(dots));
}
// [single precision]
void show_single_precision(Index d_model) {
    section("Angles in single precision");
    const Tensor code = sinusoid_table(5000, d_model);
    for (Index length : {10, 100, 1000, 5000})
        fmt::print("first {:4d} positions: wrong by at most {:.1e}\n", length,
                   single_precision_error(code.rows(0, length)));
}
// [dropout]
void show_dropout(Random& random, Results& results) {
    section("Dropout 0.2 on a normal sample");
    const Tensor x = normal({4, 5}, random.stream());
    const Dropout dropout(Real(0.2), random);
    Dropout::Cache cache;
    const Tensor y = dropout.forward(x, &cache);
    for (Index r = 0; r < 4; ++r)
        fmt::print("{:7.4f}   ->  {:7.4f}\n", fmt::join(matrix(x).row(r), " "),
                   fmt::join(matrix(y).row(r), " "));
    Index dropped = 0, negative = 0;
    for (Index i = 0; i < x.size(); ++i) {
        dropped += !cache.kept.data()[i];
        negative += !cache.kept.data()[i] && x.data()[i] < 0;
    }
    results.set("sample_dropped", dropped);
    results.set("sample_negative", negative);
}
// [article example]
void show_article(Random& random) {
    section("The article's example");
    const Embedding embedding(1000, 512, {.scale = true}, random);
    const PositionalEncoding positions(512, {.max_len = 60, .dropout = Real(0.1)}, random);
    const Tensor x = embedding.forward(Ids({2, 4}, {100, 2, 421, 508, 491, 998, 1, 221}));
    PositionalEncoding::Cache cache;
    const Tensor y = positions.forward(x, &cache);    // [2, 4, 512], while training
    const Tensor expectation = positions.forward(x);  // at inference, without dropout
    const auto kept = (vector(y).array() != 0).eval();
    const double share =
        100 - 100 * static_cast<double>(kept.count()) / static_cast<double>(y.size());
    const auto error = (vector(y) - vector(expectation) / Real(0.9)).array().abs();
    fmt::print("{} -> {}: {:.2f} % of the entries are zero\n", x.shape(), y.shape(), share);
    fmt::print("the others differ from (x + code) / 0.9 by at most {:.1e}\n",
               kept.select(error, 0).maxCoeff());
    fmt::print("first entries: x {:.4f}, y {:.4f}\n", fmt::join(x.values().first(4), " "),
               fmt::join(y.values().first(4), " "));
}
// [learned]
void show_learned(Random& random, Results& results) {
    section("A learned table, its gradient by differences");
    PositionalEncoding positions(
        5, {.kind = Positions::learned, .max_len = 7, .dropout = Real(0.1)}, random);
    const Tensor x = normal({3, 4, 5}, random.stream()), dy = normal({3, 4, 5}, random.stream());
    PositionalEncoding::Cache cache;
    positions.forward(x, &cache);
    positions.backward(dy, cache);
    // At the same training step, the same elements are dropped, so y is linear in the table.
    const auto forward = [&] { return positions.forward(x, &cache); };
    const GradientError error =
        check_gradient(forward, positions.table.value, positions.table.grad(), dy, /*step=*/0.5);
    fmt::print("{} entries, worst: {}\n", error.checked, to_string(error));
    results.set_varying("gradient_error", error.relative);
}
// [speed]
void show_speed(Results& results) {
    section("Making it fast");
    Random random(1);
    const Dropout dropout(Real(0.1), random);
    const Tensor x = normal({64, 24, 512}, random.stream());
    GainTable table(results, "64 sentences of 24 words, 512 columns");
    table.ways("dropout 0.1", "dropout", [&] {
        Dropout::Cache cache;
        dropout.forward(x, &cache);
    });
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    constexpr Index d_model = 512;
    Program program("Give each position a code, and measure the codes");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        Random random(program.seed());
        show_by_hand(results);
        keep_columns(results);
        keep_wavelengths(d_model, results);
        show_dots(d_model, results);
        show_toy(d_model, results);
        show_single_precision(d_model);
        show_mixture(d_model, program.seed(), results);
        show_dropout(random, results);
        show_article(random);
        show_learned(random, results);
        show_speed(results);
    });
}
