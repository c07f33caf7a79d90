#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [traps]
/// A slow way that is easy to fall into, and the way around it, which gives the same result.
struct Trap {
    std::string key, name;  ///< for the results, for the table
    std::function<Tensor()> with, without;
};

std::vector<Trap> traps();

}  // namespace abh
