#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [embedding on the device]
/// `y_i = s table[ids_i]`. The ids have been checked.
void gather_rows(Tensor& y, const Tensor& table, const Ids& ids, Real s);
/// `dtable[ids_i] += s dy_i`, for every i in order but those with `ids_i = padding_id`.
void scatter_add_rows(Tensor& dtable, const Tensor& dy, const Ids& ids, Real s,
                      std::int32_t padding_id);

}  // namespace abh::cuda
