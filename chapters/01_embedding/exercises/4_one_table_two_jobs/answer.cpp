// Exercise 01.4: one table, two jobs.
#include <stdexcept>

#include "lib/eigen.hpp"
#include "lib/matmul.hpp"

namespace abh::mine {

/// @param x      [N, d_model]
/// @param table  E, [V, d_model]
/// @return       z = x E^T, [N, V]
Tensor logits(const Tensor& x, const Tensor& table) {
    // solution
    return matmul(x, table, {.transpose_b = true});
    // stub
    // throw std::logic_error("not written yet");
    // end
}

/// Backward of both jobs, the look-up y[b, t] = E[ids[b, t]] and the output map z = x E^T.
/// @param dy      gradient of the loss with respect to `y`, [B, L, d_model]
/// @param ids     [B, L]
/// @param dz      gradient of the loss with respect to `z`, [N, V]
/// @param x       [N, d_model]
/// @param table   E, [V, d_model]
/// @param dtable  receives dE, added to what it holds, [V, d_model]
/// @return        dx, [N, d_model]
Tensor tied_backward(const Tensor& dy, const Ids& ids, const Tensor& dz, const Tensor& x,
                     const Tensor& table, Tensor& dtable) {
    // solution
    for (Index r = 0; const std::int32_t id : ids.values())
        matrix(dtable).row(id) += matrix(dy).row(r++);
    add_matmul(dtable, dz, x, {.transpose_a = true});
    return matmul(dz, table);
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
