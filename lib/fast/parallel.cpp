#include "lib/fast/parallel.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace abh {
// [pool]
namespace {

thread_local bool inside_parallel = false;

/// How often a thread looks before it sleeps: for some 30 microseconds, which is longer than most
/// pauses between two parallel passes of a training step, and as long as it takes to be woken.
constexpr int looks = 800;

/// Leaves the core's units to others for a moment.
void pause() {
#ifdef __SSE2__
    __builtin_ia32_pause();
#endif
}

/// Workers that sleep until there is a job, and take their share of it.
class ThreadPool {
public:
    ~ThreadPool() { resize(1); }

    int size() const { return static_cast<int>(workers_.size()) + 1; }

    void resize(int n) {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        for (std::thread& worker : workers_) worker.join();
        workers_.clear();
        stop_ = false;
        for (int t = 1; t < n; ++t)
            workers_.emplace_back([this, t, seen = job_.load()] { work(t, seen); });
    }

    void run(Index n, const std::function<void(Index)>& f) {
        bool asleep = false;
        {
            const std::lock_guard lock(mutex_);
            n_ = n;
            f_ = &f;
            error_ = nullptr;
            busy_ = static_cast<int>(workers_.size());
            ++job_;
            asleep = sleeping_ > 0;
        }
        if (asleep) wake_.notify_all();
        share(0);
        if (!soon([this] { return busy_ == 0; })) {
            std::unique_lock lock(mutex_);
            done_.wait(lock, [this] { return busy_ == 0; });
        }
        if (error_) std::rethrow_exception(error_);
    }

private:
    // [pool: work]
    /// Looks again and again for a moment, which costs less than to sleep and to be woken.
    template <class Condition>
    static bool soon(const Condition& condition) {
        for (int look = 0; look < looks; ++look) {
            if (condition()) return true;
            pause();
        }
        return false;
    }

    void share(int t) {
        inside_parallel = true;
        try {
            for (Index i = t; i < n_; i += size()) (*f_)(i);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
        }
        inside_parallel = false;
    }

    void work(int t, long seen) {
        for (;;) {
            const auto called = [&] { return stop_ || job_ != seen; };
            if (!soon(called)) {
                std::unique_lock lock(mutex_);
                ++sleeping_;
                wake_.wait(lock, called);
                --sleeping_;
            }
            if (stop_) return;
            seen = job_;
            share(t);
            const std::lock_guard lock(mutex_);
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    Index n_ = 0;
    const std::function<void(Index)>* f_ = nullptr;
    std::exception_ptr error_;
    std::atomic<int> busy_ = 0;
    std::atomic<long> job_ = 0;
    std::atomic<bool> stop_ = false;
    int sleeping_ = 0;
};

ThreadPool& pool() {
    static ThreadPool instance;
    return instance;
}

}  // namespace
// [interface]
void set_threads(int n) {
    require(n >= 1 && n <= 256, "threads: {} is not between 1 and 256", n);
    if (n != pool().size()) pool().resize(n);
}

int threads() {
    return pool().size();
}

void run_parallel(Index n, const std::function<void(Index)>& f) {
    if (n <= 1 || inside_parallel || threads() == 1) {
        for (Index i = 0; i < n; ++i) f(i);
    } else {
        pool().run(n, f);
    }
}

}  // namespace abh
