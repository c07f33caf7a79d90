// Per way: what ranks do together: sums, copies, and what is said when they do not do the same.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include "chapters/14_on_many_machines/costs.hpp"
#include "chapters/14_on_many_machines/data_parallel/gradient_sum.hpp"
#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "chapters/14_on_many_machines/ranks/slowed.hpp"
#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"
#include "chapters/14_on_many_machines/ring.hpp"
#include "lib/program/stopwatch.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// Numbers of rank `rank`, whose sums round.
Tensor numbers_of(Index rank, const Shape& shape) {
    Random random(static_cast<std::uint64_t>(rank) + 17);
    return normal(shape, random.stream());
}

/// Requires that `sum` is that of the numbers of all ranks.
void check_sum(const Tensor& sum, Index ranks) {
    for (std::size_t i = 0; i < sum.values().size(); ++i) {
        double expected = 0;
        for (Index r = 0; r < ranks; ++r)
            expected += static_cast<double>(numbers_of(r, sum.shape()).values()[i]);
        // a few roundings of numbers of order one
        CHECK(static_cast<double>(sum.values()[i]) ==
              Approx(expected).margin(in_double ? 4e-14 : 4e-6));
    }
}

/// Starts to exchange these bytes with the other of two ranks.
std::unique_ptr<Transfer> exchange(Engine& engine, Message sent, Room room) {
    const auto other = static_cast<std::size_t>(1 - engine.rank());
    std::vector<Message> to(2);
    std::vector<Room> from(2);
    to[other] = sent;
    from[other] = room;
    return engine.exchange("test", to, from);
}

}  // namespace

TEST_CASE("an all-reduce gives every rank the sum, the same bits on each") {
    for (const Index n : {1, 2, 3, 4, 5, 8})
        for (const Shape& shape : {Shape{1}, Shape{3, 4}, Shape{7}, Shape{0}, Shape{2, 3, 5}}) {
            const auto sums = of_local_ranks(n, [&](Ranks& ranks) {
                Tensor x = numbers_of(ranks.rank(), shape);
                ranks.all_reduce(x);
                return x;
            });
            for (const Tensor& sum : sums) CHECK(same_bits(sum, sums.front()));
            check_sum(sums.front(), n);
        }
}

TEST_CASE(
    "reduce-scatter leaves each rank its rows of the sum, and all-gather puts them together") {
    for (const Index n : {1, 2, 3, 4}) {
        const Shape shape{2 * n, 3};
        const auto pairs = of_local_ranks(n, [&](Ranks& ranks) {
            const Tensor own = ranks.reduce_scatter(numbers_of(ranks.rank(), shape));
            return std::pair(own, ranks.all_gather(own));
        });
        for (Index r = 0; r < n; ++r) {
            const auto& [own, all] = pairs[static_cast<std::size_t>(r)];
            CHECK(own.shape() == Shape{2, 3});
            CHECK(all.shape() == shape);
            CHECK(same_bits(own, all.rows(2 * r, 2 * r + 2)));
            check_sum(all, n);
        }
    }
    run_local_ranks(1, [](Ranks& ranks) {
        CHECK(same_bits(ranks.reduce_scatter(numbers_of(0, {3})), numbers_of(0, {3})));
    });
    CHECK_THROWS_WITH(
        of_local_ranks(2, [](Ranks& ranks) { return ranks.reduce_scatter(Tensor({3})); }),
        Contains("[3] in 2 equal parts"));
}

