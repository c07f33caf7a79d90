// Per way: parameters and their gradients, and products that wait in these.
#include "lib/fast/gradient.hpp"

#include <algorithm>
#include <cmath>

#include "lib/linear.hpp"
#include "tests/products.hpp"

using namespace abh;

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

TEST_CASE("a gradient is zero at first, and what is added to it") {
    Draw draw;
    const Tensor a = draw({3, 5}), b = draw({3, 5}), a_before = a.clone();
    Gradient g(a.shape());
    REQUIRE(same_bits(g.tensor(), Tensor::zeros({3, 5})));
    g.add(a);
    REQUIRE(same_bits(g.tensor(), a));
    g.add(b);
    REQUIRE(same_bits(g.tensor(), a + b));
    g.zero();
    g.add(a);  // the first after zero overwrites, with a copy
    REQUIRE(same_bits(g.tensor(), a));
    g.tensor().fill(7);
    REQUIRE(same_bits(a, a_before));
    g.zero();
    g.add(a);
    g.add(a);
    REQUIRE(same_bits(g.tensor(), a + a));
    REQUIRE(same_bits(a, a_before));
    const Tensor kept = g.tensor();
    g.zero();
    REQUIRE(same_bits(g.tensor(), Tensor::zeros({3, 5})));
    REQUIRE(same_bits(kept, a + a));
    REQUIRE_THROWS_WITH(g.add(draw({5, 3})), "gradient: share has shape [5, 3], expected [3, 5]");
}

TEST_CASE("copies of a parameter are one value and one gradient, products that wait included") {
    Draw draw;
    const Tensor dy = draw({2, 40}), x = draw({2, 70}), share = draw({40, 70}),
                 other = draw({40, 70});
    REQUIRE(fast::worth_keeping(2, 40, 70));
    Parameter first(share.clone()), copy = first, assigned;
    assigned = copy;
    fast::add_product(first.gradient, dy, x);
    copy.gradient.add(share);
    assigned.grad()(0, 0) += 5;
    Tensor expected = matmul(dy, x, {.transpose_a = true}) + share;
    expected(0, 0) += 5;
    for (Parameter* p : {&first, &copy, &assigned})
        REQUIRE(max_difference(p->grad(), expected) <= 20 * eps);
    copy.zero_grad();
    fast::add_product(assigned.gradient, dy, x);
    REQUIRE(max_difference(first.grad(), matmul(dy, x, {.transpose_a = true})) <= 20 * eps);
    copy.assign(other);
    REQUIRE(same_bits(first.value, other));
    REQUIRE_FALSE(first.value.is(other));  // copied, not taken over
    REQUIRE_THROWS_WITH(copy.assign(draw({70, 40})),
                        "parameter: numbers has shape [70, 40], expected [40, 70]");
    Parameter independent(share.clone());
    REQUIRE(same_bits(independent.grad(), Tensor::zeros({40, 70})));
}

TEST_CASE("products wait as long as they are small together", "[fast]") {
    Draw draw;
    REQUIRE((fast::worth_keeping(8, 64, 64) && !fast::worth_keeping(9, 64, 64)));
    Gradient g({64, 64});
    Tensor expected = Tensor::zeros({64, 64});
    std::vector<Tensor> given;
    for (int i = 0; i < 3; ++i) {
        given.push_back(draw({4, 64}));
        const Tensor x = draw({4, 64});
        expected += matmul(given.back(), x, {.transpose_a = true});
        fast::add_product(g, given.back(), x);
    }
    for (Tensor& dy : given) dy.fill(0);  // 12 rows do not wait: they have been multiplied
    REQUIRE(max_difference(g.tensor(), expected) <= 50 * eps);
}

TEST_CASE("a product kept for later is the gradient that is asked for", "[fast]") {
    Draw draw;
    const Tensor dy = draw({3, 40}), x = draw({3, 70}), dy2 = draw({2, 40}), x2 = draw({2, 70});
    const MatmulOptions o{.transpose_a = true};
    const Tensor once = matmul(dy, x, o), twice = once + matmul(dy2, x2, o);  // [40, 70]
    const auto parts = [](Parameter& p) {
        Tensor g = Tensor::full(p.value.shape(), 99);
        const auto copy = [&](Index begin, std::span<const Real> part) {
            std::copy(part.begin(), part.end(), g.data() + begin);
        };
        fast::update(p.gradient, {copy, std::span(&p.value, 1)});
        return g;
    };
    for_threads([&](int) {
        Parameter p(Tensor::zeros({40, 70}));
        REQUIRE(max_difference(parts(p), Tensor::zeros({40, 70})) == 0);
        p.zero_grad();
        fast::add_product(p.gradient, dy, x);
        REQUIRE(max_difference(parts(p), once) <= 20 * eps);
        fast::add_product(p.gradient, dy2, x2);
        REQUIRE(max_difference(parts(p), twice) <= 20 * eps);
        REQUIRE(max_difference(parts(p), twice) <= 20 * eps);  // asking changes nothing
        REQUIRE(max_difference(p.grad(), twice) <= 20 * eps);  // multiplied out
        REQUIRE(max_difference(parts(p), twice) <= 20 * eps);
        fast::add_product(p.gradient, dy, x);  // added to what is there already
        REQUIRE(max_difference(parts(p), twice + once) <= 20 * eps);
        fast::add_product(p.gradient, dy, x);
        p.zero_grad();  // what was pending is forgotten
        REQUIRE(max_difference(parts(p), Tensor::zeros({40, 70})) == 0);
        p.grad()(0, 0) = 5;
        p.zero_grad();
        fast::add_product(p.gradient, dy2, x2);
        REQUIRE(max_difference(p.grad(), matmul(dy2, x2, o)) <= 20 * eps);
    });
    // more than a strip, and rests of rows and columns; a row longer than a part; several parts
    for (const auto& [rows, columns] : {std::pair<Index, Index>{29, 300}, {2, 40000}, {3000, 40}}) {
        Parameter p(Tensor::zeros({rows, columns}));
        const Tensor c = draw({5, rows}), w = draw({5, columns});
        fast::add_product(p.gradient, c, w);
        REQUIRE(max_difference(parts(p), matmul(c, w, o)) <= 20 * eps);
    }
    Parameter tall(Tensor::zeros({3000, 40}));
    const Tensor e = draw({5, 3000}), y = draw({5, 40});
    REQUIRE_THROWS_WITH(fast::add_product(tall.gradient, y, e),
                        "gradient: [5, 40]^T [5, 3000] does not fit a value of shape [3000, 40]");
}
