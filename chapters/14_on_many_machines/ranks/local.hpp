#pragma once

#include <functional>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"

namespace abh {
// [local]
/// Calls `f(engine)` on `n` threads of this process, each with an engine of its own, and returns
/// when all have returned. To see ranks at work, and to test, without starting processes.
///
/// Where one of them throws, those that wait for it throw, too; what the first threw is thrown
/// again here.
void run_local_engines(Index n, const std::function<void(std::unique_ptr<Engine>)>& f);
/// The same with `Ranks` on each.
void run_local_ranks(Index n, const std::function<void(Ranks&)>& f);

}  // namespace abh
