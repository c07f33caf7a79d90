#pragma once

#include "lib/matmul.hpp"

namespace abh {
// [library]
/// Whether large products are oneDNN's. Then their last bits may depend on the number of threads,
/// though not on the run.
bool products_by_library();

}  // namespace abh
