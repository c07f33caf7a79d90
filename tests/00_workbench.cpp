// Tensor, matrix product, linear map, parameters, gradient check.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/linear.hpp"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

constexpr double eps = std::numeric_limits<Real>::epsilon();

/// Draws tensors, each from a stream of its own.
struct Draw {
    Random random{7};
    Tensor operator()(const Shape& shape) { return normal(shape, random.stream()); }
};

/// Three loops, sums in double: what `matmul` is compared with.
Tensor naive_matmul(const Tensor& a, const Tensor& b, MatmulOptions o) {
    const Tensor A = o.transpose_a ? transpose(a) : a, B = o.transpose_b ? transpose(b) : b;
    const Index m = A.dim(-2), k = A.dim(-1), n = B.dim(-1);
    const Shape shape = A.shape().with(-1, n);
    Tensor c = Tensor::zeros(shape);
    for (Index p = 0; p * m * n < c.size(); ++p)
        for (Index i = 0; i < m; ++i)
            for (Index j = 0; j < n; ++j) {
                double sum = 0;
                for (Index l = 0; l < k; ++l)
                    sum += static_cast<double>(A.data()[(p * m + i) * k + l]) *
                           static_cast<double>(B.data()[(p * k + l) * n + j]);
                c.data()[(p * m + i) * n + j] =
                    static_cast<Real>(static_cast<double>(o.scale) * sum);
            }
    return c;
}

/// The operands of a product `[batch..., m, k] [batch..., k, n]` as the options want them.
std::pair<Tensor, Tensor> operands(Draw& draw, std::vector<Index> batch, Index m, Index k, Index n,
                                   MatmulOptions o) {
    const auto shape = [&](Index rows_, Index columns) {
        std::vector<Index> sizes = batch;
        sizes.insert(sizes.end(), {rows_, columns});
        return Shape(std::span<const Index>(sizes));
    };
    return {draw(o.transpose_a ? shape(k, m) : shape(m, k)),
            draw(o.transpose_b ? shape(n, k) : shape(k, n))};
}

const MatmulOptions all_forms[] = {
    {false, false, 1}, {true, false, 1}, {false, true, Real(0.5)}, {true, true, -2}};

}  // namespace

// Tensor ------------------------------------------------------------

TEST_CASE("a shape knows its rank, sizes and number of elements") {
    const Shape shape{2, 7, 12};
    REQUIRE(to_string(shape) == "[2, 7, 12]");
    REQUIRE(fmt::format("{}", shape) == "[2, 7, 12]");
    REQUIRE(shape.rank() == 3);
    REQUIRE(shape.size() == 168);
    REQUIRE(shape[-1] == 12);
    REQUIRE(shape[0] == 2);
    REQUIRE(Shape{}.size() == 1);
    REQUIRE(to_string(Shape{}) == "[]");
    REQUIRE(Shape{3, 0, 5}.size() == 0);
    REQUIRE(shape.with(-1, 5) == Shape{2, 7, 5});
    REQUIRE(Shape{2, 1} != Shape{2});
    REQUIRE(rows(shape) == 14);
    REQUIRE(rows(Shape{5}) == 1);
}

TEST_CASE("a shape that cannot be is refused with its values") {
    REQUIRE_THROWS_WITH((Shape{2, -3}), "shape: negative size -3");
    REQUIRE_THROWS_WITH((Shape{1, 2, 3, 4, 5}), "shape: rank 5, at most 4 is possible");
    REQUIRE_THROWS_WITH((Shape{Index{1} << 40, Index{1} << 40}), Contains("too many elements"));
    REQUIRE_THROWS_WITH((Shape{2, 3}[2]), "shape: no axis 2 in [2, 3]");
    REQUIRE_THROWS_WITH((Shape{2, 3}[-3]), "shape: no axis -3 in [2, 3]");
    REQUIRE_THROWS_AS((Shape{2, 3}.with(2, 1)), std::out_of_range);
    REQUIRE_THROWS_AS((Shape{2, 3}.with(0, -1)), std::invalid_argument);
}

TEST_CASE("a copy of a tensor shares its elements and a clone does not") {
    Tensor a({2, 3}, {1, 2, 3, 4, 5, 6});
    Tensor copy = a, clone = a.clone(), view = a.reshape({3, 2});
    a(1, 0) = 40;
    REQUIRE(copy(1, 0) == 40);
    REQUIRE(view(1, 1) == 40);
    REQUIRE(clone(1, 0) == 4);
    REQUIRE_THROWS_WITH(a.reshape({4, 2}), "reshape: [2, 3] cannot become [4, 2]");
    REQUIRE_THROWS_WITH(Tensor({2}, {1, 2, 3}), "tensor: 3 values for shape [2]");
}

