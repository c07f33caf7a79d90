// Once: parameters and their gradients.
#include "lib/parameter.hpp"

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
