// What a page calls. A call that fails returns 0, and `live_error` says why.
#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

#include "lib/tensor.hpp"

#ifdef __EMSCRIPTEN__
#include <emscripten.h>
#else
#define EMSCRIPTEN_KEEPALIVE
#endif

namespace live {

/// Why the last call failed.
inline std::string error;
/// The last text that was returned.
inline std::string answer;
/// The numbers of a call, and then those of its result.
inline std::vector<double> numbers;

/// Calls `f`; 0, with the message kept, if it throws.
template <class F>
int guarded(const F& f) {
    try {
        f();
        return 1;
    } catch (const std::exception& e) {
        error = e.what();
    } catch (...) {
        error = "unknown error";
    }
    return 0;
}

/// The text that `f` returns, or null.
template <class F>
const char* text(const F& f) {
    return guarded([&] { answer = f(); }) ? answer.c_str() : nullptr;
}

/// Reads what a call was given, in order.
class In {
public:
    double number() {
        abh::require(at_ < given_.size(), "{} numbers are too few", given_.size());
        return given_[at_++];
    }
    /// A size or a count.
    abh::Index whole() {
        const double x = number();
        abh::require(x >= 0 && x <= 1 << 20 && x == std::floor(x), "{} is not a size", x);
        return static_cast<abh::Index>(x);
    }
    abh::Tensor tensor(const abh::Shape& shape) {
        abh::Tensor t(shape);
        for (abh::Real& x : t.values()) x = static_cast<abh::Real>(number());
        return t;
    }
    abh::Mask mask(const abh::Shape& shape) {
        abh::Mask m(shape);
        for (auto& hidden : m.values()) hidden = number() != 0;
        return m;
    }

private:
    std::vector<double> given_ = numbers;
    std::size_t at_ = 0;
};

inline void put(double x) {
    numbers.push_back(x);
}
inline void put(const abh::Tensor& t) {
    for (const abh::Real x : t.values()) numbers.push_back(static_cast<double>(x));
}

/// Calls `f` with the numbers of the call; those that it puts are the result.
/// @return how many there are, plus 1
template <class F>
int with_numbers(const F& f) {
    const int done = guarded([&] {
        In in;
        numbers.clear();
        f(in);
    });
    return done ? static_cast<int>(numbers.size()) + 1 : 0;
}

}  // namespace live

extern "C" {

EMSCRIPTEN_KEEPALIVE inline const char* live_error() {
    return live::error.c_str();
}
/// Room for the numbers of the next call; null if there is not enough.
EMSCRIPTEN_KEEPALIVE inline double* live_numbers(int count) {
    return live::guarded([&] { live::numbers.resize(static_cast<std::size_t>(count)); })
               ? live::numbers.data()
               : nullptr;
}
}
