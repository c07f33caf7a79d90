#pragma once

#include <algorithm>

#include "chapters/12_where_the_time_goes/floor.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [limits]
/// What a machine reaches per second with the current number of threads.
struct Limits {
    double product_flops = 0;  ///< floating-point operations of a large matrix product
    double read = 0;           ///< bytes that are read
    double copy = 0;           ///< bytes read in one place and written in another; both count
    double update = 0;         ///< bytes read and written in place; both count
    double cache = 0;          ///< bytes that all caches hold; 0 if the system does not say
    Noise noise = {};          ///< of other programs meanwhile

    /// Bytes per second of the fastest stream.
    double best_stream() const { return std::max({read, copy, update}); }
};

/// How many bytes a stream needs to measure memory instead of a cache: 256 MiB, or a little more
/// than twice what all caches hold, but at most an eighth of the memory.
Index stream_bytes();

/// @param bytes    in each of the two arrays that the streams use
/// @param seconds  to spend on each of the four measurements
Limits measure_limits(Index bytes = stream_bytes(), double seconds = 0.3);
// [least time]
/// The least time that a machine needs for the products of a piece of work, and for its bytes.
struct LeastTime {
    double products_ms, memory_ms;
};

LeastTime least_time(const Floor& floor, const Limits& limits);
/// The floor in milliseconds: the longer of the two, because products and memory traffic can
/// overlap. Bytes count only if there are more than 64 MB of them and more than twice what all
/// caches hold; otherwise they might stay there.
double floor_ms(const Floor& floor, const Limits& limits);

}  // namespace abh
