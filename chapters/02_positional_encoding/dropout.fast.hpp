#pragma once

#include <span>

#include "chapters/02_positional_encoding/dropout.hpp"

namespace abh::fast {
// [draw]
/// Draws which elements from `begin` on are kept. @param begin  a multiple of 4
void draw(const Dropout& layer, Index begin, std::span<std::uint8_t> kept);

}  // namespace abh::fast