TEST_CASE("rows of a tensor share its elements, and a clone of them is theirs alone") {
    Tensor x({4, 2, 3});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<Real>(i);
    Tensor middle = x.rows(1, 3);
    REQUIRE(middle.shape() == Shape{2, 2, 3});
    REQUIRE(middle(0, 0, 0) == 6);
    REQUIRE(middle(1, 1, 2) == 17);
    middle(0, 1, 0) = 99;
    REQUIRE(x(1, 1, 0) == 99);
    Tensor own = middle.rows(1, 2).clone();
    REQUIRE(own.shape() == Shape{1, 2, 3});
    REQUIRE(own(0, 0, 0) == 12);
    own.fill(0);
    REQUIRE(x(2, 0, 0) == 12);
    middle += Tensor::full(middle.shape(), 1);
    REQUIRE(x.rows(2, 3).clone()(0, 0, 0) == 13);  // on a device, of what was written there
    REQUIRE(x(0, 1, 2) == 5);
    REQUIRE(x(1, 0, 0) == 7);
    REQUIRE(x(2, 1, 2) == 18);
    REQUIRE(x(3, 0, 0) == 18);
    REQUIRE(x.rows(4, 4).clone().empty());
    REQUIRE(x.rows(0, 4).is(x));
    REQUIRE_FALSE(x.rows(0, 2).is(x.rows(2, 4)));
    REQUIRE_FALSE(x.is(x.clone()));
    REQUIRE_FALSE(x.is(x.reshape({4, 6})));
    REQUIRE_THROWS_WITH(x.rows(3, 5), "rows: no 3 to 5 in [4, 2, 3]");
    REQUIRE_THROWS_WITH(x.rows(2, 1), "rows: no 2 to 1 in [4, 2, 3]");
}

TEST_CASE("tensors may be empty or a single number") {
    REQUIRE(Tensor().shape() == Shape{0});
    REQUIRE(Tensor().clone().size() == 0);
    REQUIRE(Tensor(Shape{}, {3})() == 3);
    REQUIRE(Tensor::zeros({2, 0}).reshape({0, 7}).shape() == Shape{0, 7});
    REQUIRE(max_difference(Tensor::zeros({0}), Tensor()) == 0);
}

#ifdef ABH_CHECK_MEMORY
TEST_CASE("in test builds a wrong index throws and fresh memory is full of NaN") {
    const Tensor t({2, 3});
    REQUIRE(std::isnan(t(1, 2)));
    REQUIRE_THROWS_AS(t(2, 0), std::out_of_range);
    REQUIRE_THROWS_AS(t(0, -1), std::out_of_range);
    REQUIRE_THROWS_AS(t(0), std::out_of_range);
    REQUIRE_THROWS_AS(t(0, 0, 0), std::out_of_range);
}
#endif

TEST_CASE("memory is aligned to 64 bytes") {
    for (Index n : {0, 1, 3, 1000})
        REQUIRE(reinterpret_cast<std::uintptr_t>(Tensor(Shape{n}).data()) % 64 == 0);
}

TEST_CASE("element-wise arithmetic checks shapes") {
    Tensor a({2}, {1, 2});
    const Tensor b({2}, {10, 20});
    REQUIRE(max_difference(a + b, Tensor({2}, {11, 22})) == 0);
    a += b;
    a *= 2;
    REQUIRE(max_difference(a, Tensor({2}, {22, 44})) == 0);
    REQUIRE(dot(a, b) == 1100);
    REQUIRE_THROWS_WITH(a + Tensor::zeros({3}),
                        "operator+: right side has shape [3], expected [2]");
    REQUIRE_THROWS_AS(a += Tensor::zeros({2, 1}), std::invalid_argument);
    REQUIRE_THROWS_AS(dot(a, Tensor::zeros({1, 2})), std::invalid_argument);
}

TEST_CASE("a difference that is not a number is the largest") {
    const Real nan = std::numeric_limits<Real>::quiet_NaN();
    REQUIRE(std::isnan(max_difference(Tensor({3}, {0, nan, 5}), Tensor::zeros({3}))));
}

