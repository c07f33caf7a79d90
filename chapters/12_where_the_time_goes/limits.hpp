#pragma once

#include <algorithm>

#include "chapters/12_where_the_time_goes/floor.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [limits]
/// What a machine reaches with the threads that are set, in one second.
struct Limits {
    double product_flops = 0;  ///< floating-point operations of a large matrix product
    double read = 0;           ///< bytes that are read
    double copy = 0;           ///< bytes read here and written there; both count
    double update = 0;         ///< bytes read and written in place; both count
    double cache = 0;          ///< bytes of the largest cache; 0 if the system does not say
    Noise noise = {};          ///< other programs meanwhile

    /// The stream that moves most bytes.
    double best_stream() const { return std::max({read, copy, update}); }
};

/// Bytes of a stream that is memory's and not a cache's: 256 MiB, or more than twice the largest
/// cache; but no more than an eighth of the memory.
Index stream_bytes();

/// @param bytes    of each of two streams
/// @param seconds  to spend on each of the four
Limits measure_limits(Index bytes = stream_bytes(), double seconds = 0.3);
// [least time]
/// The least milliseconds of a piece of work on a machine, for its products and for its bytes.
struct LeastTime {
    double products_ms, memory_ms;
};

LeastTime least_time(const Floor& floor, const Limits& limits);
/// The floor in milliseconds: the longer of the two, since products and memory traffic may go on at
/// once. Bytes count only where they are more than 64 MB and twice those of the largest cache, which
/// might hold them otherwise.
double floor_ms(const Floor& floor, const Limits& limits);

}  // namespace abh
