#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <numbers>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/other_tables.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "lib/program.hpp"
#include "lib/stopwatch.hpp"

using namespace abh;

namespace {
// [by hand]
void show_by_hand() {
    section("Eight positions, four columns");
    const std::vector<std::string> words = {"我", "有", "一", "个", "好", "朋", "友", "P"};
    const Tensor table = sinusoid_table(8, 4);
    fmt::print("word   p    sin p    cos p  sin p/100  cos p/100\n");
    for (Index p = 0; p < 8; ++p)
        fmt::print("{:<5} {:2d}  {:7.4f}  {:7.4f}  {:9.4f}  {:9.4f}\n",
                   words[static_cast<std::size_t>(p)], p, table(p, 0), table(p, 1), table(p, 2),
                   table(p, 3));
}
// [columns]
void show_columns(const Results& results) {
    section("Columns 4 to 7 of 20");
    const Tensor code = sinusoid_table(100, 20);
    for (Index p = 0; p < 3; ++p)
        fmt::print("{}  {:.6f}  {:.6f}  {:.6f}  {:.6f}\n", p, code(p, 4), code(p, 5), code(p, 6),
                   code(p, 7));
    results.array("columns_of_20", code);

    section("The toy's formula, columns 1 to 3 of 16");
    const Tensor toy = column_exponent_table(100, 16);
    for (Index p = 1; p < 4; ++p)
        fmt::print("{}  {:#.6g}  {:#.6g}  {:#.6g}\n", p, toy(p, 1), toy(p, 2), toy(p, 3));
    results.array("toy_of_16", toy);
    results.array("code_of_16", sinusoid_table(100, 16));
}
// [wavelengths]
/// Columns that move by less than a hundredth over all rows.
Index count_still(const Tensor& table) {
    Index still = 0;
    for (Index c = 0; c < table.dim(1); ++c) {
        const auto column = matrix(table).col(c);
        still += column.maxCoeff() - column.minCoeff() < Real(0.01);
    }
    return still;
}

void show_wavelengths(Index d_model, Results& results) {
    section("Wavelengths");
    const auto wavelength = [&](Index i) {
        return 2 * std::numbers::pi / sinusoid_frequency(i, d_model);
    };
    fmt::print("columns    positions in a wave\n");
    for (Index i : {Index{0}, Index{1}, d_model / 8, d_model / 4, d_model / 2 - 1})
        fmt::print("{:3d}, {:3d}  {:20.2f}\n", 2 * i, 2 * i + 1, wavelength(i));
    Tensor waves({2, d_model});  // by column: the paper's formula, the toy's
    for (Index c = 0; c < d_model; ++c) {
        waves(0, c) = static_cast<Real>(wavelength(c / 2));
        waves(1, c) = static_cast<Real>(wavelength(c));
    }
    results.array("wavelengths", waves);
    results.set("longest_wave", wavelength(d_model / 2 - 1));

    Tensor toy = column_exponent_table(101, d_model);
    matrix(toy).row(0) = matrix(toy).row(1);  // its row of zeros would count as a move
    const Index still = count_still(sinusoid_table(101, d_model)), toy_still = count_still(toy);
    fmt::print(
        "{} of {} columns move by less than 0.01 over 100 positions, {} with the toy's formula\n",
        still, d_model, toy_still);
    results.set("still", static_cast<double>(still));
    results.set("toy_still", static_cast<double>(toy_still));
}
// [dot products]
/// Lowest and highest dot product of rows p and p + k with p >= `first`, `[2, n]` for k < n.
Tensor dots_by_distance(const Tensor& table, Index n, Index first = 0) {
    const Tensor dots = matmul(table, table, {.transpose_b = true});  // [L, L]
    Tensor range({2, n});
    for (Index k = 0; k < n; ++k) {
        const auto pairs = matrix(dots).diagonal(k);  // all p and p + k
        range(0, k) = pairs.tail(pairs.size() - first).minCoeff();
        range(1, k) = pairs.tail(pairs.size() - first).maxCoeff();
    }
    return range;
}

void show_dots(Index d_model, Results& results) {
    section("Dot products by distance");
    const Tensor code = dots_by_distance(sinusoid_table(200, d_model), 100);
    const Tensor toy = dots_by_distance(column_exponent_table(200, d_model), 100, 1);
    fmt::print("distance  sum of cos   lowest  highest   the toy's formula\n");
    for (Index k : {0, 1, 2, 3, 5, 10, 20, 50, 99}) {
        double sum = 0;
        for (Index i = 0; i < d_model / 2; ++i)
            sum += std::cos(static_cast<double>(k) * sinusoid_frequency(i, d_model));
        fmt::print("{:8d}  {:10.3f}  {:7.3f}  {:7.3f}  {:7.3f} to {:7.3f}\n", k, sum, code(0, k),
                   code(1, k), toy(0, k), toy(1, k));
        results.set(fmt::format("dot_{}", k), sum);
    }
    results.array("dots", code);
    results.array("toy_dots", toy);
    double spread = 0, toy_spread = 0;
    for (Index k = 0; k < 100; ++k) {
        spread = std::max(spread, static_cast<double>(code(1, k) - code(0, k)));
        toy_spread = std::max(toy_spread, static_cast<double>(toy(1, k) - toy(0, k)));
    }
    results.set_varying("dot_spread", spread);
    results.set("toy_dot_spread", toy_spread);
}
// [rotation]
void show_rotation(Index d_model, Results& results) {
    section("A shift is a rotation");
    const Tensor table = sinusoid_table(200, d_model);
    for (Index k : {1, 3, 100}) {
        double worst = 0;
        for (Index i = 0; i < d_model / 2; ++i) {
            const double angle = static_cast<double>(k) * sinusoid_frequency(i, d_model);
            const auto c = static_cast<Real>(std::cos(angle)),
                       s = static_cast<Real>(std::sin(angle));
            for (Index p = 0; p + k < 200; ++p) {
                const Real sine = table(p, 2 * i), cosine = table(p, 2 * i + 1);
                worst =
                    std::max<double>(worst, std::abs(c * sine + s * cosine - table(p + k, 2 * i)));
                worst = std::max<double>(worst,
                                         std::abs(c * cosine - s * sine - table(p + k, 2 * i + 1)));
            }
        }
        fmt::print("rows p turned by {:3d} f_i and rows p + {:3d}: they differ by {:.1e}\n", k, k,
                   worst);
        results.set_varying(fmt::format("rotation_error_{}", k), worst);
    }
}
// [single precision]
void show_single_precision(Index d_model, Results& results) {
    section("Angles in single precision");
    const Tensor table = sinusoid_table(5000, d_model);
    for (Index length : {10, 100, 1000, 5000}) {
        double worst = 0;
        for (Index i = 0; i < d_model / 2; ++i) {
            const auto frequency = static_cast<float>(sinusoid_frequency(i, d_model));
            for (Index p = 0; p < length; ++p) {
                const float sine = std::sin(static_cast<float>(p) * frequency);
                worst =
                    std::max<double>(worst, std::abs(static_cast<Real>(sine) - table(p, 2 * i)));
            }
        }
        fmt::print("first {:4d} positions: wrong by {:.1e} at most\n", length, worst);
        results.set_varying(fmt::format("single_error_{}", length), worst);
    }
}
// [words and positions]
void show_mixture(Index d_model, std::uint64_t seed, Results& results) {
    section("Words against positions");
    const Tensor code = sinusoid_table(200, d_model);
    const double root = std::sqrt(static_cast<double>(d_model));
    fmt::print(
        "entries of  same     two words,  word and position,  position with  10 apart\n"
        "words       word     deviation   deviation           itself\n");
    for (const auto& [name, deviation] :
         {std::pair{"narrow", 1 / root}, std::pair{"unit", 1.0}, std::pair{"wide", root}}) {
        Random same_seed(seed);
        Tensor words = normal({200, d_model}, same_seed.stream());
        words *= static_cast<Real>(deviation);
        const Tensor ww = matmul(words, words, {.transpose_b = true});  // [200, 200]
        const Tensor wp = matmul(words, code, {.transpose_b = true});   // [200, 200]
        const auto own = matrix(ww).diagonal().cast<double>().eval();
        const double others = std::sqrt((dot(ww, ww) - own.squaredNorm()) / (200 * 199));
        const double mixed = std::sqrt(dot(wp, wp) / (200 * 200));
        const Tensor pp = dots_by_distance(code, 11);
        fmt::print("{:<10.3f}  {:<8.6g} {:<10.3f}  {:<18.3f}  {:<13.1f}  {:.1f}\n", deviation,
                   own.mean(), others, mixed, pp(0, 0), pp(0, 10));
        results.set(fmt::format("same_{}", name), own.mean());
        results.set(fmt::format("others_{}", name), others);
        results.set(fmt::format("mixed_{}", name), mixed);
    }
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
    for (Index i = 0; i < x.size(); ++i)
        if (!cache.kept.data()[i]) {
            ++dropped;
            negative += x.data()[i] < 0;
        }
    results.set("sample_dropped", static_cast<double>(dropped));
    results.set("sample_negative", static_cast<double>(negative));
}
// [article example]
void show_article(Random& random, Results& results) {
    section("The article's example");
    const Embedding embedding(1000, 512, {.scale = true}, random);
    const PositionalEncoding positions(512, {.max_len = 60, .dropout = Real(0.1)}, random);
    const Tensor x = embedding.forward(Ids({2, 4}, {100, 2, 421, 508, 491, 998, 1, 221}));
    PositionalEncoding::Cache cache;
    const Tensor y = positions.forward(x, &cache);    // [2, 4, 512], while training
    const Tensor expectation = positions.forward(x);  // at inference: nothing is dropped
    Index zeros = 0;
    double worst = 0;
    for (Index i = 0; i < y.size(); ++i)
        if (y.data()[i] == 0)
            ++zeros;
        else
            worst =
                std::max<double>(worst, std::abs(y.data()[i] - expectation.data()[i] / Real(0.9)));
    const double share = static_cast<double>(zeros) / static_cast<double>(y.size());
    fmt::print("{} -> {}: {:.2f} % of the entries are zero\n", x.shape(), y.shape(), 100 * share);
    fmt::print("the others differ from (x + code) / 0.9 by {:.1e} at most\n", worst);
    fmt::print("first entries: x {:.4f}, y {:.4f}\n", fmt::join(x.values().first(4), " "),
               fmt::join(y.values().first(4), " "));
    results.set("zeros", 100 * share);
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
    // At the same training step the same elements are dropped; y is linear in the table.
    const auto forward = [&] { return positions.forward(x, &cache); };
    const GradientError error =
        check_gradient(forward, positions.table.value, positions.table.grad(), dy, /*step=*/0.5);
    fmt::print("{} entries, worst: {}\n", error.checked, to_string(error));
    fmt::print("sums of the gradient's rows: {:.3f}\n",
               fmt::join(matrix(positions.table.grad()).rowwise().sum().eval(), " "));
    results.set_varying("gradient_error", error.relative);
}
// [unsqueeze]
void show_unsqueeze() {
    section("Unsqueeze");
    const Ids x({4}, {1, 2, 3, 4});
    fmt::print("axis 0: {} becomes {}\naxis 1: {} becomes {}\n", x.shape(),
               x.reshape({1, 4}).shape(), x.shape(), x.reshape({4, 1}).shape());
}
// [one counter]
/// Dropout with one call of Philox for every four elements.
Tensor drop_by_fours(const Tensor& x, Real p, std::uint64_t seed) {
    Tensor y(x.shape());
    parallel_ranges(x.size(), 1 << 12, [&](Index begin, Index end) {
        std::array<std::uint32_t, 4> words{};
        for (Index i = begin; i < end; ++i) {
            if (i % 4 == 0)  // of the first stream, at step 0
                words = philox({static_cast<std::uint32_t>(i / 4), 0, 0, 0},
                               {static_cast<std::uint32_t>(seed), 0});
            const Real u = static_cast<Real>(words[static_cast<std::size_t>(i % 4)] >> 8) *
                           static_cast<Real>(0x1p-24);
            y.data()[i] = u >= p ? x.data()[i] / (1 - p) : 0;
        }
    });
    return y;
}
// [speed]
void show_speed(Results& results) {
    section("Making it fast");
    const std::uint32_t seed = 1;
    Random random(seed);
    const Dropout dropout(Real(0.1), random);
    const Tensor x = normal({64, 24, 512}, random.stream());
    Tensor plain, fast;
    gain_header("64 sentences of 24 words, 512 columns");
    show_gain(
        "dropout 0.1", "dropout", 25, [&] { plain = drop_by_fours(x, dropout.p(), seed); },
        [&] {
            Dropout::Cache cache;
            fast = dropout.forward(x, &cache);
        },
        results);
    fmt::print("largest difference {:.1e}\n", max_difference(plain, fast));
    results.set_varying("dropout_difference", max_difference(plain, fast));
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Index d_model = 512;
    Program program("Give each position a code, and look at what the code can say.");
    program.app().add_option("--d-model", d_model, "width of the code, an even number");
    return program.run(argc, argv, [&] {
        require(d_model >= 2 && d_model <= 8192 && d_model % 2 == 0,
                "--d-model is {}, expected an even number from 2 to 8192", d_model);
        Results& results = program.results();
        Random random(program.seed());
        show_by_hand();
        show_columns(results);
        show_wavelengths(d_model, results);
        show_dots(d_model, results);
        show_rotation(d_model, results);
        show_single_precision(d_model, results);
        show_mixture(d_model, program.seed(), results);
        show_dropout(random, results);
        show_article(random, results);
        show_learned(random, results);
        show_unsqueeze();
        show_speed(results);
    });
}
