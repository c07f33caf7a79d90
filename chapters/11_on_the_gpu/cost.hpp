#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/cuda/counts.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [cost]
/// What one call costs: what its kernel asks for on the emulator, or its time on a real device.
struct Cost {
    cuda::KernelCount count;
    double microseconds = 0;  ///< median over calls, each timed until the device is done
};

/// @param f  makes tensors on the device and launches one kind of kernel
Cost cost_of(const std::function<void()>& f);
/// `a / b`, or 0 if `b` is 0.
double ratio(Index a, Index b);

/// One of several ways to do the same work on the device.
struct Variant {
    std::string key, name;
    std::function<Tensor()> run;
    double rounding = 1e-3;  ///< by which the result may differ from the first variant's
};

/// Prints a line for each variant: its counts on the emulator, its time on a real device.
/// @throws std::runtime_error if a result differs too much from the first variant's
void show_variants(const std::string& title, const std::vector<Variant>& variants,
                   Results& results);

}  // namespace abh
