#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "chapters/14_on_many_machines/ranks/local.hpp"

namespace abh {

/// Calls `f` on each of `n` ranks.
/// @return  its results, each of which stacks those of all ranks, `[n, ...]`
/// @throws std::invalid_argument if a rank's result has another shape than that of rank 0
inline std::vector<Tensor> on_ranks(Index n, const std::function<std::vector<Tensor>(Ranks&)>& f) {
    std::vector<std::vector<Tensor>> each(static_cast<std::size_t>(n));
    run_local_ranks(n,
                    [&](Ranks& ranks) { each[static_cast<std::size_t>(ranks.rank())] = f(ranks); });
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < each.front().size(); ++i) {
        const Shape shape = each.front()[i].shape();
        std::vector<Index> sizes = {n};
        for (int axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
        Tensor together{Shape(std::span<const Index>(sizes))};
        Real* to = together.data();
        for (std::size_t r = 0; r < each.size(); ++r) {
            const Tensor& x = each[r][i];
            require(x.shape() == shape, "rank {} returns shape {}, but rank 0 returns {}", r,
                    x.shape(), shape);
            to = std::copy(x.values().begin(), x.values().end(), to);
        }
        all.push_back(together);
    }
    return all;
}

}  // namespace abh
