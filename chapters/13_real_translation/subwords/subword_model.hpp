#pragma once

#include <cstddef>
#include <string_view>

namespace abh {
// [subword model]
/// What a model of SentencePiece may hold.
struct SubwordLimits {
    std::size_t bytes = std::size_t{1} << 26, pieces = 1'000'000, piece_bytes = 1000,
                trie_bytes = std::size_t{1} << 22;
};

/// Looks at the bytes of a SentencePiece model before the library does, which trusts some of them:
/// a table of characters that points outside of itself, for instance, makes it read foreign memory.
/// @throws std::runtime_error saying what is wrong
void require_sound_model(std::string_view model);

}  // namespace abh