TEST_CASE("transpose swaps the last two axes") {
    const Tensor a({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    const Tensor expected({2, 3, 2}, {1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12});
    REQUIRE(transpose(a).shape() == expected.shape());
    REQUIRE(max_difference(transpose(a), expected) == 0);
    REQUIRE(transpose(Tensor::zeros({3, 0})).shape() == Shape{0, 3});
    REQUIRE_THROWS_WITH(transpose(Tensor::zeros({3})), Contains("expected rank >= 2"));
}

// Matrix product ------------------------------------------------------------

TEST_CASE("matmul equals three loops in all four forms, batched, for odd sizes") {
    Draw draw;
    const Index sizes[][3] = {{1, 1, 1}, {1, 7, 1},    {1, 5, 9},     {9, 5, 1},    {3, 5, 2},
                              {7, 1, 9}, {33, 65, 17}, {131, 70, 67}, {2, 3, 1030}, {519, 3, 5}};
    const std::vector<Index> batches[] = {{}, {3}, {2, 2}};
    for (const auto& [m, k, n] : sizes)
        for (const std::vector<Index>& batch : batches)
            for (const MatmulOptions& o : all_forms) {
                const auto [a, b] = operands(draw, batch, m, k, n, o);
                const Tensor c = matmul(a, b, o), expected = naive_matmul(a, b, o);
                CAPTURE(a.shape(), b.shape(), o.transpose_a, o.transpose_b);
                REQUIRE(c.shape() == expected.shape());
                // k products of normal numbers (each below 20), each sum rounded once
                REQUIRE(max_difference(c, expected) <= 20 * static_cast<double>(k) * eps);
            }
}

TEST_CASE("a product without inner elements is zero and one without rows is empty") {
    REQUIRE(max_difference(matmul(Tensor({2, 0}), Tensor({0, 3})), Tensor::zeros({2, 3})) == 0);
    REQUIRE(matmul(Tensor({0, 2}), Tensor::zeros({2, 3})).shape() == Shape{0, 3});
    REQUIRE(matmul(Tensor({0, 4, 2}), Tensor({0, 2, 3})).shape() == Shape{0, 4, 3});
}

TEST_CASE("add_matmul adds to what is there") {
    Draw draw;
    for (const MatmulOptions& o : all_forms) {
        const auto [a, b] = operands(draw, {2}, 70, 9, 66, o);
        const Tensor before = draw({2, 70, 66});
        Tensor c = before.clone();
        add_matmul(c, a, b, o);
        REQUIRE(max_difference(c, before + matmul(a, b, o)) <= 20 * 9 * eps);
    }
    Tensor c = Tensor::zeros({3, 2});
    REQUIRE_THROWS_WITH(add_matmul(c, Tensor::zeros({2, 4}), Tensor::zeros({4, 2})),
                        "matmul: result has shape [3, 2], expected [2, 2]");
}

TEST_CASE("a product with few rows is that of many") {
    Draw draw;
    for (bool transpose_b : {false, true})
        for (Index m : {1, 2, 3, 4, 5, 16, 17, 33, 40, 64})
            for (const auto& [k, n] :
                 {std::pair<Index, Index>{128, 128}, {131, 203}, {300, 70}, {7, 4099}, {4099, 7}})
                for_threads([&, k = k, n = n](int) {
                    const MatmulOptions o{.transpose_b = transpose_b, .scale = Real(-0.5)};
                    const auto [a, b] = operands(draw, {}, m, k, n, o);
                    const Tensor start = draw({m, n});
                    // in a batch of two the general code does the work
                    Tensor twice_a({2, m, k}), twice_b({2, b.dim(0), b.dim(1)});
                    for (Index i = 0; i < 2; ++i) {
                        std::copy_n(a.data(), a.size(), &twice_a(i, 0, 0));
                        std::copy_n(b.data(), b.size(), &twice_b(i, 0, 0));
                    }
                    Tensor expected({m, n}), sum = start.clone();
                    std::copy_n(matmul(twice_a, twice_b, o).data(), m * n, expected.data());
                    // k sums, each up to a few roots of k and rounded by half an epsilon of it up
                    // or down: the roundings add up to another root of k of them
                    const double close = (20 + static_cast<double>(k)) * eps;
                    CAPTURE(transpose_b, m, k, n);
                    REQUIRE(max_difference(matmul(a, b, o), expected) <= close);
                    add_matmul(sum, a, b, o);
                    REQUIRE(max_difference(sum, start + expected) <= close);
                });
}

TEST_CASE("a transposed factor with long rows is multiplied whole") {
    Draw draw;
    for (const auto& [m, k] : {std::pair<Index, Index>{1024, 193}, {1100, 400}, {1023, 200}}) {
        const Tensor a = draw({k, m}), b = draw({k, 20}), start = draw({m, 20});
        Tensor turned({m, k});
        matrix(turned) = matrix(a).transpose();
        const MatmulOptions o{.transpose_a = true, .scale = 2};
        for_threads([&, k = k](int) {
            const Tensor expected = matmul(turned, b, {.scale = 2});
            const double close =
                2 * (20 + static_cast<double>(k)) * eps;  // as above, and the scale
            REQUIRE(max_difference(matmul(a, b, o), expected) <= close);
            Tensor sum = start.clone();
            add_matmul(sum, a, b, o);
            REQUIRE(max_difference(sum, start + expected) <= close);
        });
    }
}

TEST_CASE("products that are made together are those that are made one by one") {
    Draw draw;
    // few rows, very few, many, and so many that oneDNN multiplies
    for (const auto& [m, k, n] :
         {std::tuple{20, 130, 140}, {3, 130, 140}, {33, 5, 7}, {90, 70, 80}})
        for (const bool transpose_b : {false, true}) {
            const MatmulOptions o{.transpose_b = transpose_b, .scale = 2};
            const auto right = [&, k = k, n = n] {
                return transpose_b ? draw({n, k}) : draw({k, n});
            };
            const Tensor x = draw({m, k}), y = draw({m, k}), a = right(), b = right(), c = right();
            // three products, each twice as large for the scale
            const double close = (20 + static_cast<double>(k)) * 6 * eps;
            for_threads([&](int) {
                std::array<Tensor, 3> results;
                matmul_together(results, std::array<MatmulTerm, 3>{{{&x, &a}, {&x, &b}, {&y, &c}}},
                                o);
                REQUIRE(same_bits(results[0], matmul(x, a, o)));
                REQUIRE(same_bits(results[1], matmul(x, b, o)));
                REQUIRE(same_bits(results[2], matmul(y, c, o)));
                const Tensor sum =
                    sum_of_products(std::array<MatmulTerm, 3>{{{&x, &a}, {&y, &b}, {&x, &c}}}, o);
                const Tensor expected = matmul(x, a, o) + matmul(y, b, o) + matmul(x, c, o);
                REQUIRE(max_difference(sum, expected) <= close);
            });
        }
    const Tensor x = draw({3, 4}), a = draw({4, 5}), b = draw({4, 6});
    std::array<Tensor, 5> five;
    std::array<MatmulTerm, 5> terms;
    terms.fill({&x, &a});
    const auto two = std::span(five).first(2);
    REQUIRE_THROWS_WITH(matmul_together(two, std::array<MatmulTerm, 2>{{{&x, &a}, {&x, &b}}}),
                        "matmul: products of different sizes, [3, 5] with inner size 4 and [3, 6] "
                        "with 4");
    REQUIRE_THROWS_WITH(matmul_together(five, terms),
                        "matmul: 5 results of 5 products, expected 1 to 4");
    REQUIRE_THROWS_WITH(matmul_together(two, std::span(terms).first(3)),
                        "matmul: 2 results of 3 products, expected 1 to 4");
    REQUIRE_THROWS_WITH(sum_of_products(terms), "matmul: a sum of 5 products, expected 1 to 4");
}

TEST_CASE("linear maps of one input, together, are what they are one by one") {
    Random random(3);
    Linear f(40, 30, true, random), g(40, 30, true, random), f2 = f, g2 = g;
    for (Linear* map : {&f2, &g2}) {
        map->weight = Parameter(map->weight.value.clone());
        map->bias = Parameter(map->bias.value.clone());
    }
    const Tensor x = random_tensor({2, 7, 40}, 4), dy = random_tensor({2, 7, 30}, 5),
                 dz = random_tensor({2, 7, 30}, 6);
    Linear::Cache of_f, of_g, of_f2, of_g2;
    std::array<Tensor, 2> together;
    Linear::forward_together(std::array<const Linear*, 2>{&f, &g}, x, std::array{&of_f, &of_g},
                             together);
    REQUIRE(same_bits(together[0], f2.forward(x, &of_f2)));
    REQUIRE(same_bits(together[1], g2.forward(x, &of_g2)));
    const Tensor dx = Linear::backward_together(std::array{&f, &g}, std::array{dy, dz},
                                                std::array<const Linear::Cache*, 2>{&of_f, &of_g});
    const Tensor expected = f2.backward(dy, of_f2) + g2.backward(dz, of_g2);
    REQUIRE(dx.shape() == x.shape());
    REQUIRE(max_difference(dx, expected) <= 100 * eps);  // sums of sixty terms in another order
    std::array<const Linear*, 5> five{&f, &g, &f, &g, &f};
    std::array<Linear::Cache*, 5> caches{};
    std::array<Tensor, 5> results;
    REQUIRE_THROWS_WITH(
        Linear::forward_together(five, x, caches, results),
        "linear: 5 maps together with 5 caches and 5 tensors, expected 1 to 4 of each");
    REQUIRE_THROWS_WITH(
        Linear::forward_together(std::span(five).first(2), x, std::span(caches).first(1),
                                 std::span(results).first(2)),
        "linear: 2 maps together with 1 caches and 2 tensors, expected 1 to 4 of each");
    for (const auto& [one, other] : {std::pair{&f, &f2}, {&g, &g2}}) {
        REQUIRE(same_bits(one->weight.grad(), other->weight.grad()));
        REQUIRE(same_bits(one->bias.grad(), other->bias.grad()));
    }
}

TEST_CASE("rows of a product are those of the whole") {
    Draw draw;
    const Tensor a = draw({9, 21}), b = draw({9, 50});
    const MatmulOptions o{.transpose_a = true, .scale = 2};
    const Tensor whole = matmul(a, b, o);  // [21, 50]
    for (const bool add : {false, true}) {
        Tensor rows = Tensor::full({4, 50}, 1);
        matmul_rows(rows.data(), 7, 4, a, b, o, add);
        for (Index r = 0; r < 4; ++r)
            for (Index j = 0; j < 50; ++j)
                REQUIRE(std::abs(rows(r, j) - whole(7 + r, j) - (add ? 1 : 0)) <= 100 * eps);
    }
}

TEST_CASE("a product kept for later is the gradient that is asked for") {
    Draw draw;
    const Tensor dy = draw({3, 40}), x = draw({3, 70}), dy2 = draw({2, 40}), x2 = draw({2, 70});
    const MatmulOptions o{.transpose_a = true};
    const Tensor once = matmul(dy, x, o), twice = once + matmul(dy2, x2, o);  // [40, 70]
    const auto parts = [](Parameter& p) {
        Tensor g = Tensor::full(p.value.shape(), 99);
        const auto copy = [&](Index begin, std::span<const Real> part) {
            std::copy(part.begin(), part.end(), g.data() + begin);
        };
        p.update({copy, std::span(&p.value, 1)});
        return g;
    };
    for_threads([&](int) {
        Parameter p(Tensor::zeros({40, 70}));
        REQUIRE(max_difference(parts(p), Tensor::zeros({40, 70})) == 0);
        p.zero_grad();
        p.add_product(dy, x);
        REQUIRE(max_difference(parts(p), once) <= 20 * eps);
        p.add_product(dy2, x2);
        REQUIRE(max_difference(parts(p), twice) <= 20 * eps);
        REQUIRE(max_difference(parts(p), twice) <= 20 * eps);  // asking changes nothing
        REQUIRE(max_difference(p.grad(), twice) <= 20 * eps);  // multiplied out
        REQUIRE(max_difference(parts(p), twice) <= 20 * eps);
        p.add_product(dy, x);  // on top of what stands there
        REQUIRE(max_difference(parts(p), twice + once) <= 20 * eps);
        p.add_product(dy, x);
        p.zero_grad();  // what was pending is forgotten
        REQUIRE(max_difference(parts(p), Tensor::zeros({40, 70})) == 0);
        p.grad()(0, 0) = 5;
        p.zero_grad();
        p.add_product(dy2, x2);
        REQUIRE(max_difference(p.grad(), matmul(dy2, x2, o)) <= 20 * eps);
    });
    Parameter odd(Tensor::zeros({29, 300}));  // more than a strip, and rests of rows and columns
    const Tensor c = draw({3, 29}), w = draw({3, 300});
    odd.add_product(c, w);
    REQUIRE(max_difference(parts(odd), matmul(c, w, o)) <= 20 * eps);
    Parameter wide(Tensor::zeros({2, 40000}));  // a row is more than a part
    const Tensor d = draw({5, 2}), z = draw({5, 40000});
    wide.add_product(d, z);
    REQUIRE(max_difference(parts(wide), matmul(d, z, o)) <= 20 * eps);
    Parameter tall(Tensor::zeros({3000, 40}));  // several parts
    const Tensor e = draw({5, 3000}), y = draw({5, 40});
    tall.add_product(e, y);
    REQUIRE(max_difference(parts(tall), matmul(e, y, o)) <= 20 * eps);
    REQUIRE_THROWS_WITH(tall.add_product(y, e),
                        "parameter: [5, 40]^T [5, 3000] does not fit a value of shape [3000, 40]");
}

TEST_CASE("shapes that do not fit are named with their transposes") {
    const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape); };
    REQUIRE_THROWS_WITH(matmul(zeros({2, 3}), zeros({2, 3})),
                        "matmul: [2, 3] times [2, 3]: inner sizes differ");
    REQUIRE_THROWS_WITH(matmul(zeros({3, 2}), zeros({2, 4}), {true, true}),
                        "matmul: [3, 2]^T times [2, 4]^T: inner sizes differ");
    REQUIRE_THROWS_WITH(matmul(zeros({2, 3}), zeros({5, 3, 2})), Contains("ranks differ"));
    REQUIRE_THROWS_WITH(matmul(zeros({3}), zeros({3})), Contains("below 2"));
    REQUIRE_THROWS_WITH(matmul(zeros({4, 2, 3}), zeros({5, 3, 2})),
                        Contains("leading axes differ"));
    REQUIRE_THROWS_WITH(matmul_backward(zeros({2, 3}), zeros({2, 3}), zeros({3, 2})),
                        "matmul_backward: dc has shape [2, 3], expected [2, 2]");
}

