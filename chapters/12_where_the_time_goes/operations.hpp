#pragma once

#include <string>
#include <vector>

#include "chapters/12_where_the_time_goes/floor.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [operations to measure]
/// An operation with work for it, which every way can do, and what that work must do at least.
struct MeasuredOperation {
    std::string key, name;  ///< for the results, for the table
    Operation least;        ///< its name is empty
    std::function<Work()> make;
    bool one_way = false;  ///< the plain way is the fast one, too

    double flops() const { return 2 * least.floor.multiply_adds; }
    double bytes() const {
        return least.floor.bytes_read + least.floor.bytes_updated + least.bytes_passed;
    }
};

/// The operations of this book at sizes of training and decoding.
std::vector<MeasuredOperation> measured_operations();

}  // namespace abh
