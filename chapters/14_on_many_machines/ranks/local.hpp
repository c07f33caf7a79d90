#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"

namespace abh {
// [local]
/// Calls `f(engine)` on `n` threads of this process, each with an engine of its own, and returns
/// when all have returned: a way to watch ranks at work, and to test, without starting processes.
///
/// If one of them throws, those that wait for it throw, too; the first exception comes out here.
void run_local_engines(Index n, const std::function<void(std::unique_ptr<Engine>)>& f);
/// The same with `Ranks` instead of engines.
void run_local_ranks(Index n, const std::function<void(Ranks&)>& f);
/// What `f` returns on each of `n` ranks.
template <class F>
auto of_local_ranks(Index n, const F& f) {
    std::vector<decltype(f(std::declval<Ranks&>()))> results(static_cast<std::size_t>(n));
    run_local_ranks(
        n, [&](Ranks& ranks) { results[static_cast<std::size_t>(ranks.rank())] = f(ranks); });
    return results;
}

}  // namespace abh
