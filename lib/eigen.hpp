#pragma once

#include <Eigen/Core>
#include <algorithm>

#include "lib/tensor.hpp"

namespace abh {
// [maps]
using MatrixMap = Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using ConstMatrixMap =
    Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using VectorMap = Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>;
using ConstVectorMap = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>;

/// Rows of a tensor of this shape seen as a matrix: the product of all sizes but the last.
inline Index rows(const Shape& shape) {
    Index product = 1;
    for (int axis = 0; axis + 1 < shape.rank(); ++axis) product *= shape[axis];
    return product;
}

/// `t` of shape `[..., n]` as an Eigen matrix `[rows, n]` over the same memory.
inline MatrixMap matrix(Tensor& t) {
    return {t.data(), rows(t.shape()), t.dim(-1)};
}
inline ConstMatrixMap matrix(const Tensor& t) {
    return {t.data(), rows(t.shape()), t.dim(-1)};
}

/// All elements of `t` as one Eigen column over the same memory.
inline VectorMap vector(Tensor& t) {
    return {t.data(), t.size()};
}
inline ConstVectorMap vector(const Tensor& t) {
    return {t.data(), t.size()};
}
// [lanes]
/// So many numbers are one or two vector registers of the widest processors.
constexpr Index lanes = 16;
using Lanes = Eigen::Array<Real, lanes, 1>;
using LanesMap = Eigen::Map<Lanes>;
using ConstLanesMap = Eigen::Map<const Lanes>;

constexpr Index numbers_in_a_line = 64 / sizeof(Real);  ///< what memory sends at once

/// Sends for numbers that will be read soon; of many the first, the processor guesses the others.
inline void prefetch(const Real* numbers, Index count) {
    for (Index i = 0; i < std::min<Index>(count, 4096); i += numbers_in_a_line)
        __builtin_prefetch(numbers + i);
}

}  // namespace abh
