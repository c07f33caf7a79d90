// Once: the engine on NCCL, compiled here with a stand-in for NCCL and CUDA, tests/nccl_stand_in.
// nccl.cpp defines all that nccl.hpp declares, so the linker takes neither version of it from
// abh_ranks.
#include "chapters/14_on_many_machines/ranks/nccl.cpp"

#include <future>

#include "chapters/14_on_many_machines/ranks/checked.hpp"
#include "tests/14_on_many_machines/collectives.hpp"

using namespace abh;

namespace {

/// Calls `f(engine)` on `n` ranks that NCCL connects.
template <class F>
void on_nccl(Index n, const F& f) {
    run_local_engines(n, [&](std::unique_ptr<Engine> start) { f(make_nccl_engine(*start)); });
}

/// Sends a number to the next rank, and starts to receive that of the one before.
std::unique_ptr<Transfer> pass_on(Engine& engine, const Index& number, Index& received) {
    const auto n = static_cast<std::size_t>(engine.size()),
               me = static_cast<std::size_t>(engine.rank());
    std::vector<Message> to(n);
    std::vector<Room> from(n);
    to[(me + 1) % n] = std::as_bytes(std::span(&number, 1));
    from[(me + n - 1) % n] = std::as_writable_bytes(std::span(&received, 1));
    return engine.exchange("number", to, from);
}

}  // namespace

TEST_CASE("collectives on NCCL, checked, give the bits that they give without it") {
    const int destroyed = stand_in::destroyed, aborted = stand_in::aborted;
    for (const Index n : {1, 2, 3})
        require_same(
            collectives_of(n, [](auto start) { return checked(make_nccl_engine(*start)); }),
            collectives_of(n, [](auto start) { return start; }));
    CHECK(stand_in::memory.empty());  // the device's is given back
    CHECK(stand_in::destroyed - destroyed == 1 + 2 + 3);
    CHECK(stand_in::aborted == aborted);
}

TEST_CASE("transfers on NCCL may be waited for in any order") {
    std::vector<Index> received(3);
    on_nccl(3, [&](std::unique_ptr<Engine> engine) {
        Index a = 0, b = 0;
        const Index tens = 10 * engine->rank(), ones = engine->rank();
        const auto first = pass_on(*engine, tens, a), second = pass_on(*engine, ones, b);
        second->wait();
        first->wait();
        received[static_cast<std::size_t>(engine->rank())] = a + b;
    });
    CHECK(received == std::vector<Index>{22, 0, 11});
}

TEST_CASE("a rank is missing until it has sent") {
    std::promise<void> seen;
    std::vector<Index> before, after;
    on_nccl(2, [&](std::unique_ptr<Engine> engine) {
        const Index five = 5;
        Index received = 0;
        if (engine->rank() == 1) seen.get_future().wait();
        const auto transfer = pass_on(*engine, five, received);
        if (engine->rank() == 0) {
            before = transfer->missing();
            seen.set_value();
        }
        transfer->wait();
        if (engine->rank() == 0) after = transfer->missing();
    });
    CHECK(before == std::vector<Index>{1});
    CHECK(after.empty());
}

TEST_CASE(
    "messages in the device's memory go without a copy, after the kernel that computes them") {
    std::vector<std::size_t> blocks(2);
    std::vector<Index> received(2);
    on_nccl(2, [&](std::unique_ptr<Engine> engine) {
        const auto me = static_cast<std::size_t>(engine->rank());
        void* memory = nullptr;
        cudaMallocAsync(&memory, 2 * sizeof(Index), nullptr);
        auto* const numbers = static_cast<Index*>(memory);
        stand_in::default_stream.add([numbers, me] {  // a kernel
            numbers[0] = 7 + static_cast<Index>(me);
            return true;
        });
        {
            const auto transfer = pass_on(*engine, numbers[0], numbers[1]);
            transfer->wait();
            const std::lock_guard lock(stand_in::mutex);
            blocks[me] = stand_in::memory.size();
        }
        received[me] = numbers[1];
        cudaFreeAsync(memory, &stand_in::default_stream);
        stand_in::default_stream.has_done(stand_in::default_stream.added);
    });
    CHECK(received == std::vector<Index>{8, 7});
    CHECK(std::max(blocks[0], blocks[1]) == 2);
    CHECK(stand_in::memory.empty());
}

TEST_CASE("each rank of a machine takes a device of its own") {
    std::vector<int> devices(3);
    const auto take = [&](std::unique_ptr<Engine> engine) {
        devices[static_cast<std::size_t>(engine->rank())] = stand_in::device;
    };
    on_nccl(3, take);
    CHECK(devices == std::vector<int>{0, 1, 2});
    stand_in::devices = 2;
    CHECK_THROWS_WITH(on_nccl(3, take), "nccl: start: invalid usage");  // 0, 1 and 0
    stand_in::devices = 8;
}

TEST_CASE("ranks that outnumber the GPUs that they see do without NCCL") {
    struct Case {
        Index ranks;
        int devices;
        bool each_sees_one;
        bool enough;
    };
    for (const Case& c : {Case{3, 8, false, true},
                          {3, 3, false, true},
                          {3, 2, false, false},
                          {1, 0, false, false},
                          {4, 1, true, true},
                          {2, 1, false, false}}) {
        stand_in::devices = c.devices;
        std::vector<int> each(static_cast<std::size_t>(c.ranks), -1);
        run_local_engines(c.ranks, [&](std::unique_ptr<Engine> start) {
            stand_in::hidden = c.each_sees_one ? static_cast<int>(start->rank()) : 0;
            each[static_cast<std::size_t>(start->rank())] = each_takes_gpu(*start);
        });
        CHECK(each == std::vector<int>(each.size(), c.enough));
    }
    stand_in::devices = 8;
}

TEST_CASE("a rank that ends with an error does not wait for the others to end in order") {
    const int destroyed = stand_in::destroyed, aborted = stand_in::aborted;
    CHECK_THROWS_WITH(on_nccl(2,
                              [](std::unique_ptr<Engine> engine) {
                                  if (engine->rank() == 1) throw std::runtime_error("disk full");
                              }),
                      "disk full");
    CHECK(stand_in::aborted - aborted == 1);
    CHECK(stand_in::destroyed - destroyed == 1);
}

TEST_CASE("what NCCL says of a transfer that fails is one line, and its connection is aborted") {
    const int destroyed = stand_in::destroyed, aborted = stand_in::aborted;
    CHECK_THROWS_WITH(on_nccl(2,
                              [](std::unique_ptr<Engine> engine) {
                                  const Index five = 5;
                                  Index received = 0;
                                  const auto transfer = pass_on(*engine, five, received);
                                  stand_in::fault = ncclRemoteError;
                                  transfer->wait();
                              }),
                      "nccl: number: remote process exited");
    stand_in::fault = ncclSuccess;
    CHECK(stand_in::aborted - aborted == 2);
    CHECK(stand_in::destroyed == destroyed);
}
