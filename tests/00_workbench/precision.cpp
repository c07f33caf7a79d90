// Per real and way: numbers in 16 and 8 bits, and products of them.
#include "lib/precision.hpp"

#include <bit>
#include <cmath>

#include "lib/linear.hpp"
#include "lib/matmul.hpp"
#include "tests/devices.hpp"
#include "tests/products.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();
constexpr Real not_a_number = std::numeric_limits<Real>::quiet_NaN();

Tensor absolute(const Tensor& x) {
    Tensor y = x.clone();
    for (Real& v : y.values()) v = std::abs(v);
    return y;
}

/// Requires that no element of `found` is farther from that of `expected` than `bound` allows.
void check_within(const Tensor& found, const Tensor& expected, const Tensor& bound) {
    REQUIRE(found.shape() == expected.shape());
    bool within = true;
    for (Index i = 0; i < found.size(); ++i)
        within &= std::abs(found.data()[i] - expected.data()[i]) <= bound.data()[i];
    CHECK(within);
}

/// The plain product `x W^T + b` of operands that are rounded first.
Tensor plain_linear(const Tensor& x, const Linear& map, Precision precision) {
    const ScopedWay plain(Way::plain);
    Linear other = map;
    other.weight = Parameter(rounded(map.weight.value, precision));
    return other.forward(rounded(x, precision));
}

/// Whether the way multiplies in bf16.
bool multiplies_in_bf16() {
    return !in_double && (way() == Way::cuda || (way() == Way::fast && has_bf16()));
}

}  // namespace

TEST_CASE("bf16 rounds to the nearest, a tie to the even one, and keeps infinities and NaN") {
    const Tensor x({9}, {1, 1 + 0x1p-8f, 1 + 0x3p-8f, 1 + 0x1.02p-8f, -3, 0x1.ffp127f, infinity,
                         -infinity, not_a_number}),
        y = rounded(x, Precision::bf16);
    const Tensor expected(
        {9}, {1, 1, 1 + 0x4p-8f, 1 + 0x2p-8f, -3, infinity, infinity, -infinity, not_a_number});
    CHECK(agree(expected, y, 0));
}

TEST_CASE("in 8 bits, the numbers of a row are up to half a step of its scale away") {
    const Tensor x({4, 3}, {1, -127, 2.4f, 0, 0, 0, 1, infinity, 0, not_a_number, 1, 2});
    const Tensor y = rounded(x, Precision::int8);
    CHECK(agree(Tensor({4, 3}, {1, -127, 2, 0, 0, 0, not_a_number, not_a_number, not_a_number,
                                not_a_number, not_a_number, not_a_number}),
                y, 0));
    const Tensor many = random_tensor({5, 301});
    Tensor half_step(many.shape());
    for (Index r = 0; r < many.dim(0); ++r) {
        Real largest = 0;
        for (Index i = 0; i < many.dim(1); ++i) largest = std::max(largest, std::abs(many(r, i)));
        for (Index i = 0; i < many.dim(1); ++i)
            half_step(r, i) = largest / 127 * (Real(0.5) + 200 * static_cast<Real>(eps));
    }
    check_within(rounded(many, Precision::int8), many, half_step);
}

TEST_CASE("a precision that a way does not have is refused by name") {
    for (const Precision p : {Precision::bf16, Precision::int8}) {
        if (!in_double && (way() == Way::fast || (on_cuda() && p == Precision::bf16))) {
            const ScopedPrecision scoped(p);
            CHECK(precision() == p);
        } else {
            const std::string refused = fmt::format("precision {}: ", to_string(p));
            CHECK_THROWS_WITH(set_precision(p), Contains(refused));
            if (p == Precision::bf16)
                CHECK_THROWS_WITH(choose_precision("bf16"), Contains(refused));
        }
    }
    CHECK(precision() == Precision::single);
    CHECK_THROWS_WITH(choose_precision("half"),
                      "precision: 'half' is unknown, expected float, bf16 or auto");
    CHECK(choose_precision("float").empty());
}

#ifndef ABH_DOUBLE
TEST_CASE("all floats are rounded to bf16 alike in every way") {
    if (way() == Way::plain) return;  // which keeps none
    Tensor all({1 << 16, 4});
    for (std::uint32_t upper = 0; upper < 1 << 16; ++upper)
        for (Index i = 0; const std::uint32_t lower : {0x0u, 0x7fffu, 0x8000u, 0x8001u})
            all(upper, i++) = std::bit_cast<float>(upper << 16 | lower);
    const Tensor x = all;  // of which no element is written from here on
    const Tensor expected = rounded(x, Precision::bf16);
    const Tensor found = as_read_in_bf16(x);
    Index wrong = 0;
    for (Index i = 0; i < x.size(); ++i) {
        const float y = found.data()[i], e = expected.data()[i];
        const bool tiny = std::abs(x.data()[i]) < std::numeric_limits<float>::min();
        wrong += std::isnan(e) ? !std::isnan(y) : !tiny && y != e;
    }
    CHECK(wrong == 0);
}

