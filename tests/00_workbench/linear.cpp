// Per real and way: the linear map.
#include "lib/fast/linear.hpp"

#include <algorithm>
#include <cmath>

#include "lib/linear.hpp"
#include "tests/gradients.hpp"
#include "tests/products.hpp"

using namespace abh;

TEST_CASE("a linear map and its gradients are those of pen and paper") {
    Random random(1);
    Linear map(2, 3, true, random), plain(2, 3, false, random);
    map.weight.value = plain.weight.value = Tensor({3, 2}, {1, 0, 2, -1, 0, 3});
    map.bias.value = Tensor({3}, {1, 0, -1});
    const Tensor x({2, 1, 2}, {1, 2, 3, -1}), dy({2, 1, 3}, {1, -1, 2, 0, 1, -1});
    REQUIRE(map.forward(Tensor({2}, {1, 2})).shape() == Shape{3});
    REQUIRE(max_difference(plain.forward(x), Tensor({2, 1, 3}, {1, 0, 6, 3, 7, -3})) == 0);
    Linear::Cache cache;
    REQUIRE(max_difference(map.forward(x, &cache), Tensor({2, 1, 3}, {2, 0, 5, 4, 7, -4})) == 0);
    REQUIRE(max_difference(map.backward(dy, cache), Tensor({2, 1, 2}, {-1, 7, 2, -4})) == 0);
    REQUIRE(max_difference(map.weight.grad(), Tensor({3, 2}, {1, 2, 2, -3, -1, 5})) == 0);
    REQUIRE(max_difference(map.bias.grad(), Tensor({3}, {1, 0, 1})) == 0);
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
    Draw draw;
    for (const Shape& shape : {Shape{5}, Shape{7, 5}, Shape{3, 1, 5}, Shape{2, 3, 1, 5}})
        for (bool bias : {true, false}) {
            CAPTURE(to_string(shape), bias);
            const auto map = std::make_shared<Linear>(5, 3, bias, draw.random);
            check_trial(proof::trial_of(map, draw(shape)));
        }
}

TEST_CASE("backward twice gives the same dx, adds the gradients twice and leaves the cache alone") {
    Draw draw;
    Linear map(5, 3, true, draw.random);
    const Tensor x = draw({7, 5}), dy = draw({7, 3}), x_before = x.clone(), dy_before = dy.clone();
    Linear::Cache cache;
    map.forward(x, &cache);
    check_backward(parameters_of(map), [&] { return std::vector{map.backward(dy, cache)}; });
    REQUIRE(map.backward(dy, cache).data() != map.backward(dy, cache).data());
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

TEST_CASE("a linear map with relu is the map, then the larger of its result and zero, bit by bit",
          "[fast]") {
    for (bool bias : {false, true})
        for (Index n_rows : {1, 31, 33, 100})
            for_threads([&](int) {
                Random random(5);
                Linear map(7, 19, bias, random);
                const Tensor x = normal({n_rows, 1, 7}, random.stream());
                Tensor expected = map.forward(x);
                Index negative = 0;
                for (Real& v : expected.values())
                    if (v < 0) {
                        v = 0;
                        ++negative;
                    }
                REQUIRE(negative > 0);
                REQUIRE(same_bits(fast::linear_map(x, map, true), expected));
            });
}

TEST_CASE("every way maps and derives as plain does") {
    Draw draw;
    for (const bool bias : {false, true})
        for (const Shape& shape : {Shape{5}, Shape{1, 5}, Shape{0, 5}, Shape{3, 1, 5},
                                   Shape{2, 3, 7, 131}, Shape{3, 300}, Shape{67, 33}}) {
            const Index d_out = shape[-1] == 300 ? 280 : 29;
            Linear map(shape[-1], d_out, bias, draw.random);
            const Tensor x = draw(shape), dy = draw(shape.with(-1, d_out));
            CAPTURE(to_string(shape), bias);
            same_in_every_way([&] {
                std::vector<Tensor> all;
                zero_grad(parameters_of(map));
                for (int time = 0; time < 2; ++time) {  // gradients add up
                    Linear::Cache cache;
                    all.push_back(map.forward(x, &cache));
                    all.push_back(map.backward(dy, cache));
                }
                return with_gradients(all, map);
            });
        }
}

TEST_CASE("the backward pass of a linear map goes the way of its forward pass") {
    Draw draw;
    Linear map(300, 280, true, draw.random);
    const Tensor dy = draw({3, 280});
    Linear::Cache cache;
    map.forward(draw({3, 300}), &cache);
    CHECK(cache.way == way());
    check_backward(parameters_of(map), [&] { return std::vector{map.backward(dy, cache)}; });
}