TEST_CASE("a small product has the same bits for any number of threads") {
    Draw draw;
    for (const MatmulOptions& o : all_forms) {
        // Eigen multiplies, on all threads; a cut in two would leave a single row or column, a
        // product of its own kind
        const auto [a, b] = operands(draw, {3}, 129, 30, 65, o);
        const auto [wide_a, wide_b] = operands(draw, {}, 5, 40, 1057, o);
        const auto [few_a, few_b] = operands(draw, {}, 3, 130, 1057, {.transpose_b = true});
        set_threads(1);
        const Tensor c = matmul(a, b, o), wide = matmul(wide_a, wide_b, o);
        const Tensor few = matmul(few_a, few_b, {.transpose_b = true});
        for_threads([&](int) {
            REQUIRE(same_bits(matmul(a, b, o), c));
            REQUIRE(same_bits(matmul(wide_a, wide_b, o), wide));
            REQUIRE(same_bits(matmul(few_a, few_b, {.transpose_b = true}), few));
        });
    }
}

TEST_CASE("a large product is the same for any number of threads, and bit by bit for each") {
    Draw draw;
    for (const MatmulOptions& o : all_forms) {
        const auto [a, b] = operands(draw, {2}, 321, 70, 67, o);
        const auto [wide_a, wide_b] = operands(draw, {}, 5, 130, 1057, o);
        const auto [tall_a, tall_b] = operands(draw, {}, 1057, 70, 65, o);
        set_threads(1);
        const Tensor c = matmul(a, b, o), wide = matmul(wide_a, wide_b, o);
        const Tensor tall = matmul(tall_a, tall_b, o);
        for_threads([&](int) {
            const Tensor again = matmul(a, b, o), wide_again = matmul(wide_a, wide_b, o);
            const Tensor tall_again = matmul(tall_a, tall_b, o);
            REQUIRE(same_for_threads(c, again, 70));
            REQUIRE(same_for_threads(wide, wide_again, 130));
            REQUIRE(same_for_threads(tall, tall_again, 70));
            REQUIRE(same_bits(matmul(a, b, o), again));
            REQUIRE(same_bits(matmul(wide_a, wide_b, o), wide_again));
            REQUIRE(same_bits(matmul(tall_a, tall_b, o), tall_again));
        });
    }
}

