#pragma once

#include "lib/matmul.hpp"

namespace abh {
// [library]
/// Whether large products are oneDNN's. Then their last bits may depend on the number of threads,
/// though not on the run.
bool products_by_library();
// [rows]
/// Rows `first` to `first + count - 1` of the product of two matrices, written over `rows` or
/// added. Runs on the calling thread alone.
void matmul_rows(Real* rows, Index first, Index count, const Tensor& a, const Tensor& b,
                 MatmulOptions options, bool add);

}  // namespace abh
