#include "lib/tensor.hpp"

#include <algorithm>
#include <cmath>

#include "lib/eigen.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"
#include "lib/tensor.cuh"

namespace abh {
// [shape]
Shape::Shape(std::initializer_list<Index> sizes)
    : Shape(std::span<const Index>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const Index> sizes) : rank_(static_cast<int>(sizes.size())) {
    require(rank_ <= max_rank, "shape: rank {}, at most 4 is possible", rank_);
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
    check();
}

Shape Shape::with(int axis, Index size) const {
    Shape result = *this;
    result.sizes_[position(axis)] = size;
    result.check();
    return result;
}

void Shape::check() const {
    Index product = 1;
    for (Index size : sizes_) {
        require(size >= 0, "shape: negative size {}", size);
        require(size == 0 || product <= max_size / size, "shape: {} has too many elements", *this);
        product *= size;
    }
}

void Shape::no_axis(int axis) const {
    throw std::out_of_range(fmt::format("shape: no axis {} in {}", axis, *this));
}

std::string to_string(const Shape& shape) {
    std::string text = "[";
    for (int axis = 0; axis < shape.rank(); ++axis)
        text += (axis ? ", " : "") + std::to_string(shape[axis]);
    return text + "]";
}
// [check]
void require_shape(const Shape& actual, const Shape& expected, const char* who, const char* what) {
    require(actual == expected, "{}: {} has shape {}, expected {}", who, what, actual, expected);
}
// [arithmetic]
namespace {

constexpr Index grain = 1 << 15;  // elements that are worth waking a thread for

}  // namespace

Tensor& operator+=(Tensor& y, const Tensor& x) {
    const Timed timed("add");
    require_shape(x.shape(), y.shape(), "operator+=", "right side");
    if (on_cuda()) return cuda::add(y, y, x), y;
    parallel_ranges(y.size(), grain, [&](Index begin, Index end) {
        vector(y).segment(begin, end - begin) += vector(x).segment(begin, end - begin);
    });
    return y;
}

Tensor operator+(const Tensor& a, const Tensor& b) {
    const Timed timed("add");
    require_shape(b.shape(), a.shape(), "operator+", "right side");
    Tensor sum(a.shape());
    if (on_cuda()) return cuda::add(sum, a, b), sum;
    parallel_ranges(sum.size(), grain, [&](Index begin, Index end) {
        const Index n = end - begin;
        vector(sum).segment(begin, n) = vector(a).segment(begin, n) + vector(b).segment(begin, n);
    });
    return sum;
}

Tensor& operator*=(Tensor& y, Real factor) {
    if (on_cuda()) return cuda::scale(y, factor), y;
    vector(y) *= factor;
    return y;
}
// [sums]
void add_column_sums(Tensor& sums, const Tensor& x) {
    require_shape(sums.shape(), Shape{x.dim(-1)}, "add_column_sums", "result");
    if (on_cuda()) return cuda::add_column_sums(sums, x);
    parallel_ranges(sums.size(), 64, [&](Index begin, Index end) {  // each column in one order
        const Index n = end - begin;
        Eigen::Array<Real, 64, 1> total = Eigen::Array<Real, 64, 1>::Zero();
        for (Index r = 0; r < rows(x.shape()); ++r)
            total.head(n) += matrix(x).row(r).segment(begin, n).transpose().array();
        vector(sums).segment(begin, n).array() += total.head(n);
    });
}

double dot(const Tensor& a, const Tensor& b) {
    require_shape(b.shape(), a.shape(), "dot", "second tensor");
    if (on_cuda()) return cuda::dot(a, b);
    double sum = 0;
    for (Index i = 0; i < a.size(); ++i)
        sum += static_cast<double>(a.data()[i]) * static_cast<double>(b.data()[i]);
    return sum;
}

double max_difference(const Tensor& a, const Tensor& b) {
    require_shape(b.shape(), a.shape(), "max_difference", "second tensor");
    double worst = 0;
    for (Index i = 0; i < a.size(); ++i) {
        const double d =
            std::abs(static_cast<double>(a.data()[i]) - static_cast<double>(b.data()[i]));
        if (std::isnan(d)) return d;
        worst = std::max(worst, d);
    }
    return worst;
}
// [transpose]
Tensor transpose(const Tensor& x) {
    require(x.rank() >= 2, "transpose: x has shape {}, expected rank >= 2", x.shape());
    const Index m = x.dim(-2), n = x.dim(-1);
    Tensor y(x.shape().with(-2, n).with(-1, m));
    if (on_cuda()) return cuda::transpose(y, x), y;
    for (Index i = 0; i < x.size(); i += m * n)
        MatrixMap(y.data() + i, n, m) = ConstMatrixMap(x.data() + i, m, n).transpose();
    return y;
}

}  // namespace abh
