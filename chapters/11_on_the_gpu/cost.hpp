#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/program/output.hpp"

namespace abh {
// [cost]
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
// [roofline]
/// Prints what the parts of a training step do for each byte of device memory.
void show_roofline(Results& results);
/// Prints, for some kernels of this chapter, operations per byte of three memories, and which of an
/// H200's roofs is the lowest there. Does nothing on a real device, because that does not count.
void show_bounds(std::uint64_t seed, Results& results);

}  // namespace abh
