#pragma once

// With these options, a compiler silently removes every check for NaN and infinity.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math, -Ofast and -ffinite-math-only: they remove checks for NaN"
#endif

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "lib/storage.hpp"

namespace abh {
// [real]
/// The number type of every computation. The library is built twice from the same sources:
/// with `float` for programs, and with `double` for gradient checks and other proofs.
#ifdef ABH_DOUBLE
using Real = double;
#else
using Real = float;
#endif

/// The type of sizes and positions: signed, with 64 bits, so that differences are safe.
using Index = std::int64_t;

/// How many parts of size `size` cover `n`.
constexpr Index ceil_div(Index n, Index size) {
    return (n + size - 1) / size;
}
// [shape]
/// The sizes of a tensor, outermost first: rank 0 to 4, every size >= 0.
class Shape {
public:
    static constexpr int max_rank = 4;
    static constexpr Index max_size = PTRDIFF_MAX / 16;  ///< so that bytes fit a ptrdiff_t

    Shape() = default;
    /// @throws std::invalid_argument for more than four sizes, a negative one, or too many elements
    Shape(std::initializer_list<Index> sizes);
    explicit Shape(std::span<const Index> sizes);

    int rank() const { return rank_; }
    /// Number of elements: the product of the sizes, 1 for rank 0.
    Index size() const { return sizes_[0] * sizes_[1] * sizes_[2] * sizes_[3]; }
    /// Size of axis `axis`; negative axes count from the end, -1 is the last.
    /// @throws std::out_of_range if there is no such axis
    Index operator[](int axis) const { return sizes_[position(axis)]; }
    /// The same shape with axis `axis` set to `size`.
    Shape with(int axis, Index size) const;

    bool operator==(const Shape&) const = default;

private:
    std::size_t position(int axis) const {
        const int from_start = axis < 0 ? axis + rank_ : axis;
        if (from_start < 0 || from_start >= rank_) no_axis(axis);
        return static_cast<std::size_t>(from_start);
    }
    [[noreturn]] void no_axis(int axis) const;
    void check() const;

    std::array<Index, max_rank> sizes_{1, 1, 1, 1};  // 1 beyond the rank
    int rank_ = 0;
};
// [shape: rows]
/// The number of rows of this shape, read as a matrix: the product of all sizes but the last
/// `inner_axes`.
inline Index rows(const Shape& shape, int inner_axes = 1) {
    Index product = 1;
    for (int axis = 0; axis + inner_axes < shape.rank(); ++axis) product *= shape[axis];
    return product;
}
/// The number of matrices in a shape `[..., m, n]`: the product of all sizes but the last two.
inline Index matrices(const Shape& shape) {
    return rows(shape, 2);
}
// [shape: print]
/// `[2, 7, 12]`
std::string to_string(const Shape& shape);

}  // namespace abh

/// Lets messages print shapes: `fmt::format("{}", shape)`.
template <>
struct fmt::formatter<abh::Shape> {
    constexpr auto parse(format_parse_context& context) { return context.begin(); }
    template <class Context>
    auto format(const abh::Shape& shape, Context& context) const {
        return std::ranges::copy(abh::to_string(shape), context.out()).out;
    }
};

namespace abh {
// [check]
/// Throws `std::invalid_argument` unless `condition` holds. Most messages begin with the name of
/// the function or layer and give the values: `attention: key has d_k 32, query has 64`.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> message, Args&&... args) {
    if (!condition) throw std::invalid_argument(fmt::format(message, std::forward<Args>(args)...));
}

/// Throws `std::invalid_argument` unless `actual == expected`, naming both:
/// `linear: x has shape [2, 3], expected [2, 4]`.
void require_shape(const Shape& actual, const Shape& expected, const char* who, const char* what);
// [tensor]
/// A contiguous, row-major array of rank up to 4.
///
/// Copying a tensor copies a handle: both then share the same elements, as in PyTorch. `clone`
/// copies the elements. No function of this book writes to a tensor that it takes by const
/// reference, but its result may share elements with one, as a view does.
template <class T>
class BasicTensor {
public:
    /// No elements, shape `[0]`.
    BasicTensor() : shape_{0} {}
    /// Elements are not initialized.
    explicit BasicTensor(const Shape& shape)
        : shape_(shape),
          storage_(make_storage(static_cast<std::size_t>(shape.size()) * sizeof(T))) {}
    /// @throws std::invalid_argument unless there is one value for each element
    BasicTensor(const Shape& shape, std::initializer_list<T> values) : BasicTensor(shape) {
        require(static_cast<Index>(values.size()) == size(), "tensor: {} values for shape {}",
                values.size(), shape);
        std::copy(values.begin(), values.end(), data());
    }

    static BasicTensor zeros(const Shape& shape) { return full(shape, T(0)); }
    static BasicTensor full(const Shape& shape, T value) {
        BasicTensor t(shape);
        t.fill(value);
        return t;
    }
    // [tensor: access]
    const Shape& shape() const { return shape_; }
    int rank() const { return shape_.rank(); }
    Index size() const { return shape_.size(); }
    /// Size of one axis; negative axes count from the end.
    Index dim(int axis) const { return shape_[axis]; }
    bool empty() const { return size() == 0; }
    /// Whether both have the same shape and the same elements in memory.
    bool is(const BasicTensor& other) const {
        return shape_ == other.shape_ && storage_ == other.storage_ && first_ == other.first_;
    }

