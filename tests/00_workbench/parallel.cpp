// Once: threads.
#include "lib/fast/parallel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "tests/support.hpp"

using namespace abh;

namespace {

template <class Ready>
void wait_until(const Ready& ready) {
    while (!ready()) std::this_thread::yield();
}

}  // namespace

TEST_CASE("parallel_for calls each index once", "[fast]") {
    for_threads([](int n_threads) {
        REQUIRE(threads() == n_threads);
        for (Index n : {0, 1, 2, 7, 1000}) {
            std::vector<int> calls(static_cast<std::size_t>(n));
            parallel_for(n, [&](Index i) { ++calls[static_cast<std::size_t>(i)]; });
            REQUIRE(std::all_of(calls.begin(), calls.end(), [](int c) { return c == 1; }));
        }
    });
}

TEST_CASE("parallel_for works on all threads, each of which begins with every third index",
          "[fast]") {
    set_threads(3);
    std::vector<std::thread::id> ids(9);
    std::array<std::atomic<int>, 3> begun{};
    parallel_for(9, [&](Index i) {
        ids[static_cast<std::size_t>(i)] = std::this_thread::get_id();
        ++begun[static_cast<std::size_t>(i / 3)];
        wait_until([&] { return begun[static_cast<std::size_t>(i / 3)] == 3; });
    });
    set_threads(1);
    REQUIRE(std::set<std::thread::id>(ids.begin(), ids.end()).size() == 3);
    for (std::size_t i = 3; i < 9; ++i) REQUIRE(ids[i] == ids[i - 3]);
}

TEST_CASE("a thread that is late delays no call but the one that it has begun", "[fast]") {
    for (int n_threads : {2, 3, 7}) {
        set_threads(n_threads);
        for (Index late = 0; late < 100; ++late) {
            std::vector<int> calls(100);
            std::atomic<int> done = 0;
            parallel_for(100, [&](Index i) {
                ++calls[static_cast<std::size_t>(i)];
                if (i == late) wait_until([&] { return done == 99; });
                ++done;
            });
            REQUIRE(done == 100);  // the caller waits for it, too
            REQUIRE(calls == std::vector<int>(100, 1));
        }
    }
    set_threads(1);
}

TEST_CASE("an exception in parallel_for arrives at the caller, and work goes on after it",
          "[fast]") {
    for_threads([](int) {
        const auto fails = [](Index i) { require(i != 5, "no {}", i); };
        for (int time = 0; time < 20; ++time) REQUIRE_THROWS_WITH(parallel_for(10, fails), "no 5");
        std::vector<int> done(10);
        parallel_for(10, [&](Index i) { done[static_cast<std::size_t>(i)] = 1; });
        REQUIRE(std::count(done.begin(), done.end(), 1) == 10);
    });
}

TEST_CASE("many short jobs one after the other are all done, whether threads wait or sleep",
          "[fast]") {
    for (int round = 0; round < 3; ++round)
        for (int n_threads : {1, 2, 3, 7}) {
            set_threads(n_threads);
            std::vector<Index> sums(7);
            for (Index job = 0; job < 2000; ++job) {
                parallel_for(7, [&](Index i) { sums[static_cast<std::size_t>(i)] += job + i; });
                if (job % 500 == 499)  // long enough for the threads to fall asleep
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
            for (Index i = 0; i < 7; ++i)
                REQUIRE(sums[static_cast<std::size_t>(i)] == 2000 * 1999 / 2 + 2000 * i);
        }
    set_threads(1);
}

TEST_CASE("a loop that begins while another runs stays on the thread that begins it", "[fast]") {
    for_threads([](int) {
        std::vector<int> calls(35);
        parallel_for(5, [&](Index i) {
            const auto inner = [&] {
                const std::thread::id own = std::this_thread::get_id();
                parallel_for(7, [&](Index j) {
                    calls[static_cast<std::size_t>(7 * i + j)] += std::this_thread::get_id() == own;
                });
            };
            if (i % 2 == 0)
                inner();
            else
                std::thread(inner).join();
        });
        REQUIRE(std::count(calls.begin(), calls.end(), 1) == 35);
    });
}

TEST_CASE("parallel_ranges covers all elements with the same cut for any number of threads",
          "[fast]") {
    for_threads([](int) {
        std::vector<Index> starts(10, -1);
        parallel_ranges(10, 4, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) starts[static_cast<std::size_t>(i)] = begin;
        });
        REQUIRE(starts == std::vector<Index>{0, 0, 0, 0, 4, 4, 4, 4, 8, 8});
    });
    parallel_ranges(0, 4, [](Index, Index) { FAIL("nothing to do"); });
    REQUIRE_THROWS_WITH(parallel_ranges(1, 0, [](Index, Index) {}), Contains("grain 0"));
}

TEST_CASE("a number of threads that cannot be is refused", "[fast]") {
    REQUIRE_THROWS_WITH(set_threads(0), "threads: 0 is not between 1 and 256");
    REQUIRE_THROWS_WITH(set_threads(257), "threads: 257 is not between 1 and 256");
}
