#pragma once

#include "lib/matmul.hpp"

namespace abh {
// [library]
/// Whether oneDNN computes large products, except those of few rows. If so, their last bits may
/// depend on the number of threads, but are the same in every run.
bool products_by_library();

}  // namespace abh
