#pragma once

#include <functional>
#include <string>

#include "chapters/12_where_the_time_goes/floor.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [operations to measure]
/// Measures an operation.
/// @param key, name  for the results, for the table
/// @param floor      the least that the work must do
/// @param work       can be done in every way
using MeasureOperation = std::function<void(const std::string& key, const std::string& name,
                                            const Floor& floor, const Work& work)>;

/// The number of operations that are measured.
inline constexpr Index n_operations = 34;
/// Calls `measure` for the operations of this book, at sizes that training and decoding have.
void measure_operations(const MeasureOperation& measure);

}  // namespace abh