TEST_CASE("a broadcast sends the row n - 1 times, and no rank more often than there are rounds") {
    constexpr Index size = 50'000;
    const auto row = static_cast<double>(size * static_cast<Index>(sizeof(Real)));
    for (const auto& [n, rounds] : {std::pair<Index, int>{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}}) {
        std::vector<double> bytes;
        for (const auto& [copy, sent] : of_local_ranks(n, [](Ranks& ranks) {
                 Tensor x = numbers_of(ranks.rank(), {size});
                 ranks.broadcast(x);
                 return std::pair(x, static_cast<double>(ranks.traffic().bytes));
             })) {
            CHECK(same_bits(copy, numbers_of(0, {size})));
            bytes.push_back(sent);
        }
        const double all = std::accumulate(bytes.begin(), bytes.end(), 0.0) / row;
        const double most = *std::ranges::max_element(bytes) / row;
        CHECK(all == Approx(static_cast<double>(n) - 1).margin(0.05));  // and what they compare
        CHECK(most == Approx(rounds).margin(0.01));
    }
}

TEST_CASE("texts of any length come to all ranks in the order of ranks") {
    for (const Index n : {1, 2, 4}) {
        const auto all = of_local_ranks(n, [&](Ranks& ranks) {
            return ranks.all_gather(std::string(static_cast<std::size_t>(3 * ranks.rank()), 'a'));
        });
        for (const auto& texts : all)
            for (Index r = 0; r < n; ++r)
                CHECK(texts[static_cast<std::size_t>(r)].size() == static_cast<std::size_t>(3 * r));
    }
}

TEST_CASE("ranks that come to different calls are told so, with both calls") {
    using Call = std::function<void(Ranks&)>;
    const auto reduce = [](const Shape& shape) {
        return [=](Ranks& ranks) {
            Tensor x = Tensor::zeros(shape);
            ranks.all_reduce(x);
        };
    };
    const Call gather = [](Ranks& ranks) { ranks.all_gather(Tensor::zeros({3, 4})); };
    const Call broadcast = [](Ranks& ranks) {
        Tensor x = Tensor::zeros({3, 4});
        ranks.broadcast(x);
    };
    const Call fail = [](Ranks&) { throw std::runtime_error("the disk is full"); };
    struct Case {
        Call even, odd;
        const char *said, *too;
    };
    for (const Case& c :
         {Case{reduce({3, 4}), reduce({3, 5}), "all_reduce of [3, 4]", "all_reduce of [3, 5]"},
          Case{reduce({3, 4}), gather, "all_reduce of [3, 4]", "all_gather of [3, 4]"},
          Case{broadcast, gather, "broadcast of [3, 4]", "all_gather of [3, 4]"},
          Case{reduce({3, 4}), [](Ranks&) {}, "rank 1 has ended", ""},
          Case{reduce({3, 4}), fail, "the disk is full", ""}})
        CHECK_THROWS_WITH(
            run_local_ranks(2, [&](Ranks& ranks) { ranks.first() ? c.even(ranks) : c.odd(ranks); }),
            Contains(c.said) && Contains(c.too));
}

TEST_CASE("a tree sum has the same bits no matter which rank adds which parts") {
    for (const Index n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}) {
        const auto summed_by = [&](Index ranks) {
            TreeSum whole;
            for (Index r = 0; r < ranks; ++r) {
                const Parts own = parts_of(r, ranks, n);
                TreeSum some;
                for (Index part = own.begin; part < own.end; ++part)
                    some.add({part, part + 1}, numbers_of(part, {33}));
                const std::vector<Parts> expected = TreeSum::nodes_of(own);
                REQUIRE(some.nodes().size() == expected.size());
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    CHECK(some.nodes()[i].parts == expected[i]);
                    whole.add(expected[i], some.nodes()[i].sum.clone());
                }
            }
            return whole.total();
        };
        const Tensor alone = summed_by(1);
        for (Index ranks = 2; ranks <= n; ++ranks) CHECK(same_bits(summed_by(ranks), alone));
        check_sum(alone, n);
    }
    TreeSum sum;
    CHECK_THROWS_AS(sum.total(), std::logic_error);
    sum.add({0, 1}, Tensor::zeros({2}));
    CHECK_THROWS_WITH(sum.add({2, 3}, Tensor::zeros({2})), Contains("do not follow"));
}

