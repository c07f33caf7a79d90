#include "lib/tensor.hpp"

#include <algorithm>
#include <cmath>

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(add) add;
void scale(Tensor& y, Real factor);
template <class T>
void fill(BasicTensor<T>& x, T value);
decltype(add_column_sums) add_column_sums;
decltype(transpose) transpose;
}  // namespace plain
namespace fast {
decltype(add) add;
decltype(add_column_sums) add_column_sums;
}  // namespace fast
namespace cuda {
decltype(add) add;
void scale(Tensor& y, Real factor);
template <class T>
void fill(BasicTensor<T>& x, T value);
decltype(add_column_sums) add_column_sums;
decltype(transpose) transpose;
}  // namespace cuda
// [shape]
Shape::Shape(std::initializer_list<Index> sizes)
    : Shape(std::span<const Index>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const Index> sizes) : rank_(static_cast<int>(sizes.size())) {
    require(rank_ <= max_rank, "shape: rank {}, expected at most 4", rank_);
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
void add(Tensor& sum, const Tensor& a, const Tensor& b) {
    require_shape(b.shape(), a.shape(), "add", "second tensor");
    require_shape(sum.shape(), a.shape(), "add", "sum");
    Ways{"add", plain::add, fast::add, cuda::add}(sum, a, b);
}

void plain::add(Tensor& sum, const Tensor& a, const Tensor& b) {
    vector(sum) = vector(a) + vector(b);
}

Tensor& operator+=(Tensor& y, const Tensor& x) {
    add(y, y, x);
    return y;
}

Tensor operator+(const Tensor& a, const Tensor& b) {
    Tensor sum(a.shape());
    add(sum, a, b);
    return sum;
}

Tensor& operator*=(Tensor& y, Real factor) {
    Ways{"scale", plain::scale, plain::scale, cuda::scale}(y, factor);
    return y;
}

void plain::scale(Tensor& y, Real factor) {
    vector(y) *= factor;
}
// [fill]
template <class T>
void BasicTensor<T>::fill(T value) {
    Ways{"fill", plain::fill<T>, plain::fill<T>, cuda::fill<T>}(*this, value);
}
template void Tensor::fill(Real value);
template void Ids::fill(std::int32_t value);
template void Mask::fill(std::uint8_t value);

template <class T>
void plain::fill(BasicTensor<T>& x, T value) {
    std::fill(x.values().begin(), x.values().end(), value);
}
// [sums]
void add_column_sums(Tensor& sums, const Tensor& x) {
    require_shape(sums.shape(), Shape{x.dim(-1)}, "add_column_sums", "result");
    Ways{"column sums", plain::add_column_sums, fast::add_column_sums, cuda::add_column_sums}(sums,
                                                                                              x);
}

void plain::add_column_sums(Tensor& sums, const Tensor& x) {
    vector(sums) += matrix(x).colwise().sum();
}

double dot(const Tensor& a, const Tensor& b) {
    require_shape(b.shape(), a.shape(), "dot", "second tensor");
    return vector(a).cast<double>().dot(vector(b).cast<double>());
}

double max_difference(const Tensor& a, const Tensor& b) {
    require_shape(b.shape(), a.shape(), "max_difference", "second tensor");
    if (a.empty()) return 0;
    const auto difference = vector(a).cast<double>() - vector(b).cast<double>();
    return difference.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}
// [transpose]
Tensor transpose(const Tensor& x) {
    require(x.rank() >= 2, "transpose: x has shape {}, expected rank >= 2", x.shape());
    return Ways{"transpose", plain::transpose, plain::transpose, cuda::transpose}(x);
}

Tensor plain::transpose(const Tensor& x) {
    const Index m = x.dim(-2), n = x.dim(-1);
    Tensor y(x.shape().with(-2, n).with(-1, m));
    for (Index p = 0; p < matrices(x.shape()); ++p) matrix(y, p) = matrix(x, p).transpose();
    return y;
}

}  // namespace abh
