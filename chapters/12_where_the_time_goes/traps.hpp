#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/program/stopwatch.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [traps]
/// Some code that returns its result.
struct ResultSide {
    std::function<Tensor()> run;
    std::function<void()> prepare = nullptr;  ///< not timed

    Side timed() const { return {run, prepare}; }
};

/// A slow way that one falls into, and the way around it, to the same result.
struct Trap {
    std::string key, name;  ///< for the results, for the table
    std::function<std::pair<ResultSide, ResultSide>()> make;
    int rounds = 7;
};

std::vector<Trap> traps();

}  // namespace abh