TEST_CASE("a ring all-reduce sums, sends to the next rank alone, and sends as little as can be") {
    for (const Index n : {1, 2, 3, 4, 5})
        for (const Index size : {1, 4, 12, 60}) {
            const auto results = of_local_ranks(n, [&](Ranks& ranks) {
                Tensor x = numbers_of(ranks.rank(), {size});
                ring_all_reduce(ranks, x);
                return std::pair(x, ranks.traffic());
            });
            Index bytes = 0;
            for (const auto& [sum, traffic] : results) {
                CHECK(same_bits(sum, results.front().first));
                CHECK(traffic.messages <= 2 * (n - 1));
                bytes += traffic.bytes;
            }
            CHECK(bytes == 2 * (n - 1) * size * static_cast<Index>(sizeof(Real)));
            check_sum(results.front().first, n);
        }
}

TEST_CASE("bfloat16 rounds to the nearest, to even where two are as near") {
    const Tensor x({5}, {1, 1 + Real(0x1p-8), 1 + Real(0x1.8p-7), Real(-0x1p-126), Real(3e38)});
    Tensor y({5});
    assign(y, to_bfloat16(x));
    CHECK(y(0) == 1);
    CHECK(y(1) == 1);
    CHECK(y(2) == 1 + Real(0x1p-6));
    CHECK(y(3) == Real(-0x1p-126));
    CHECK(static_cast<double>(y(4)) == Approx(3e38).epsilon(1.0 / 256));
}

TEST_CASE("a rank that computes longer than the others is named") {
    CHECK(slow_rank({10, 11, 19, 10}) == std::optional<std::size_t>(2));
    CHECK(slow_rank({10, 30}) == std::optional<std::size_t>(1));
    CHECK(slow_rank({10, 14.9}) == std::optional<std::size_t>(1));
    CHECK(!slow_rank({10, 11.9}));
    CHECK(!slow_rank({10, 11, 10.5}));
    CHECK(!slow_rank({10}));
    CHECK(!slow_rank({}));
}

TEST_CASE("a link is fitted to times that it would give, and a ring of two is two messages") {
    const Link link{3e-6, 2e-10};
    const std::vector<double> bytes{4, 1e3, 1e5, 1e7};
    std::vector<double> seconds;
    for (const double b : bytes) seconds.push_back(link(b));
    const Link fitted = fit_link(bytes, seconds);
    CHECK(fitted.latency == Approx(link.latency).epsilon(1e-9));
    CHECK(fitted.seconds_per_byte == Approx(link.seconds_per_byte).epsilon(1e-9));
    CHECK(link.ring(1e6, 2) == Approx(2 * link(5e5)).epsilon(1e-12));
}

TEST_CASE("messages over a slowed link come one after the other, and not before they are due") {
    run_local_engines(2, [&](std::unique_ptr<Engine> engine) {
        const auto link = slowed(std::move(engine), {.latency = 5e-3, .seconds_per_byte = 1e-7});
        std::vector<std::byte> first(200'000), second(200'000);
        const std::vector<std::byte> sent(first.size(), std::byte(1));
        const double start = steady_ms();
        const auto past = [&](double ms) { return steady_ms() - start >= ms; };
        const auto a = exchange(*link, sent, first), b = exchange(*link, sent, second);
        require(!a->complete(), "there at once");
        a->wait();
        require(past(25) && first == sent, "the first came after {} ms", steady_ms() - start);
        b->wait();
        require(past(45) && second == sent, "both came after {} ms", steady_ms() - start);
        require(b->complete(), "a message is missing after it came");
    });
}

TEST_CASE("transfers may be waited for in any order, and more than once") {
    run_local_engines(2, [&](std::unique_ptr<Engine> engine) {
        const std::vector<std::byte> one(3, std::byte(1)), two(5, std::byte(2));
        std::vector<std::byte> first(3), second(5);
        const auto a = exchange(*engine, one, first), b = exchange(*engine, two, second);
        b->wait();
        a->wait();
        a->wait();
        require(first == one && second == two, "messages changed places");
    });
}
