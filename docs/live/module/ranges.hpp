// The algorithms of std::ranges that the book calls, for a standard library that has none yet: that
// of Debian's Emscripten. The compiler includes it before every file.
#pragma once

#ifdef __cplusplus
#include <algorithm>
#include <functional>
#include <iterator>

namespace std::ranges {  // NOLINT

template <class Order, class Projection>
auto by(Order order, Projection projection) {
    return [=](const auto& a, const auto& b) {
        return std::invoke(order, std::invoke(projection, a), std::invoke(projection, b));
    };
}
template <class Out>
struct copied {
    Out out;
};

template <class R, class Out>
copied<Out> copy(const R& from, Out to) {
    return {std::copy(std::begin(from), std::end(from), to)};
}
template <class R, class T>
void fill(R&& range, const T& value) {
    std::fill(std::begin(range), std::end(range), value);
}
template <class R, class T>
auto count(const R& range, const T& value) {
    return std::count(std::begin(range), std::end(range), value);
}
template <class R, class F>
auto count_if(const R& range, F f) {
    return std::count_if(std::begin(range), std::end(range), f);
}
template <class R, class F>
auto find_if(R&& range, F f) {
    return std::find_if(std::begin(range), std::end(range), f);
}
template <class R, class T>
bool binary_search(const R& range, const T& value) {
    return std::binary_search(std::begin(range), std::end(range), value);
}
template <class R, class T, class Order = std::less<>, class Projection = std::identity>
auto upper_bound(R&& range, const T& value, Order order = {}, Projection projection = {}) {
    return std::upper_bound(std::begin(range), std::end(range), value,
                            [=](const T& a, const auto& b) {
                                return std::invoke(order, a, std::invoke(projection, b));
                            });
}
template <class R, class Order = std::less<>, class Projection = std::identity>
void sort(R&& range, Order order = {}, Projection projection = {}) {
    std::sort(std::begin(range), std::end(range), by(order, projection));
}
template <class R, class Order = std::less<>, class Projection = std::identity>
void stable_sort(R&& range, Order order = {}, Projection projection = {}) {
    std::stable_sort(std::begin(range), std::end(range), by(order, projection));
}

}  // namespace std::ranges
#endif
