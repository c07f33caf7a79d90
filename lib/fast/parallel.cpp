#include "lib/fast/parallel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace abh {
// [shares]
namespace {

constexpr int most_threads = 256;
std::atomic<int> n_threads = 1, n_started = 1;

/// The loop that the threads share.
struct Loop {
    const std::function<void(Index)>* f = nullptr;
    Index n_shares = 1;
};

/// How many calls of a thread's share are still to begin; on a cache line of its own.
struct alignas(64) Share {
    std::atomic<int> left = 0;
};

Loop loop;
std::array<Share, most_threads> shares;
alignas(64) std::atomic<int> unfinished = 0;  // calls of all shares
std::atomic_flag in_use;
std::exception_ptr error;
std::mutex to_error;
// [calls]
/// Makes a call of share t and returns true, unless all calls of the share have begun.
///
/// A thread that comes too late for one loop may get a call of the next one. So it reads `loop`
/// only after taking a call: until that call is finished, no other loop can begin.
bool make_call(int t) {
    std::atomic<int>& left = shares[static_cast<std::size_t>(t)].left;
    int k = left;
    do {
        if (k == 0) return false;
    } while (!left.compare_exchange_weak(k, k - 1));
    try {
        (*loop.f)(t + (k - 1) * loop.n_shares);
    } catch (...) {
        const std::lock_guard lock(to_error);
        if (!error) error = std::current_exception();
    }
    if (unfinished.fetch_sub(1) == 1) unfinished.notify_one();
    return true;
}

/// Makes the calls of thread t's own share, and then those that are left of the other shares.
void make_calls(int t) {
    for (int i = 0, n = n_threads; i < n; ++i)
        while (make_call((t + i) % n)) {
        }
}
// [waiting]
/// Waits while `x` is `value`: checks it again and again for a moment, then sleeps.
void wait_while(const std::atomic<int>& x, int value) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(100);
    while (Clock::now() < end)
        if (x != value) return;
    x.wait(value);
}

void serve(int t) {
    for (;;) {
        wait_while(shares[static_cast<std::size_t>(t)].left, 0);
        make_calls(t);
    }
}

void start_threads() {
    for (int t = n_started; t < n_threads;)
        if (n_started.compare_exchange_weak(t, t + 1)) std::thread(serve, t).detach();
}

}  // namespace
// [interface]
void set_threads(int n) {
    require(n >= 1 && n <= most_threads, "threads: {} is not between 1 and {}", n, most_threads);
    n_threads = n;
}

int threads() {
    return n_threads;
}

void run_parallel(Index n, const std::function<void(Index)>& f) {
    const bool alone = n <= 1 || n_threads == 1;
    if (!alone) start_threads();
    if (alone || in_use.test_and_set()) {
        for (Index i = 0; i < n; ++i) f(i);
        return;
    }
    const int n_shares = n_threads, n_calls = static_cast<int>(n);
    loop = {&f, n_shares};
    unfinished = n_calls;
    for (int t = 0; t < std::min(n_shares, n_calls); ++t) {
        std::atomic<int>& left = shares[static_cast<std::size_t>(t)].left;
        left = (n_calls - t + n_shares - 1) / n_shares;
        left.notify_one();
    }
    make_calls(0);
    while (const int k = unfinished) wait_while(unfinished, k);
    const std::exception_ptr first = std::exchange(error, nullptr);
    in_use.clear();
    if (first) std::rethrow_exception(first);
}

}  // namespace abh