    /// Whether another tensor shares this one's storage, even if they have no element in common.
    bool shared() const { return storage_.use_count() > 1; }

    /// The storage, or null, and the position of the first element in it.
    const std::shared_ptr<Storage>& storage() const { return storage_; }
    Index first() const { return first_; }

    /// The elements in the processor's memory; if the device wrote last, they are fetched first.
    T* data() { return storage_ ? static_cast<T*>(storage_->host(true)) + first_ : nullptr; }
    const T* data() const {
        return storage_ ? static_cast<const T*>(storage_->host(false)) + first_ : nullptr;
    }
    /// The elements in the device's memory. Like `data`, null for a tensor made without a shape.
    T* on_device() { return storage_ ? static_cast<T*>(storage_->device(true)) + first_ : nullptr; }
    const T* on_device() const {
        return storage_ ? static_cast<const T*>(storage_->device(false)) + first_ : nullptr;
    }
    std::span<T> values() { return {data(), static_cast<std::size_t>(size())}; }
    std::span<const T> values() const { return {data(), static_cast<std::size_t>(size())}; }

    /// The element at `(i, j, ...)`, one index for each axis.
    template <class... I>
    T& operator()(I... indices) {
        return data()[offset({static_cast<Index>(indices)...})];
    }
    template <class... I>
    const T& operator()(I... indices) const {
        return data()[offset({static_cast<Index>(indices)...})];
    }
    // [tensor: views and copies]
    /// The same elements under another shape of the same size; shares memory.
    /// @throws std::invalid_argument if the sizes differ
    BasicTensor reshape(const Shape& shape) const {
        require(shape.size() == size(), "reshape: {} cannot become {}", shape_, shape);
        BasicTensor t(*this);
        t.shape_ = shape;
        return t;
    }
    /// Rows `begin` to `end - 1` along the first axis; shares memory.
    /// @throws std::out_of_range unless these rows exist
    BasicTensor rows(Index begin, Index end) const {
        if (begin < 0 || begin > end || end > dim(0))
            throw std::out_of_range(
                fmt::format("rows: no rows {} to {} in {}", begin, end, shape_));
        BasicTensor t(*this);
        t.shape_ = shape_.with(0, end - begin);
        t.first_ += dim(0) == 0 ? 0 : begin * (size() / dim(0));
        return t;
    }
    BasicTensor clone() const {
        BasicTensor t(shape_);
        if (!empty()) t.storage_->copy(*storage_, static_cast<std::size_t>(first_) * sizeof(T));
        return t;
    }
    /// Sets all elements to `value`. Defined for the kinds of tensor below.
    void fill(T value);

private:
    Index offset(std::initializer_list<Index> indices) const {
        if constexpr (std::is_same_v<Real, double>) check(indices);
        Index position = 0;
        int axis = 0;
        for (Index i : indices) position = position * shape_[axis++] + i;
        return position;
    }
    /// Throws unless there is one index per axis, each within it. Only in double, for tests.
    void check(std::initializer_list<Index> indices) const {
        bool fits = static_cast<int>(indices.size()) == rank();
        int axis = 0;
        for (Index i : indices) fits = fits && i >= 0 && i < shape_[axis++];
        if (fits) return;
        std::string wanted;
        for (Index i : indices) wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ", i);
        throw std::out_of_range(fmt::format("tensor: no element ({}) in {}", wanted, shape_));
    }

    Shape shape_;
    std::shared_ptr<Storage> storage_;
    Index first_ = 0;  ///< position of the tensor's first element in the storage
};
// [tensor: kinds]
using Tensor = BasicTensor<Real>;
/// Whole numbers, most often token ids.
using Ids = BasicTensor<std::int32_t>;
/// 0 or 1 for each element. An attention mask is 1 where attention must not look.
using Mask = BasicTensor<std::uint8_t>;
// [arithmetic]
/// `sum = a + b`, element by element; `sum` may be `a` or `b`.
/// @throws std::invalid_argument if the shapes differ
void add(Tensor& sum, const Tensor& a, const Tensor& b);
/// `y += x`, element by element.
Tensor& operator+=(Tensor& y, const Tensor& x);
/// A fresh tensor `a + b`.
Tensor operator+(const Tensor& a, const Tensor& b);
/// `y = factor * y`, element by element.
Tensor& operator*=(Tensor& y, Real factor);
/// `sums += sum over rows of x`: column by column, for `x` of shape `[..., n]` and `sums` of `[n]`.
/// @throws std::invalid_argument if the shapes do not fit
void add_column_sums(Tensor& sums, const Tensor& x);
/// `sum_i a_i b_i`, in double precision whatever `Real` is.
/// @throws std::invalid_argument if the shapes differ
double dot(const Tensor& a, const Tensor& b);
/// The largest `|a_i - b_i|`; NaN if any of them is NaN.
/// @throws std::invalid_argument if the shapes differ
double max_difference(const Tensor& a, const Tensor& b);
/// `[..., m, n]` becomes `[..., n, m]`; copies.
/// @throws std::invalid_argument if the rank is below 2
Tensor transpose(const Tensor& x);

}  // namespace abh
