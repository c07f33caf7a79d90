// Per real: products in a core's cache, and those whose operands are put in order first.
#include "lib/fast/lanes.hpp"
#include "lib/fast/product.hpp"
#include "tests/products.hpp"

using namespace abh;

namespace {

/// A matrix of whole numbers from -4 to 4, of which sums of a few thousand products of two are
/// exact in any order; its rows or its columns side by side, with a gap after each.
struct Whole {
    std::vector<Real> numbers;
    Strided matrix;

    Whole(Index rows, Index columns, bool by_columns, std::uint64_t seed, Index gap) {
        const Index lines = by_columns ? columns : rows,
                    length = (by_columns ? rows : columns) + gap;
        Random random(seed);
        const Ids ids = random_ids({lines, length}, -4, 5, random.stream());
        numbers.assign(ids.values().begin(), ids.values().end());
        matrix = Strided::of(numbers.data(), length, by_columns);
    }
};

/// Requires of `multiply` what three loops give, and nothing in the gap between the rows of `c`.
void check_product(void multiply(const Product&), Index m, Index n, Index k, bool a_by_columns,
                   bool b_by_columns, Index gap, Real scale) {
    const Whole a(m, k, a_by_columns, 1, gap), b(k, n, b_by_columns, 2, gap);
    for (const bool add : {false, true}) {
        Tensor c = Tensor::full({m + 1, n + gap}, 3), expected = c.clone();
        Product p{c.data(), n + gap, a.matrix, b.matrix, m, n, k, scale, add};
        multiply(p);
        p.c = expected.data();
        multiply_naively(p);
        CAPTURE(m, n, k, a_by_columns, b_by_columns, gap, scale, add);
        REQUIRE(same_bits(c, expected));
    }
}

}  // namespace

TEST_CASE("a small product is three loops, and touches nothing beside it", "[fast]") {
    for (Index m : {0, 1, 5, 6, 7, 12, 23})
        for (Index n : {lanes, 2 * lanes, 3 * lanes, 5 * lanes})
            for (Index k : {0, 1, 3, 67})
                for (bool transposed : {false, true})
                    for (Index gap : {0, 5})
                        check_product(small_matmul, m, n, k, transposed, false, gap, 1);
}

TEST_CASE("a packed product is three loops, and touches nothing beside it", "[fast]") {
    const Index sizes[][3] = {
        {0, 3, 5},     {3, 0, 5},    {3, 5, 0},    {1, 1, 1},    {6, 16, 16},    {5, 15, 17},
        {7, 17, 15},   {13, 64, 33}, {50, 80, 31}, {47, 127, 9}, {49, 129, 9},   {11, 300, 512},
        {11, 20, 513}, {480, 16, 7}, {483, 16, 7}, {961, 1, 20}, {262, 280, 520}};
    for (const auto& [m, n, k] : sizes)
        for (const bool a_by_columns : {false, true})
            for (const bool b_by_columns : {false, true})
                for (const Real scale : {Real(1), Real(2)})
                    check_product(packed_matmul, m, n, k, a_by_columns, b_by_columns, 3, scale);
}

TEST_CASE("a part of a packed product has the bits of the whole", "[fast]") {
    constexpr Index m = 487, n = 131, k = 600;
    const Tensor a = random_tensor({m, k}, 1), b = random_tensor({k, n}, 2);
    for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true}) {
            Tensor whole({m, n}), parts({m, n});
            const Strided left = Strided::of(a.data(), transpose_a ? m : k, transpose_a),
                          right = Strided::of(b.data(), transpose_b ? k : n, transpose_b);
            Product p{whole.data(), n, left, right, m, n, k, Real(0.3)};
            packed_matmul(p);
            p.c = parts.data();
            const Index rows[] = {0, 5, 100, m}, columns[] = {0, 1, 40, n};
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j)
                    packed_matmul(p.block(rows[i], columns[j], rows[i + 1] - rows[i],
                                          columns[j + 1] - columns[j]));
            CAPTURE(transpose_a, transpose_b);
            REQUIRE(same_bits(parts, whole));
        }
}
