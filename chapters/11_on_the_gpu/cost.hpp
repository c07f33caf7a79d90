#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/cuda/counts.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [cost]
/// What the kernels of one call ask for, on the emulator; how long it takes, on a real device.
struct Cost {
    cuda::KernelCount count;
    double microseconds = 0;  ///< median of calls that are waited for
};

/// @param f  makes tensors on the device and launches one kind of kernel
Cost cost_of(const std::function<void()>& f);
/// `a / b`, and 0 where there is nothing to divide by.
double ratio(Index a, Index b);

/// One of several ways to do some work on the device.
struct Variant {
    std::string key, name;
    std::function<Tensor()> run;
};

/// A line for each variant: counts on the emulator, times on a device.
/// @throws std::runtime_error if results differ
void show_variants(const std::string& title, const std::vector<Variant>& variants,
                   Results& results);

}  // namespace abh
