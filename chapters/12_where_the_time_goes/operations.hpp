#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chapters/12_where_the_time_goes/floor.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [operations to measure]
/// An operation with work for it, which every way can do, and what that work must do at least.
struct MeasuredOperation {
    std::string key, name;  ///< for the results, for the table
    Floor floor;
    std::function<Work()> make;
};

/// The operations of this book at sizes of training and decoding.
std::vector<MeasuredOperation> measured_operations();

}  // namespace abh
