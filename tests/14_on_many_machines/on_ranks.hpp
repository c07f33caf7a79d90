#pragma once

// What ranks that are threads return: Catch's assertions belong to one thread.
#include <utility>
#include <vector>

#include "chapters/14_on_many_machines/ranks/local.hpp"

/// What `f` returns on each of `n` ranks.
template <class F>
auto on_ranks(abh::Index n, const F& f) {
    std::vector<decltype(f(std::declval<abh::Ranks&>()))> results(static_cast<std::size_t>(n));
    abh::run_local_ranks(
        n, [&](abh::Ranks& ranks) { results[static_cast<std::size_t>(ranks.rank())] = f(ranks); });
    return results;
}
