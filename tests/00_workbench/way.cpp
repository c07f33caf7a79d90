// Per way: ways: which function an operation calls.
#include <array>
#include <stdexcept>

#include "lib/device.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

template <int n>
int plus(int x) {
    return x + n;
}

}  // namespace

TEST_CASE("a way has a name, and another name is refused") {
    for (const Way each : {Way::plain, Way::fast, Way::cuda})
        CHECK(way_named(to_string(each)) == each);
    CHECK(way_named("plain") == Way::plain);
    CHECK(way_named("cuda") == Way::cuda);
    for (const char* name : {"", "Plain", "gpu"})
        CHECK_THROWS_WITH(way_named(name),
                          fmt::format("way: '{}' is unknown, expected plain, fast or cuda", name));
}

TEST_CASE(
    "an operation is computed the way that is set; one left out is served by the one before") {
    constexpr Ways all{"a test", plus<1>, plus<2>, plus<3>};
    constexpr Ways without_cuda{"a test", plus<1>, plus<2>}, plain_alone{"a test", plus<1>};
    const std::array<int, 3> expected[] = {{11, 11, 11}, {12, 12, 11}, {13, 12, 11}};
    for (const Way each : ways_here()) {
        const ScopedWay scoped(each);
        CAPTURE(to_string(each));
        CHECK(std::array{all(10), without_cuda(10), plain_alone(10)} ==
              expected[static_cast<std::size_t>(each)]);
    }
}

TEST_CASE("another way lasts to the end of the block, however that is left") {
    const Way before = way();
    {
        const ScopedWay outer(Way::plain);
        CHECK(way() == Way::plain);
        {
            const ScopedWay inner(Way::fast);
            CHECK(way() == Way::fast);
            CHECK_FALSE(on_cuda());
        }
        CHECK(way() == Way::plain);
        const auto fails = [] {
            const ScopedWay inner(Way::fast);
            throw std::runtime_error("left");
        };
        CHECK_THROWS_WITH(fails(), "left");
        CHECK(way() == Way::plain);
    }
    CHECK(way() == before);
}
