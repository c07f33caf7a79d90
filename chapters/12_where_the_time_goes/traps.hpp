#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [traps]
/// A slow way that is easy to fall into, and the way around it, which gives the same result.
struct Trap {
    using Sides = std::pair<std::function<Tensor()>, std::function<Tensor()>>;

    std::string key, name;  ///< for the results, for the table
    std::function<Sides()> make;
};

std::vector<Trap> traps();

}  // namespace abh