TEST_CASE("the gradients of a product equal central differences in all four forms") {
    if constexpr (in_double) {
        Draw draw;
        for (const std::vector<Index>& batch : {std::vector<Index>{}, {3}, {2, 1}})
            for (const MatmulOptions& o : all_forms) {
                auto [a, b] = operands(draw, batch, 3, 5, 7, o);
                const auto forward = [&, a = a, b = b] { return matmul(a, b, o); };
                const Tensor dc = draw(forward().shape());
                const MatmulGradients g = matmul_backward(dc, a, b, o);
                CAPTURE(a.shape(), b.shape(), o.transpose_a, o.transpose_b);
                REQUIRE(check_gradient(forward, a, g.da, dc).relative < 1e-6);
                REQUIRE(check_gradient(forward, b, g.db, dc).relative < 1e-6);
            }
    }
}

// Linear map ------------------------------------------------------------

TEST_CASE("a linear map multiplies by the transposed weight and adds the bias to every row") {
    Draw draw;
    Linear map(2, 3, true, draw.random);
    map.weight.value = Tensor({3, 2}, {1, 0, 2, -1, 0, 3});
    map.bias.value = Tensor({3}, {1, 0, -1});
    const Tensor x({2, 1, 2}, {1, 2, 3, -1});
    REQUIRE(max_difference(map.forward(x), Tensor({2, 1, 3}, {2, 0, 5, 4, 7, -4})) == 0);
    REQUIRE(map.forward(Tensor({2}, {1, 2})).shape() == Shape{3});

    Linear plain(2, 3, false, draw.random);
    plain.weight.value = map.weight.value;
    REQUIRE(max_difference(plain.forward(x), Tensor({2, 1, 3}, {1, 0, 6, 3, 7, -3})) == 0);
}

