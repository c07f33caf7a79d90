#pragma once

#include <span>

#include "lib/random.hpp"

namespace abh::fast {
// [uniform]
/// Fills `numbers` with the uniform numbers of a stream, from element 4 * block on: the same as
/// `stream.uniform` gives, but many at a time.
void uniform_numbers(const Stream& stream, std::uint64_t block, std::span<Real> numbers);

}  // namespace abh::fast