TEST_CASE("large products in bf16 are those of rounded operands, and on a device all are") {
    if (!multiplies_in_bf16()) return;  // all products are in single precision
    Draw draw;
    std::vector<std::array<Index, 3>> sizes{
        {131, 130, 133}, {70, 1025, 67}, {65, 512, 70}, {300, 64, 129}};
    if (on_cuda()) sizes.insert(sizes.end(), {{1, 130, 7}, {3, 1, 5}, {9, 17, 1}});
    for (const auto& [m, k, n] : sizes)
        for (const MatmulOptions& o : all_forms) {
            if (o.scale != 1 && !on_cuda()) continue;
            std::vector<Index> batch;
            if (on_cuda() && o.transpose_b) batch = {3};
            const auto [a, b] = operands(draw, batch, m, k, n, o);
            const Tensor expected =
                naive_matmul(rounded(a, Precision::bf16), rounded(b, Precision::bf16), o);
            const double close = std::abs(o.scale) * (20 + 2 * static_cast<double>(k)) * eps;
            const ScopedPrecision scoped(Precision::bf16);
            for_threads([&, &left = a, &right = b](int) {
                Tensor c = matmul(left, right, o);
                REQUIRE(max_difference(c, expected) <= close);
                add_matmul(c, left, right, o);
                REQUIRE(max_difference(c, expected + expected) <= 2 * close);
            });
            const Tensor again = matmul(a, b, o);
            CHECK(max_difference(again, naive_matmul(a, b, o)) > 0);
        }
}

TEST_CASE("an infinity and a NaN pass a product in bf16 as they pass one in single precision") {
    if (!multiplies_in_bf16()) return;
    Tensor x = random_tensor({70, 140}), w = random_tensor({150, 140});
    x(3, 5) = infinity;
    x(4, 6) = not_a_number;
    w(7, 8) = -infinity;
    const auto kinds = [&] {
        Tensor y = matmul(x, w, {.transpose_b = true});
        for (Real& v : y.values()) v = std::isfinite(v) ? 0 : v;
        return y;
    };
    const Tensor expected = kinds();
    const ScopedPrecision scoped(Precision::bf16);
    CHECK(agree(expected, kinds(), 0));
}

TEST_CASE("what a linear map and its backward lose in bf16 is bounded") {
    if (!multiplies_in_bf16()) return;  // all products are in single precision
    Random random(3);
    Linear map(130, 133, true, random);
    const Tensor x = random_tensor({131, 130}, 1), dy = random_tensor({131, 133}, 2);
    const auto run = [&] {
        Linear::Cache cache;
        zero_grad(parameters_of(map));
        const Tensor y = map.forward(x, &cache), dx = map.backward(dy, cache);
        return std::vector{y, dx, map.weight.grad().clone(), map.bias.grad().clone()};
    };
    const std::vector<Tensor> exact = run();
    const ScopedPrecision scoped(Precision::bf16);
    const std::vector<Tensor> found = run();
    // Each operand is off by a factor within 1 +- u, so each term of a sum by one within
    // 1 +- (2u + u^2), and the sum by no more than that much of the sum of the terms' sizes.
    const Real u = 0x1p-8f, most = 2 * u + u * u + Real(1e-4);
    const auto bound = [&](const Tensor& a, const Tensor& b, const MatmulOptions& o) {
        const ScopedPrecision single(Precision::single);
        Tensor sizes = matmul(absolute(a), absolute(b), o);
        return sizes *= most;
    };
    const Tensor& w = map.weight.value;
    check_within(found[0], exact[0], bound(x, w, {.transpose_b = true}));
    check_within(found[1], exact[1], bound(dy, w, {}));
    check_within(found[2], exact[2], bound(dy, x, {.transpose_a = true}));
    // a bias's gradient is a sum along with a product, so its terms may be rounded, too
    const Tensor one = Tensor::full({131, 1}, 1);
    check_within(found[3], exact[3], bound(dy, one, {.transpose_a = true}).reshape({133}));
    for (std::size_t i = 0; i < 3; ++i) CHECK(max_difference(found[i], exact[i]) > 1e-3);
}

TEST_CASE("numbers kept in fewer bits are forgotten when an element is written") {
    if (way() == Way::plain) return;  // which keeps none
    Random random(3);
    Linear map(140, 150, true, random);
    const Tensor x = random_tensor({160, 140});
    const auto product = [&] { return map.forward(x); };
    for (const Precision precision : {Precision::bf16, Precision::int8}) {
        if (on_cuda() && precision == Precision::int8) continue;
        const ScopedPrecision scoped(precision);
        const Tensor before = product();
        CHECK(same_bits(before, product()));
        map.weight.value(7, 9) += 3;
        const Tensor after = product();
        CHECK(max_difference(before, after) > 1);
        if (precision == Precision::bf16 && !multiplies_in_bf16()) continue;
        CHECK(agree(plain_linear(x, map, precision), after));
        const Tensor part = x.rows(20, 160);
        CHECK(agree(plain_linear(part, map, precision), map.forward(part)));
    }
    CHECK(agree(plain_linear(x, map, Precision::single), product()));
}

