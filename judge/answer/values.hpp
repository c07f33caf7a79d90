#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::judge {

/// What functions take and return, in the form sent between processes: a number, text or tensor.
struct Value {
    /// T: tensor of reals. I: ids. M: mask. R: a real. N: an integer. S: text.
    char kind = 'N';
    std::vector<Index> shape = {};         ///< T, I, M
    std::vector<double> reals = {};        ///< T, R
    std::vector<std::int64_t> whole = {};  ///< I, M, N
    std::string text = {};                 ///< S
};
using Values = std::vector<Value>;

namespace detail {
template <class T>
constexpr char kind_of = std::is_same_v<T, Real>           ? 'T'
                         : std::is_same_v<T, std::int32_t> ? 'I'
                                                           : 'M';

template <class T>
Value of_tensor(const BasicTensor<T>& x) {
    Value v{.kind = kind_of<T>};
    for (int axis = 0; axis < x.rank(); ++axis) v.shape.push_back(x.dim(axis));
    for (const T element : x.values())
        if constexpr (std::is_same_v<T, Real>)
            v.reals.push_back(static_cast<double>(element));
        else
            v.whole.push_back(element);
    return v;
}

template <class T>
struct As;
template <class T>
struct As<BasicTensor<T>> {
    static BasicTensor<T> from(const Value& v) {
        BasicTensor<T> x{Shape(std::span<const Index>(v.shape))};
        for (std::size_t i = 0; i < x.values().size(); ++i)
            if constexpr (std::is_same_v<T, Real>)
                x.values()[i] = static_cast<Real>(v.reals.at(i));
            else
                x.values()[i] = static_cast<T>(v.whole.at(i));
        return x;
    }
};
template <>
struct As<std::string> {
    static std::string from(const Value& v) { return v.text; }
};
}  // namespace detail

template <class T>
Value value(const BasicTensor<T>& x) {
    return detail::of_tensor(x);
}
inline Value value(const std::string& text) {
    return {.kind = 'S', .text = text};
}
inline Value value(const Value& v) {
    return v;
}
inline Value value(const char* text) {
    return value(std::string(text));
}
template <class T>
requires std::is_arithmetic_v<T> Value value(T number) {
    if constexpr (std::is_floating_point_v<T>)
        return {.kind = 'R', .reals = {static_cast<double>(number)}};
    else
        return {.kind = 'N', .whole = {static_cast<std::int64_t>(number)}};
}

/// Makes a list, as in `values(x, mask, 2)`; a vector is replaced by its elements.
inline void append(Values&) {}
template <class T, class... More>
void append(Values& list, const std::vector<T>& first, const More&... more);
template <class T, class... More>
void append(Values& list, const T& first, const More&... more) {
    list.push_back(value(first));
    append(list, more...);
}
template <class T, class... More>
void append(Values& list, const std::vector<T>& first, const More&... more) {
    for (const T& element : first) list.push_back(value(element));
    append(list, more...);
}
template <class... T>
Values values(const T&... elements) {
    Values list;
    append(list, elements...);
    return list;
}

/// The inverse of `value`. @throws std::out_of_range if the value has no such elements
template <class T>
T as(const Value& v) {
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(v.reals.at(0));
    else if constexpr (std::is_arithmetic_v<T>)
        return static_cast<T>(v.whole.at(0));
    else
        return detail::As<T>::from(v);
}

/// The values as bytes in this machine's order: a count, then for each value its kind, its rank,
/// its sizes and its elements.
std::string to_bytes(const Values& list);
/// @throws std::runtime_error if the bytes end early
Values from_bytes(const std::string& bytes);

}  // namespace abh::judge
