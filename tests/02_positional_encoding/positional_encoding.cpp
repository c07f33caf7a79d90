// Per real and way: sinusoids, learned positions.
#include "chapters/02_positional_encoding/positional_encoding.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "chapters/02_positional_encoding/other_tables.hpp"
#include "lib/eigen.hpp"
#include "lib/matmul.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/operations.hpp"

using namespace abh;

namespace {

/// Entries of both tables are at most 1 in size and rounded once.
constexpr double rounding = std::numeric_limits<Real>::epsilon();

double value_at(const Tensor& table, Index p, Index column) {
    return static_cast<double>(table(p, column));
}

}  // namespace

// The table --------------------------------------------------------------------------------------

TEST_CASE("columns 4 to 7 of a code of width 20 are those of the article's figure") {
    const Tensor code = sinusoid_table(100, 20);
    const double expected[3][4] = {{0, 1, 0, 1},
                                   {0.157826632, 0.987466812, 0.0630538836, 0.998010159},
                                   {0.311697155, 0.950181484, 0.125856832, 0.992048442}};
    // PyTorch computed these with angles in single precision: they are right to 5e-8
    for (Index p = 0; p < 3; ++p)
        for (Index c = 0; c < 4; ++c)
            CHECK(std::abs(value_at(code, p, 4 + c) - expected[p][c]) < 1e-7);
    CHECK(std::abs(2 * std::numbers::pi / sinusoid_frequency(2, 20) - 39.64) < 0.005);
    CHECK(std::abs(2 * std::numbers::pi / sinusoid_frequency(3, 20) - 99.58) < 0.005);
}

TEST_CASE("the toy's heat map has the toy's numbers") {
    const Tensor toy = column_exponent_table(100, 16);
    CHECK(toy.shape() == Shape{100, 16});
    CHECK(matrix(toy).row(0).isZero(0));
    const double row1[8] = {0.841470985,   0.950415280, 0.0998334166,   0.999500042,
                            0.00999983333, 0.999995,    0.000999999833, 0.9999999500};
    const double row99[5] = {-0.999206834, 0.994024221, -0.457535894, -0.999940183, 0.836025979};
    for (Index c = 0; c < 8; ++c) CHECK(std::abs(value_at(toy, 1, c) - row1[c]) < 1e-9 + rounding);
    for (Index c = 0; c < 5; ++c)
        CHECK(std::abs(value_at(toy, 99, c) - row99[c]) < 1e-9 + rounding);
}

TEST_CASE("sine and cosine of a pair share one frequency") {
    const Tensor code = sinusoid_table(200, 16);
    for (Index p = 0; p < 200; ++p)
        for (Index i = 0; i < 8; ++i) {
            const double sine = value_at(code, p, 2 * i), cosine = value_at(code, p, 2 * i + 1);
            CHECK(std::abs(sine * sine + cosine * cosine - 1) < 4 * rounding);
        }
    // the toy's formula fails: its columns 0 and 1 turn at different speeds
    const Tensor toy = column_exponent_table(200, 16);
    CHECK(std::abs(std::pow(value_at(toy, 1, 0), 2) + std::pow(value_at(toy, 1, 1), 2) - 1) > 0.5);
}

TEST_CASE("a shift by k positions turns every pair by k times its frequency") {
    const Tensor code = sinusoid_table(120, 24);
    // entries rounded once; angles below 120 rounded in double precision
    const double bound = 4 * (rounding + 120 * std::numeric_limits<double>::epsilon());
    for (Index k : {1, 7, 60})
        for (Index i = 0; i < 12; ++i) {
            const double angle = static_cast<double>(k) * sinusoid_frequency(i, 24);
            const double c = std::cos(angle), s = std::sin(angle);
            for (Index p = 0; p + k < 120; ++p) {
                const double sine = value_at(code, p, 2 * i), cosine = value_at(code, p, 2 * i + 1);
                CHECK(std::abs(c * sine + s * cosine - value_at(code, p + k, 2 * i)) < bound);
                CHECK(std::abs(c * cosine - s * sine - value_at(code, p + k, 2 * i + 1)) < bound);
            }
        }
}

TEST_CASE("an odd d_model ends with a sine that has no cosine") {
    const Tensor code = sinusoid_table(50, 7);
    CHECK(code.shape() == Shape{50, 7});
    for (Index p = 0; p < 50; ++p) {
        const double angle = static_cast<double>(p) * sinusoid_frequency(3, 7);
        CHECK(std::abs(value_at(code, p, 6) - std::sin(angle)) < rounding);
        CHECK(std::abs(value_at(code, p, 0) - std::sin(static_cast<double>(p))) < rounding);
    }
    CHECK(sinusoid_table(5, 1)(4, 0) == Real(std::sin(4.0)));
}

TEST_CASE("halves hold the interleaved columns in another order") {
    const Tensor code = sinusoid_table(40, 12), halves = sines_then_cosines(40, 12);
    for (Index i = 0; i < 6; ++i) {
        CHECK(matrix(halves).col(i) == matrix(code).col(2 * i));
        CHECK(matrix(halves).col(6 + i) == matrix(code).col(2 * i + 1));
    }
    CHECK_FALSE(same_bits(code, halves));
    // no dot product between positions changes, except in the order of its sum
    CHECK(max_difference(matmul(code, code, {.transpose_b = true}),
                         matmul(halves, halves, {.transpose_b = true})) < 48 * rounding);
    const Tensor odd = sinusoid_table(40, 7), odd_halves = sines_then_cosines(40, 7);
    const Index columns[] = {0, 2, 4, 6, 1, 3, 5};
    for (Index c = 0; c < 7; ++c) CHECK(matrix(odd_halves).col(c) == matrix(odd).col(columns[c]));
}

