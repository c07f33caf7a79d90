#pragma once

#include <span>

#include "lib/random.hpp"

namespace abh::fast {
// [uniform]
/// The uniform numbers of elements 4 * block .. 4 * block + n - 1 of a stream: the same as those of
/// `stream.uniform`, but many at a time.
void uniform_numbers(const Stream& stream, std::uint64_t block, std::span<Real> numbers);

}  // namespace abh::fast