TEST_CASE("a linear map names shapes that do not fit") {
    Random random(1);
    Linear map(4, 3, true, random);
    Linear::Cache cache;
    REQUIRE_THROWS_WITH(map.forward(Tensor::zeros({2, 3})),
                        "linear: x has shape [2, 3], expected [..., 4]");
    REQUIRE_THROWS_WITH(map.forward(Tensor::zeros({})),
                        "linear: x has shape [], expected [..., 4]");
    map.forward(Tensor::zeros({2, 4}), &cache);
    REQUIRE_THROWS_WITH(map.backward(Tensor::zeros({2, 4}), cache),
                        "linear backward: dy has shape [2, 4], expected [2, 3]");
    REQUIRE_THROWS_WITH(Linear(0, 3, true, random),
                        "linear: d_in 0 and d_out 3 must be at least 1");
}

TEST_CASE("the gradients of a linear map equal central differences") {
    if constexpr (in_double) {
        Draw draw;
        for (const Shape& shape : {Shape{5}, Shape{7, 5}, Shape{3, 1, 5}, Shape{2, 3, 1, 5}})
            for (bool bias : {true, false}) {
                Linear map(5, 3, bias, draw.random);
                const Tensor x = draw(shape), dy = draw(shape.with(-1, 3));
                Linear::Cache cache;
                map.forward(x, &cache);
                const Tensor dx = map.backward(dy, cache);
                const auto forward = [&] { return map.forward(x); };
                CAPTURE(shape, bias);
                REQUIRE(check_gradient(forward, x, dx, dy).relative < 1e-6);
                REQUIRE(check_gradient(forward, map.weight.value, map.weight.grad(), dy).relative <
                        1e-6);
                if (bias)
                    REQUIRE(check_gradient(forward, map.bias.value, map.bias.grad(), dy).relative <
                            1e-6);
            }
    }
}

