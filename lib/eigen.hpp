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

/// `t` of shape `[..., n]` as an Eigen matrix `[rows, n]` over the same memory.
inline MatrixMap matrix(Tensor& t) {
    return {t.data(), rows(t.shape()), t.dim(-1)};
}
inline ConstMatrixMap matrix(const Tensor& t) {
    return {t.data(), rows(t.shape()), t.dim(-1)};
}

/// Matrix `i` of `t`, of shape `[..., m, n]`, over the same memory.
inline MatrixMap matrix(Tensor& t, Index i) {
    return {t.data() + i * t.dim(-2) * t.dim(-1), t.dim(-2), t.dim(-1)};
}
inline ConstMatrixMap matrix(const Tensor& t, Index i) {
    return {t.data() + i * t.dim(-2) * t.dim(-1), t.dim(-2), t.dim(-1)};
}

/// All elements of `t` as one Eigen column over the same memory.
inline VectorMap vector(Tensor& t) {
    return {t.data(), t.size()};
}
inline ConstVectorMap vector(const Tensor& t) {
    return {t.data(), t.size()};
}

}  // namespace abh
