// Once: each mistake that the checking engine knows is planted, and named; a program without any
// gets the same results as without the checks.
#include "chapters/14_on_many_machines/ranks/checked.hpp"

#include <array>

#include "tests/14_on_many_machines/collectives.hpp"
#include "tests/printed.hpp"

using namespace abh;

namespace {

using Numbers = std::array<std::int32_t, 4>;

/// One of two ranks, and its exchange with the other.
struct Pair {
    Engine& engine;
    Numbers sent{1, 2, 3, 4}, received{};

    bool first() const { return engine.rank() == 0; }
    std::unique_ptr<Transfer> start(const char* what = "numbers", std::size_t send = 4,
                                    std::size_t receive = 4) {
        return exchange(engine, what, std::as_bytes(std::span(sent).first(send)),
                        std::as_writable_bytes(std::span(received).first(receive)));
    }
};

/// Calls `f(pair)` on two ranks that are checked.
template <class F>
void on_a_pair(const F& f, double seconds = 60) {
    run_local_engines(2, [&](std::unique_ptr<Engine> engine) {
        const auto watched = checked(std::move(engine), seconds);
        Pair pair{*watched};
        f(pair);
    });
}

}  // namespace

TEST_CASE("collectives that are checked give the same bits and count the same traffic") {
    for (const Index n : {1, 2, 3, 4})
        require_same(collectives_of(n, [](auto engine) { return checked(std::move(engine)); }),
                     collectives_of(n, [](auto engine) { return engine; }));
}

TEST_CASE("transfers may be waited for in any order, and more than once") {
    std::array<Numbers, 2> last{};
    on_a_pair([&](Pair& a) {
        Pair b{a.engine};
        b.sent = {5, 6, 7, 8};
        const auto earlier = a.start(), later = b.start("more", 2, 2);
        later->wait();
        earlier->wait();
        earlier->wait();
        last[static_cast<std::size_t>(a.engine.rank())] = {a.received[0], a.received[3],
                                                           b.received[0], b.received[2]};
    });
    CHECK(last[0] == Numbers{1, 4, 5, 0});
    CHECK(last[1] == last[0]);
}

TEST_CASE("ranks that come to different exchanges are told both") {
    CHECK_THROWS_WITH(
        on_a_pair([](Pair& p) { p.start(p.first() ? "gradients" : "weights"); }),
        Contains("rank 0 is at exchange 1, gradients; rank 1 at exchange 1, weights") ||
            Contains("rank 1 is at exchange 1, weights; rank 0 at exchange 1, gradients"));
}

TEST_CASE("a bucket that is sent twice is found where the other rank sends the next one") {
    CHECK_THROWS_WITH(on_a_pair([](Pair& p) {
                          p.start("bucket 1")->wait();
                          p.start(p.first() ? "bucket 1" : "bucket 2")->wait();
                      }),
                      Contains("exchange 2, bucket 1") && Contains("exchange 2, bucket 2"));
}

TEST_CASE("a message that does not fit its room is found before it is sent") {
    CHECK_THROWS_WITH(
        on_a_pair([](Pair& p) { p.start("numbers", p.first() ? 3 : 2, 2)->wait(); }),
        "ranks: exchange 1, numbers: rank 0 sends 12 bytes to rank 1, which has room for 8");
    CHECK_THROWS_WITH(
        on_a_pair([](Pair& p) { p.start("numbers", 2, p.first() ? 2 : 0)->wait(); }),
        "ranks: exchange 1, numbers: rank 0 sends 8 bytes to rank 1, which has room for 0");
}

TEST_CASE("a rank that never comes is named when the time is up") {
    CHECK_THROWS_WITH(on_a_pair(
                          [](Pair& p) {
                              if (p.first()) p.start("gradients")->wait();
                          },
                          0.25),
                      "ranks: exchange 1, gradients: rank 0 has waited 0.25 s for rank 1");
    CHECK_THROWS_WITH(run_local_engines(4,
                                        [](std::unique_ptr<Engine> engine) {
                                            if (engine->rank() % 2 == 1) return;
                                            Ranks ranks(checked(std::move(engine), 0.25));
                                            ranks.barrier();
                                        }),
                      Contains("for ranks 1, 3"));
}

TEST_CASE("a message that changes before its transfer has ended is found") {
    CHECK_THROWS_WITH(on_a_pair([](Pair& p) {
                          const auto transfer = p.start();
                          if (!p.first()) p.sent[2] = 9;
                          transfer->wait();
                      }),
                      "ranks: exchange 1, numbers: rank 1 changed its message to rank 0 before "
                      "wait() returned");
}

TEST_CASE("a room that is written to before its message has arrived is found") {
    CHECK_THROWS_WITH(on_a_pair([](Pair& p) {
                          const auto transfer = p.start();
                          if (p.first()) p.received[0] = 0;
                          transfer->wait();
                      }),
                      "ranks: exchange 1, numbers: rank 0 wrote to its room for rank 1 before "
                      "wait() returned");
}

TEST_CASE("a message sent from the room that it is received in is found") {
    const auto send = [](std::unique_ptr<Engine> engine) {
        const auto watched = checked(std::move(engine));
        Tensor x = Tensor::zeros({3});
        exchange(*watched, "sum", std::as_bytes(x.values()), std::as_writable_bytes(x.values()))
            ->wait();
    };
    CHECK_THROWS_WITH(run_local_engines(2, send), Contains("changed its message"));
}

TEST_CASE("numbers that are read before they have arrived are NaN") {
    std::array<bool, 2> early{}, late{};
    run_local_engines(2, [&](std::unique_ptr<Engine> engine) {
        const auto watched = checked(std::move(engine));
        const auto me = static_cast<std::size_t>(watched->rank());
        const Tensor own = random_tensor({5});
        Tensor x = Tensor::zeros({5});
        const auto transfer = exchange(*watched, "numbers", std::as_bytes(own.values()),
                                       std::as_writable_bytes(x.values()));
        early[me] = std::ranges::all_of(x.values(), [](Real v) { return std::isnan(v); });
        transfer->wait();
        late[me] = same_bits(x, own);
    });
    CHECK((early[0] && early[1]));
    CHECK((late[0] && late[1]));
}

TEST_CASE("a transfer that nobody waits for is reported in one line") {
    const auto forget = [](Pair& p) {
        const auto transfer = p.start("gradients");
        if (p.first()) transfer->wait();
    };
    CHECK(written_to(2, [&] { on_a_pair(forget); }) ==
          "ranks: exchange 1, gradients: rank 1 did not wait\n");
}

TEST_CASE("what ends by an error says nothing more about its transfers") {
    const auto fail = [](Pair& p) {
        const auto transfer = p.start("gradients");
        if (p.first()) throw std::runtime_error("the disk is full");
        transfer->wait();
    };
    CHECK(written_to(2, [&] { CHECK_THROWS_WITH(on_a_pair(fail), "the disk is full"); }).empty());
}