TEST_CASE("backward twice gives the same dx, adds the gradients twice and leaves the cache alone") {
    Draw draw;
    Linear map(5, 3, true, draw.random);
    const Tensor x = draw({7, 5}), dy = draw({7, 3}), x_before = x.clone(), dy_before = dy.clone();
    Linear::Cache cache;
    map.forward(x, &cache);
    const Tensor first = map.backward(dy, cache);
    Tensor dW = map.weight.grad().clone(), db = map.bias.grad().clone();
    const Tensor second = map.backward(dy, cache);
    REQUIRE(same_bits(first, second));
    REQUIRE(first.data() != second.data());
    REQUIRE(same_bits(map.weight.grad(), dW *= 2));
    REQUIRE(max_difference(map.bias.grad(), db *= 2) <= 100 * eps);
    REQUIRE(same_bits(cache.x, x_before));
    REQUIRE(same_bits(dy, dy_before));
}

TEST_CASE("linear weights start as in PyTorch, uniform in plus or minus one over root d_in") {
    Random random(3);
    Linear map(64, 512, true, random);
    const double bound = 0.125;
    for (const Tensor& t : {map.weight.value, map.bias.value}) {
        const double n = static_cast<double>(t.size());
        double sum = 0, largest = 0;
        for (Real v : t.values()) {
            sum += static_cast<double>(v);
            largest = std::max(largest, std::abs(static_cast<double>(v)));
        }
        REQUIRE(largest <= bound);
        REQUIRE(largest > bound * (1 - 20 / n));  // missed with probability e^-20
        // five standard errors: variance of the mean is bound^2 / 3n
        REQUIRE(std::abs(sum / n) < 5 * bound / std::sqrt(3 * n));
        // the squares have mean bound^2 / 3 and variance 4 bound^4 / 45
        REQUIRE(std::abs(dot(t, t) / n - bound * bound / 3) <
                5 * bound * bound * std::sqrt(4 / (45 * n)));
    }
}

TEST_CASE("parameters carry the names of PyTorch's state_dict") {
    Random random(1);
    Linear map(4, 3, true, random), plain(4, 3, false, random);
    Parameters list = parameters_of(map, "encoder.0");
    plain.collect(list, "");
    REQUIRE(list.size() == 3);
    REQUIRE(list[0].name == "encoder.0.weight");
    REQUIRE(list[1].name == "encoder.0.bias");
    REQUIRE(list[2].name == "weight");
    REQUIRE(list[0].parameter == &map.weight);
    REQUIRE(count_elements(list) == 12 + 3 + 12);
}

TEST_CASE("gradients start at zero and return there") {
    Parameter a(Tensor::full({2, 2}, 5)), b(Tensor::full({3}, 5));
    const Parameters list{{"a", &a}, {"b", &b}};
    REQUIRE(grad_norm(list) == 0);
    a.grad().fill(2);
    b.grad().fill(-1);
    REQUIRE(grad_norm(list) == Approx(std::sqrt(19)));
    zero_grad(list);
    REQUIRE(grad_norm(list) == 0);
    REQUIRE(a.value(0, 0) == 5);
}

// Gradient check ------------------------------------------------------------

namespace {

/// Relative error of a weight gradient of `map`, at a step that suits `Real`. A linear map has no
/// curvature, so that a long step costs nothing.
double weight_error(Linear& map, const Tensor& x, const Tensor& dW, const Tensor& dy) {
    const double step = in_double ? 1e-5 : 0.0625;
    return check_gradient([&] { return map.forward(x); }, map.weight.value, dW, dy, step).relative;
}

Tensor softmax_rows(const Tensor& x) {
    Tensor y(x.shape());
    matrix(y) = matrix(x).array().exp();
    matrix(y).array().colwise() /= matrix(y).rowwise().sum().eval().array();
    return y;
}

}  // namespace

TEST_CASE("the gradient check finds one element that is off by one part in a hundred thousand") {
    if constexpr (in_double) {
        Draw draw;
        const Tensor a = draw({3, 5}), b = draw({5, 2}), dc = draw({3, 2}), before = a.clone();
        Tensor da = matmul_backward(dc, a, b).da;
        const auto forward = [&] { return matmul(a, b); };
        REQUIRE(check_gradient(forward, a, da, dc).relative < 1e-6);
        REQUIRE(check_gradient(forward, a, da, dc).checked == 15);
        da(1, 2) *= 1 + 1e-5;
        const GradientError error = check_gradient(forward, a, da, dc);
        REQUIRE(error.relative == Approx(1e-5).epsilon(0.01));
        REQUIRE(error.element == 7);
        REQUIRE(to_string(error).rfind("relative 1.0e-05 at element 7 (analytic ", 0) == 0);
        REQUIRE(same_bits(a, before));
    }
}

