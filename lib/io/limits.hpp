#pragma once

#include <cstddef>

namespace abh {
// [limits]
/// What a text may hold, unpacked.
struct TextLimits {
    std::size_t line_bytes = std::size_t{1} << 20, file_bytes = std::size_t{1} << 28,
                lines = 4'000'000;
};

/// What a JSON object may hold.
struct JsonLimits {
    std::size_t bytes = std::size_t{1} << 26;
    int depth = 8;                ///< of objects and lists within each other
    std::size_t names = 100'000;  ///< of one object
    std::size_t values = 2'000'000;

    /// Those of a safetensors file's header, which has as many bytes as the reference reader takes.
    static constexpr JsonLimits of_header() { return {.bytes = 100'000'000, .depth = 3}; }
};

/// What a model of SentencePiece may hold.
struct SubwordLimits {
    std::size_t bytes = std::size_t{1} << 26, pieces = 1'000'000, piece_bytes = 1000,
                trie_bytes = std::size_t{1} << 22;
};

}  // namespace abh
