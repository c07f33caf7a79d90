#pragma once

#include <algorithm>
#include <functional>

#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [interface]
/// Calls `f(i)` for every i in 0..n-1, on all threads, and returns when all calls are done.
///
/// Thread t of T begins with its own share, the calls for i = t, t + T, ..., from the last to the
/// first, and then takes calls that the others have not begun. No call of `f` may depend on what
/// another computes, so the results have the same bits for any number of threads. While one loop
/// runs, a second one, started within `f` or by another thread, runs on the thread that starts it.
/// The first exception that any `f(i)` throws is thrown again here.
void run_parallel(Index n, const std::function<void(Index)>& f);
/// The same for any `f`, which is passed on by reference, because a `std::function` that owned it
/// might ask the system for memory.
template <class F>
void parallel_for(Index n, const F& f) {
    run_parallel(n, std::cref(f));
}

/// Calls `f(begin, end)` for consecutive ranges of `grain` elements that cover 0..n-1; the last may
/// be shorter, and the cut does not depend on the number of threads.
/// @throws std::invalid_argument if `grain` is below 1
template <class F>
void parallel_ranges(Index n, Index grain, const F& f) {
    require(grain >= 1, "parallel_ranges: grain {} is below 1", grain);
    parallel_for(ceil_div(n, grain), [&](Index i) { f(i * grain, std::min(n, (i + 1) * grain)); });
}

}  // namespace abh