TEST_CASE("the option chooses the table that is added, the same to every sentence") {
    const Tensor x = random_tensor({2, 5, 6});
    for (Positions kind : {Positions::sinusoid, Positions::sines_then_cosines, Positions::learned,
                           Positions::none}) {
        Random random(3);
        PositionalEncoding positions(6, {.kind = kind, .max_len = 9}, random);
        if (kind == Positions::sinusoid)
            CHECK(same_bits(positions.table.value, sinusoid_table(9, 6)));
        if (kind == Positions::sines_then_cosines)
            CHECK(same_bits(positions.table.value, sines_then_cosines(9, 6)));
        if (kind == Positions::none) CHECK(same_bits(positions.table.value, Tensor::zeros({9, 6})));
        const Tensor y = positions.forward(x);
        for (Index b = 0; b < 2; ++b)
            for (Index t = 0; t < 5; ++t)
                for (Index c = 0; c < 6; ++c)
                    CHECK(y(b, t, c) == x(b, t, c) + positions.table.value(t, c));
        CHECK(parameters_of(positions).size() == (kind == Positions::learned ? 1u : 0u));
    }
}

// The layer --------------------------------------------------------------------------------------

TEST_CASE("a word that comes alone gets the code of its position") {
    Random random(5);
    const PositionalEncoding positions(6, {.max_len = 9}, random);
    const Tensor x = random_tensor({1, 9, 6});
    const Tensor all = positions.forward(x);
    for (Index l = 0; l < 9; ++l) {
        Tensor word({1, 1, 6});
        vector(word) = matrix(x).row(l).transpose();
        CHECK(matrix(positions.forward(word, nullptr, l)).row(0) == matrix(all).row(l));
    }
}

TEST_CASE("the gradient of a learned table equals central differences, and adds up") {
    for (Index first : {0, 2}) check_trial(proof::positions(Positions::learned, Real(0.2), first));
}

TEST_CASE("a learned row gets the sum of its gradients over the sentences") {
    Random random(7);
    PositionalEncoding positions(2, {.kind = Positions::learned, .max_len = 3}, random);
    PositionalEncoding::Cache cache;
    positions.forward(Tensor::zeros({2, 2, 2}), &cache);
    Tensor dy({2, 2, 2});  // two sentences of two words: (1, 2), (3, 4) and (5, 6), (7, 8)
    for (Index i = 0; i < dy.size(); ++i) dy.data()[i] = static_cast<Real>(i + 1);
    CHECK(same_bits(positions.backward(dy, cache), dy));
    const Real expected[6] = {1 + 5, 2 + 6, 3 + 7, 4 + 8, 0, 0};
    for (Index i = 0; i < 6; ++i) CHECK(positions.table.grad().data()[i] == expected[i]);
}

TEST_CASE("positions say what is wrong with their input") {
    Random random(1);
    PositionalEncoding positions(6, {.max_len = 9}, random);
    CHECK_THROWS_WITH(positions.forward(Tensor::zeros({2, 10, 6})),
                      "positional encoding: positions 0 to 9 requested, but the table has 0 to 8");
    CHECK_THROWS_WITH(positions.forward(Tensor::zeros({2, 1, 6}), nullptr, 9),
                      "positional encoding: positions 9 to 9 requested, but the table has 0 to 8");
    CHECK_THROWS_AS(positions.forward(Tensor::zeros({2, 1, 6}), nullptr, -1),
                    std::invalid_argument);
    CHECK_THROWS_WITH(positions.forward(Tensor::zeros({2, 9, 5})),
                      "positional encoding: x has shape [2, 9, 5], expected [B, L, 6]");
    CHECK_THROWS_WITH(PositionalEncoding(6, {.max_len = 0}, random),
                      "positional encoding: 0 positions of width 6; both must be at least 1");
    CHECK_THROWS_WITH(PositionalEncoding(6, {.dropout = Real(1.5)}, random),
                      "dropout: p is 1.5, expected 0 <= p < 1");
    PositionalEncoding::Cache cache;
    positions.forward(Tensor::zeros({2, 3, 6}), &cache);
    CHECK_THROWS_WITH(
        positions.backward(Tensor::zeros({2, 4, 6}), cache),
        Contains("positional encoding backward") && Contains("[2, 4, 6]") && Contains("[2, 3, 6]"));
}

// The ways ---------------------------------------------------------------------------------------

TEST_CASE("every way of adding positions has plain's numbers") {
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{3, 31, 33}, Shape{2, 0, 6}, Shape{0, 4, 6},
                               Shape{7, 33, 8}, Shape{2, 5, 257}})
        for (Index first : {0, 3}) {
            CAPTURE(to_string(shape), first);
            const Tensor x = random_tensor(shape, 2), dx = random_tensor(shape, 3);
            same_in_every_way(
                [&] {
                    const Tensor table = random_tensor({40, shape[2]}, 4);
                    Tensor dtable = random_tensor({40, shape[2]}, 5);  // is added to
                    PositionsCache cache;
                    const Tensor y = add_positions(x, table, first, &cache);
                    add_positions_backward(dtable, dx, cache);
                    return std::vector{y, dtable};
                },
                0);
        }
}