TEST_CASE("numbers in bf16 that are held outlive a write", "[fast]") {
    Tensor x = random_tensor({300, 200});
    const std::shared_ptr<const Half> whole = in_bf16(x), held = in_bf16(x.rows(100, 300));
    CHECK(held.get() == whole.get() + 100 * 200);
    const Half before = *held;
    x.fill(3);
    const std::shared_ptr<const Half> fresh = in_bf16(x);  // not in the block that is held
    CHECK(*held == before);
    CHECK(*fresh == 0x4040);
}

TEST_CASE("a weight that products read in bf16 remembers steps too small for bf16") {
    if (way() == Way::plain) return;
    Random random(3);
    Linear map(140, 150, false, random);
    const Tensor x = random_tensor({160, 140});
    const ScopedPrecision scoped(Precision::bf16);
    map.weight.value(7, 9) = 1;
    const Tensor before = map.forward(x);
    for (int step = 0; step < 1000; ++step) {
        map.weight.value(7, 9) += Real(0.001);
        if (step < 10) map.forward(x);
    }
    CHECK(map.weight.value(7, 9) == Approx(2).epsilon(1e-4));
    const Tensor after = map.forward(x);  // with twice the weight
    for (Index i = 0; i < 160; ++i)
        REQUIRE(after(i, 7) - before(i, 7) == Approx(x(i, 9)).margin(0.02));
}

TEST_CASE("a linear map in 8 bits is the plain one of rounded operands, for any number of rows",
          "[fast]") {
    Random random(5);
    for (const auto& [d_in, d_out] :
         {std::pair<Index, Index>{1, 1}, {67, 131}, {128, 64}, {301, 777}})
        for (const bool bias : {true, false}) {
            Linear map(d_in, d_out, bias, random);
            for (Index i = 0; i < d_in; ++i) map.weight.value(d_out - 1, i) = 0;
            const Tensor x = random_tensor({70, d_in});
            const Tensor expected = plain_linear(x, map, Precision::int8);
            const ScopedPrecision scoped(Precision::int8);
            const Tensor all = map.forward(x);
            CHECK(agree(expected, all));
            Tensor positive = all.clone();
            for (Real& v : positive.values()) v = std::max(v, Real(0));
            CHECK(agree(positive, linear_in_int8(x, map, true), 0));
            for (const Index m : {1, 2, 4, 5, 33, 64, 65})
                for_threads([&, &layer = map](int) {
                    CHECK(same_bits(all.rows(0, m).clone(), layer.forward(x.rows(0, m))));
                });
        }
}

TEST_CASE("in 8 bits, tensors that share a storage have numbers of their own", "[fast]") {
    Random random(5);
    const Linear whole(70, 90, false, random);
    const auto with = [&](const Tensor& weight) {
        Linear map = whole;
        map.weight = Parameter(weight);
        return map;
    };
    const Tensor& w = whole.weight.value;
    const Linear upper = with(w.rows(0, 45)), lower = with(w.rows(45, 90)),
                 wide = with(w.reshape({45, 140}));
    for (const Index m : {3, 40})  // few rows and many
        for (const Linear& map : {whole, upper, lower, whole, wide}) {
            const Tensor x = random_tensor({m, map.d_in()});
            const Tensor expected = plain_linear(x, map, Precision::int8);
            const ScopedPrecision scoped(Precision::int8);
            CHECK(agree(expected, map.forward(x)));
        }
}

TEST_CASE("in 8 bits, a row of zeros gives the bias, and a row with an infinity or a NaN gives NaN",
          "[fast]") {
    Random random(5);
    const Linear map(70, 90, true, random);
    Tensor x = random_tensor({6, 70});
    for (Index i = 0; i < 70; ++i) x(1, i) = 0;
    x(3, 5) = infinity;
    x(4, 6) = not_a_number;
    const ScopedPrecision scoped(Precision::int8);
    for (const Index begin : {0, 1}) {  // many rows and few
        const Tensor y = map.forward(begin == 0 ? x : x.rows(1, 5));
        for (Index j = 0; j < 90; ++j) {
            REQUIRE(y(1 - begin, j) == map.bias.value(j));
            REQUIRE(std::isnan(y(3 - begin, j)));
            REQUIRE(std::isnan(y(4 - begin, j)));
            REQUIRE(std::isfinite(y(2 - begin, j)));
        }
    }
}

TEST_CASE("nothing is trained in 8 bits", "[fast]") {
    Random random(5);
    const Linear map(3, 4, true, random);
    const ScopedPrecision scoped(Precision::int8);
    Linear::Cache cache;
    CHECK_THROWS_WITH(map.forward(random_tensor({2, 3}), &cache), Contains("8 bits"));
}
#endif