TEST_CASE("the gradient check asks again with other steps where a kink lies between") {
    if constexpr (in_double) {
        const Tensor x({3}, {1, 3e-6, -1}), c({3}, {2, 3, 4});
        const auto relu = [&] {
            Tensor y(x.shape());
            for (Index i = 0; i < 3; ++i) y(i) = std::max(x(i), Real(0));
            return y;
        };
        const Tensor right({3}, {2, 3, 0}), wrong({3}, {2, 1, 0});
        REQUIRE(check_gradient(relu, x, right, c).relative > 0.1);
        REQUIRE(check_gradient(relu, x, right, c, 1e-5, true).relative < 1e-8);
        REQUIRE(check_gradient(relu, x, wrong, c, 1e-5, true).relative > 0.1);
        REQUIRE(check_gradient(relu, x, right, c, 1e-5, true).checked == 3);
    }
}

TEST_CASE("the gradient check reports what is not a number and passes a gradient of zero") {
    Draw draw;
    const Tensor x = draw({4}), y = draw({4}), c = draw({4});
    Tensor dx = Tensor::zeros({4});
    const auto constant = [&] { return y; };
    REQUIRE(check_gradient(constant, x, dx, c).relative == 0);
    dx(2) = std::numeric_limits<Real>::quiet_NaN();
    REQUIRE(std::isnan(check_gradient(constant, x, dx, c).relative));
    REQUIRE(check_gradient(constant, x, dx, c).element == 2);
    REQUIRE_THROWS_WITH(check_gradient(constant, x, dx, Tensor::zeros({3})),
                        "check_gradient: cotangent has shape [3], expected [4]");
    REQUIRE_THROWS_WITH(check_gradient(constant, x, Tensor::zeros({2, 2}), c),
                        "check_gradient: dx has shape [2, 2], expected [4]");

    // softmax does not change when all scores of a row grow alike: that derivative is zero
    Tensor shift = Tensor::zeros({1});
    const Tensor scores = draw({3, 5}), cotangent = draw({3, 5});
    const auto shifted = [&] {
        Tensor moved = scores.clone();
        vector(moved).array() += shift(0);
        return softmax_rows(moved);
    };
    if constexpr (in_double)
        REQUIRE(check_gradient(shifted, shift, Tensor::zeros({1}), cotangent).relative < 1e-6);
}

TEST_CASE("a cotangent of ones does not see a reshape where a transpose belongs") {
    Draw draw;
    Linear map(5, 3, true, draw.random);
    const Tensor x = draw({7, 5}), ones = Tensor::full({7, 3}, 1), drawn = draw({7, 3});
    const auto right = [&](const Tensor& dy) { return matmul(dy, x, {.transpose_a = true}); };
    const auto wrong = [&](const Tensor& dy) { return matmul(dy.reshape({3, 7}), x); };
    const double small = in_double ? 1e-6 : 1e-2;
    REQUIRE(weight_error(map, x, right(ones), ones) < small);
    REQUIRE(weight_error(map, x, right(drawn), drawn) < small);
    REQUIRE(weight_error(map, x, wrong(ones), ones) < small);
    REQUIRE(weight_error(map, x, wrong(drawn), drawn) > 0.5);
}

TEST_CASE("a cotangent of ones does not see a softmax gradient without its factor y") {
    if constexpr (in_double) {
        Draw draw;
        const Tensor x = draw({3, 5}), y = softmax_rows(x);
        const auto error = [&](const Tensor& dy, bool with_factor) {
            Tensor dx(x.shape());  // dx = y (dy - <dy, y>), row by row
            for (Index r = 0; r < 3; ++r) {
                const double mean = matrix(dy).row(r).dot(matrix(y).row(r));
                for (Index j = 0; j < 5; ++j)
                    dx(r, j) = static_cast<Real>(static_cast<double>(with_factor ? y(r, j) : 1) *
                                                 (static_cast<double>(dy(r, j)) - mean));
            }
            return check_gradient([&] { return softmax_rows(x); }, x, dx, dy).relative;
        };
        const Tensor ones = Tensor::full({3, 5}, 1), drawn = draw({3, 5});
        REQUIRE(error(ones, true) < 1e-6);
        REQUIRE(error(ones, false) < 1e-6);
        REQUIRE(error(drawn, true) < 1e-6);
        REQUIRE(error(drawn, false) > 0.5);
    }
}

TEST_CASE("a right gradient passes the check in double and fails it in float") {
    Draw draw;
    Linear map(5, 3, true, draw.random);
    const Tensor x = draw({7, 5}), dy = draw({7, 3});
    const Tensor dW = matmul(dy, x, {.transpose_a = true});
    const double error =
        check_gradient([&] { return map.forward(x); }, map.weight.value, dW, dy, 1e-5).relative;
    if constexpr (in_double)
        REQUIRE(error < 1e-6);
    else
        REQUIRE(error > 1e-3);
}
