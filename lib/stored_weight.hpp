#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [stored weight]
/// The weight of a linear map, `[d_out, d_in]`, kept in another form than a tensor: in a file, or
/// in fewer bits. It can be multiplied but not trained.
class StoredWeight {
public:
    virtual ~StoredWeight() = default;

    virtual Index d_in() const = 0;
    virtual Index d_out() const = 0;
    /// `x W^T`. @param x  `[rows, d_in]` @return `[rows, d_out]`
    virtual Tensor multiply(const Tensor& x) const = 0;
    /// Rows `begin` to `end - 1` as numbers, `[end - begin, d_in]`.
    virtual Tensor read_rows(Index begin, Index end) const = 0;
};

}  // namespace abh
