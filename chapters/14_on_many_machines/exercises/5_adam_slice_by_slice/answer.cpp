// Exercise 14.5: Adam, slice by slice.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "chapters/09_training/optimizer/optimizer.hpp"
#include "chapters/14_on_many_machines/ranks/ranks.hpp"

namespace abh::mine {

/// What Adam remembers of this rank's slice of the weights.
struct Memory {
    Tensor m, v;      ///< running means of the gradient and of its square, [N / ranks]
    Index steps = 0;  ///< taken so far
};

/// Takes a step of Adam with its default options, each rank for its own slice.
/// @param w        all weights, [N], the same on every rank, before and after
/// @param part     the gradient is the sum of all ranks' parts, [N]
/// @param largest  the norm to which a larger gradient is scaled down; 0: no limit
void update(Ranks& ranks, Tensor& w, const Tensor& part, Memory& memory, Real learning_rate,
            Real largest) {
    // solution
    const Index count = w.size() / ranks.size(), begin = ranks.rank() * count;
    Parameter slice(w.rows(begin, begin + count));  // shares its elements with w
    slice.grad() += ranks.reduce_scatter(part);
    Tensor squares({1}, {static_cast<Real>(dot(slice.grad(), slice.grad()))});
    ranks.all_reduce(squares);
    const Real norm = std::sqrt(squares(0));
    if (largest > 0 && norm > largest) slice.grad() *= largest / norm;
    const AdamStep adam{.options = {}, .learning_rate = learning_rate, .step = ++memory.steps};
    adam_step(slice, memory.m, memory.v, adam);
    const Tensor all = ranks.all_gather(slice.value);
    std::copy(all.values().begin(), all.values().end(), w.values().begin());
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
