#pragma once

#include "lib/program/output.hpp"

namespace abh {
/// What rounding to 16 and to 8 bits changes, in numbers, products and trainings, and how much time
/// it saves. Takes some minutes.
void show_bits(std::uint64_t seed, Results& results);

}  // namespace abh
