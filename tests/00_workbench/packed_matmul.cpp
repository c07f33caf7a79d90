// Per real: products whose operands are put in order first.
#include "lib/fast/packed_matmul.hpp"

#include "tests/products.hpp"

using namespace abh;

TEST_CASE("a packed product is three loops, and touches nothing beside it", "[fast]") {
    const Index sizes[][3] = {{0, 3, 5},     {3, 0, 5},    {3, 5, 0},    {1, 1, 1},
                              {6, 16, 16},   {5, 15, 17},  {7, 17, 15},  {13, 64, 33},
                              {50, 80, 31},  {47, 127, 9}, {49, 129, 9}, {11, 300, 512},
                              {11, 20, 513}, {480, 16, 7}, {483, 16, 7}, {961, 1, 20}};
    for (const auto& [m, n, k] : sizes)
        for (const bool a_by_columns : {false, true})
            for (const bool b_by_columns : {false, true})
                for (const bool add : {false, true})
                    for (const Real scale : {Real(1), Real(2)}) {
                        const Whole a(m, k, a_by_columns, 1), b(k, n, b_by_columns, 2);
                        const Tensor whole = Tensor::full({m + 1, n + 5}, 3);
                        Tensor c = whole.clone();
                        CAPTURE(m, n, k, a_by_columns, b_by_columns, add, scale);
                        packed_matmul({c.data(), n + 5, a.matrix, b.matrix, m, n, k, scale, add});
                        REQUIRE(
                            same_bits(c, product(a.matrix, b.matrix, whole, m, n, k, scale, add)));
                    }
}

TEST_CASE("a large packed product is three loops wherever its lines begin", "[fast]") {
    constexpr Index m = 262, n = 280;  // whole tiles and others
    for (const bool a_by_columns : {false, true})
        for (const bool add : {false, true})
            for (const Index k : {5, 520})
                for (const Index width : {288, 285})
                    for (const Index first : {0, 4, 8}) {
                        const Whole a(m, k, a_by_columns, 1), b(k, n, true, 2);
                        const Tensor before = Tensor::full({m, n}, 3),
                                     outside = Tensor::full({first + m * width}, 3);
                        Tensor c = outside.clone();
                        CAPTURE(a_by_columns, add, k, width, first);
                        packed_matmul(
                            {c.data() + first, width, a.matrix, b.matrix, m, n, k, 1, add});
                        const Tensor expected =
                            product(a.matrix, b.matrix, before, m, n, k, 1, add);
                        Index wrong = 0;
                        for (Index at = 0; at < c.size(); ++at) {
                            const Index i = (at - first) / width, j = (at - first) % width;
                            const bool inside = at >= first && j < n;
                            wrong += c(at) != (inside ? expected(i, j) : 3);
                        }
                        REQUIRE(wrong == 0);
                    }
}

TEST_CASE("a part of a packed product has the bits of the whole", "[fast]") {
    constexpr Index m = 487, n = 131, k = 600;
    for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true}) {
            const Tensor a = random_tensor({m, k}, 1), b = random_tensor({k, n}, 2);
            Tensor whole({m, n}), parts({m, n});
            Product p{whole.data(),
                      n,
                      Strided::of(a.data(), transpose_a ? m : k, transpose_a),
                      Strided::of(b.data(), transpose_b ? k : n, transpose_b),
                      m,
                      n,
                      k,
                      Real(0.3)};
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
