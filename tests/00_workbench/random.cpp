// Per real and way: random numbers.
#include "lib/fast/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "lib/random.hpp"
#include "tests/ways.hpp"

using namespace abh;

TEST_CASE("philox gives the known answers of the Random123 distribution") {
    using Words = std::array<std::uint32_t, 4>;
    REQUIRE(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    REQUIRE(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
            Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    REQUIRE(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
            Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a uniform number is the upper 24 bits of a word, in float and in double") {
    Random random(0);
    const auto u = random.stream().uniform4(0);
    const std::uint32_t words[] = {0x6627e8, 0xe169c5, 0xbc57ac, 0x9b00db};
    for (std::size_t i = 0; i < 4; ++i) REQUIRE(u[i] * Real(0x1p24) == static_cast<Real>(words[i]));
}

TEST_CASE("normal numbers are made from pairs of uniform ones by Box and Muller's formula") {
    Random random(9);
    const Stream stream = random.stream();
    const Tensor z = normal({1001}, stream);
    for (Index i = 0; i < z.size(); ++i) {
        const auto uniform = [&](Index at) { return static_cast<double>(stream.uniform(at)); };
        const double radius = std::sqrt(-2 * std::log(1 - uniform(i / 2 * 2)));
        const double turn = 2 * std::numbers::pi * uniform(i / 2 * 2 + 1);
        const double exact = radius * (i % 2 == 0 ? std::cos(turn) : std::sin(turn));
        // a few roundings of numbers below 6, and of an angle below 7
        const double close = 50 * static_cast<double>(std::numeric_limits<Real>::epsilon());
        REQUIRE(std::abs(static_cast<double>(z(i)) - exact) < close);
    }
}

TEST_CASE("streams, steps and seeds give different numbers and the same ones again") {
    Random one(1), again(1), other(2);
    const Stream a = one.stream(), b = one.stream(), c = again.stream(), d = other.stream();
    REQUIRE(a.uniform4(5) == c.uniform4(5));
    REQUIRE(a.uniform4(5) != a.uniform4(6));
    REQUIRE(a.uniform4(5) != a.uniform4((std::uint64_t{1} << 32) + 5));
    REQUIRE(a.uniform4(5) != b.uniform4(5));
    REQUIRE(a.uniform4(5) != d.uniform4(5));
    const auto before = a.uniform4(5);
    one.next_step();
    REQUIRE(one.step() == 1);
    REQUIRE(a.uniform4(5) != before);
    one.go_to(0);
    REQUIRE(a.uniform4(5) == before);
    REQUIRE(Random(std::uint64_t{1} << 32 | 1).stream().uniform4(5) != before);
}

TEST_CASE("an element does not depend on the size of its tensor or on the number of threads") {
    Random random(5);
    const Stream stream = random.stream();
    const Tensor small = normal({5}, stream), big = normal({100003}, stream);
    REQUIRE(std::equal(small.values().begin(), small.values().end(), big.values().begin()));
    for_threads([&](int) { REQUIRE(same_bits(normal({100003}, stream), big)); });
}

TEST_CASE("uniform and normal numbers have the moments of their distributions") {
    Random random(11);
    constexpr double n = 200000;
    const auto moments = [](const Tensor& t) {
        std::array<double, 5> m{};
        for (Real v : t.values())
            for (int p = 1; p <= 4; ++p)
                m[static_cast<std::size_t>(p)] += std::pow(static_cast<double>(v), p) / n;
        return m;
    };
    // each bound is five standard errors, sqrt((E x^2p - (E x^p)^2) / n)
    const Tensor flat = uniform({200000}, 0, 1, random.stream());
    const auto u = moments(flat);
    for (std::size_t p = 1; p <= 4; ++p) {
        const double mean = 1.0 / static_cast<double>(p + 1);
        const double variance = 1.0 / static_cast<double>(2 * p + 1) - mean * mean;
        REQUIRE(std::abs(u[p] - mean) < 5 * std::sqrt(variance / n));
    }
    const auto [low, high] = std::minmax_element(flat.values().begin(), flat.values().end());
    REQUIRE((*low >= 0 && *low < Real(1e-4)));
    REQUIRE((*high < 1 && *high > Real(0.9999)));

    const auto z = moments(normal({200000}, random.stream()));
    REQUIRE(std::abs(z[1]) < 5 * std::sqrt(1 / n));
    REQUIRE(std::abs(z[2] - 1) < 5 * std::sqrt(2 / n));
    REQUIRE(std::abs(z[3]) < 5 * std::sqrt(15 / n));
    REQUIRE(std::abs(z[4] - 3) < 5 * std::sqrt(96 / n));
}

TEST_CASE("random whole numbers cover their range evenly") {
    Random random(13);
    const Ids ids = random_ids({60000}, -2, 4, random.stream());
    std::array<int, 6> counts{};
    for (std::int32_t id : ids.values()) ++counts.at(static_cast<std::size_t>(id + 2));
    for (int count : counts) REQUIRE(std::abs(count - 10000) < 5 * std::sqrt(60000 * 5 / 36.0));
    REQUIRE_THROWS_WITH(random_ids({1}, 3, 3, random.stream()),
                        "random_ids: low 3 and high 3, expected low < high");
}

TEST_CASE("each order of three comes equally often") {
    Random random(14);
    const Stream stream = random.stream();
    std::map<std::vector<Index>, int> counts;
    for (int i = 0; i < 6000; ++i, random.next_step()) {
        std::vector<Index> numbers{0, 1, 2};
        shuffle(numbers, stream);
        ++counts[numbers];
    }
    REQUIRE(counts.size() == 6);
    for (const auto& [order, count] : counts) {
        REQUIRE(std::set<Index>(order.begin(), order.end()) == std::set<Index>{0, 1, 2});
        REQUIRE(std::abs(count - 1000) < 5 * std::sqrt(6000 * 5 / 36.0));
    }
    shuffle({}, stream);
    std::vector<Index> one{7};
    shuffle(one, stream);
    REQUIRE(one == std::vector<Index>{7});
}

TEST_CASE("many numbers at a time are those of one block after the other", "[fast]") {
    Random random(std::uint64_t{7} << 40 | 5);
    random.stream();
    random.go_to(3);
    const Stream stream = random.stream();
    for (std::uint64_t first : {std::uint64_t{0}, std::uint64_t{9}, (std::uint64_t{1} << 32) - 3})
        for (std::size_t n :
             {0u, 1u, 4u, 63u, 64u, 65u, 252u, 255u, 256u, 257u, 260u, 511u, 512u, 513u, 1000u}) {
            std::vector<Real> numbers(n + 1, Real(-1));
            fast::uniform_numbers(stream, first, std::span(numbers).first(n));
            for (std::size_t i = 0; i < n; ++i) {
                REQUIRE(numbers[i] == stream.uniform4(first + i / 4)[i % 4]);
                REQUIRE(numbers[i] == stream.uniform(static_cast<Index>(4 * first + i)));
            }
            REQUIRE(numbers[n] == -1);  // no more than was asked for
        }
}

TEST_CASE("every way draws the numbers that plain draws") {
    Random random(std::uint64_t{7} << 40 | 5);
    random.go_to(3);
    for (Index n : {0, 1, 3, 4, 1023, 1024, 1026, 5001}) {
        const Stream stream = random.stream();
        CAPTURE(n);
        same_in_every_way([&] {
            return std::vector{uniform({n}, -2, 5, stream), normal({n}, stream),
                               uniform({3, n}, 0, 1, stream), normal({n, 2}, stream)};
        });
    }
}
