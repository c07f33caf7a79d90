#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/stopwatch.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [twins]
/// A way to a result.
struct ResultWay {
    std::function<Tensor()> run;
    std::function<void()> prepare = nullptr;  ///< not timed

    Way timed() const { return {run, prepare}; }
};

/// Two ways to the same result.
struct Twins {
    std::string key, name;  ///< for the results, for the table
    std::function<std::pair<ResultWay, ResultWay>()> make;
    int rounds = 7;
};

/// The plain way and the book's.
std::vector<Twins> optimizations();
/// The slow way that one falls into, and the one around it.
std::vector<Twins> traps();

}  // namespace abh
