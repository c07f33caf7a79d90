// Per real and way: shapes, tensors, and what is computed element by element.
#include "lib/tensor.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/ways.hpp"

using namespace abh;

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
    REQUIRE_THROWS_WITH((Shape{1, 2, 3, 4, 5}), "shape: rank 5, expected at most 4");
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
    REQUIRE_THROWS_WITH(x.rows(3, 5), "rows: no rows 3 to 5 in [4, 2, 3]");
    REQUIRE_THROWS_WITH(x.rows(2, 1), "rows: no rows 2 to 1 in [4, 2, 3]");
}

TEST_CASE("tensors may be empty or a single number") {
    REQUIRE(Tensor().shape() == Shape{0});
    REQUIRE(Tensor().clone().size() == 0);
    REQUIRE(Tensor(Shape{}, {3})() == 3);
    REQUIRE(Tensor::zeros({2, 0}).reshape({0, 7}).shape() == Shape{0, 7});
    REQUIRE(max_difference(Tensor::zeros({0}), Tensor()) == 0);
}

TEST_CASE("fresh memory is full of NaN when it is checked") {
    REQUIRE(std::isnan(Tensor({2, 3})(1, 2)));
}

#ifdef ABH_DOUBLE
TEST_CASE("in double precision a wrong index throws") {
    const Tensor t({2, 3});
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
    REQUIRE_THROWS_WITH(a + Tensor::zeros({3}), "add: second tensor has shape [3], expected [2]");
    REQUIRE_THROWS_AS(a += Tensor::zeros({2, 1}), std::invalid_argument);
    REQUIRE_THROWS_AS(dot(a, Tensor::zeros({1, 2})), std::invalid_argument);
    REQUIRE_THROWS_WITH(add_column_sums(a, Tensor({2, 4})),
                        "add_column_sums: result has shape [2], expected [4]");
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

TEST_CASE("more matrices are transposed than a grid has blocks along z") {
    const Tensor a = random_tensor({65536, 1, 2}, 5);
    same_in_every_way([&] { return std::vector{transpose(a)}; });
}

TEST_CASE("every way adds, scales, fills, sums and transposes as plain does") {
    for (const Shape& shape : {Shape{1}, Shape{3, 0}, Shape{0, 3}, Shape{7, 1}, Shape{1, 70},
                               Shape{3, 5, 67}, Shape{2, 3, 33, 35}, Shape{40001, 2}}) {
        const Tensor a = random_tensor(shape, 3), b = random_tensor(shape, 4);
        CAPTURE(to_string(shape));
        same_in_every_way([&] {
            Tensor added = a.clone(), scaled = a.clone(), filled(shape), doubled = a.clone();
            added += b;
            scaled *= Real(-0.5);
            filled.fill(3);
            add(doubled, doubled, doubled);
            Tensor sums = Tensor::full({shape[-1]}, 2);
            add_column_sums(sums, a);
            std::vector<Tensor> all{a + b, added, scaled, filled, doubled, sums};
            if (shape.rank() >= 2) all.push_back(transpose(a));
            return all;
        });
    }
    same_in_every_way([] {
        Ids ids({5});
        Mask mask({5});
        ids.fill(-7);
        mask.fill(1);
        Tensor values({10});
        for (Index i = 0; i < 5; ++i) {
            values(i) = static_cast<Real>(ids(i));
            values(5 + i) = mask(i);
        }
        return std::vector{values};
    });
}
