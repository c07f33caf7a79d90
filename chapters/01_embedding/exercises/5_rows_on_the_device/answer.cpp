// Exercise 01.5: rows of a table, on the emulated device.
#include <stdexcept>

#include "lib/cuda/kernel.cuh"
#include "lib/tensor.hpp"

namespace abh::mine {
namespace {

using namespace cuda;

/// @param n       number of ids
/// @param y       factor * table[ids], [n, d_model]
/// @param table   [V, d_model]
/// @param ids     [n]
__global__ void gather_kernel(Index n, Index d_model, Global<Real> y, Global<const Real> table,
                              Global<const std::int32_t> ids, Real factor) {
    // solution
    for (Index i = first_element(); i < n * d_model; i += all_threads())
        y[i] = factor * table[ids[i / d_model] * d_model + i % d_model];
    // stub
    // // first_element(): this thread's number in the grid; all_threads(): how many the grid has
    // end
}

}  // namespace

/// @param table  [V, d_model]
/// @param ids    [B, L]
/// @return       factor * table[ids], [B, L, d_model]
Tensor gather(const Tensor& table, const Ids& ids, Real factor) {
    Tensor y({ids.dim(0), ids.dim(1), table.dim(1)});
    // solution
    launch("gather", gather_kernel, grid_for(y.size()), ids.size(), table.dim(1), y.on_device(),
           table.on_device(), ids.on_device(), factor);
    // stub
    // throw std::logic_error("not written yet");
    // // launch("gather", gather_kernel, a grid, ids.size(), table.dim(1), y.on_device(),
    // //        table.on_device(), ids.on_device(), factor);
    // end
    return y;
}

}  // namespace abh::mine
