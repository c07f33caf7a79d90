#pragma once

#include "chapters/12_where_the_time_goes/limits.hpp"
#include "lib/io/results.hpp"

namespace abh {
// [gains]
/// A table of every operation: plain, fast, and the least that it can take, which is the roof over
/// its intensity; and which fast way gains least.
void show_gains(const Limits& limits, Results& results);

}  // namespace abh
