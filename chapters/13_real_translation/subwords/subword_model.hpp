#pragma once

#include <string_view>

namespace abh {
// [subword model]
/// Looks at the bytes of a SentencePiece model before the library does, which trusts some of them:
/// a table of characters that points outside of itself, for instance, makes it read foreign memory.
/// @throws std::runtime_error saying what is wrong
void require_sound_model(std::string_view model);

}  // namespace abh
