#pragma once

// A kernel that the emulator must refuse.
#include <stdexcept>
#include <string>

#include "lib/cuda/kernel.cuh"
#include "lib/way.hpp"

/// What a launch that must fail says.
template <class F>
std::string refused(const F& f) {
    const abh::ScopedWay device(abh::Way::cuda);
    try {
        f();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "nothing";
}
/// The same of a launch of `kernel`.
template <class... P, class... A>
std::string refused(const char* name, void (*kernel)(P...), const abh::cuda::Grid& grid,
                    A&&... arguments) {
    return refused([&] { abh::cuda::launch(name, kernel, grid, arguments...); });
}

inline const abh::cuda::Grid one_block{dim3(1), dim3(64)};
