#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chapters/12_where_the_time_goes/floor.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [operations to measure]
/// An operation to measure: work that every way can do, and the least that this work must do.
struct MeasuredOperation {
    std::string key, name;  ///< for the results, for the table
    Floor floor;
    std::function<Work()> make;
};

/// The operations of this book, at sizes that training and decoding have.
std::vector<MeasuredOperation> measured_operations();

}  // namespace abh
