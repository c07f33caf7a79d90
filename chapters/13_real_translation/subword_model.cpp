#include "chapters/13_real_translation/subword_model.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "chapters/13_real_translation/text.hpp"

namespace abh {
// [fields]
namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 26, max_pieces = 1'000'000,
                      max_piece_bytes = 1000;

void demand(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(fmt::format("no SentencePiece model: {}", what));
}

/// A number of 1 to 10 bytes, seven bits in each, the lowest first.
std::uint64_t take_number(std::string_view& bytes) {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        demand(!bytes.empty(), "it ends within a number");
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        number |= std::uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) return number;
    }
    throw std::runtime_error("no SentencePiece model: a number of more than ten bytes");
}

/// A field of a message in the format of Protocol Buffers.
struct Field {
    std::uint64_t number;     ///< which one
    int wire;                 ///< 0: a number, 1: eight bytes, 2: a length and bytes, 5: four bytes
    std::string_view bytes;   ///< empty for a number
    std::uint64_t value = 0;  ///< the number
};

Field take_field(std::string_view& message) {
    const std::uint64_t tag = take_number(message);
    Field field{tag >> 3, static_cast<int>(tag & 7), {}};
    if (field.wire == 0) {
        field.value = take_number(message);
        return field;
    }
    demand(field.wire == 1 || field.wire == 2 || field.wire == 5, "a field of unknown kind");
    const std::uint64_t size = field.wire == 2 ? take_number(message) : (field.wire == 1 ? 8 : 4);
    demand(size <= message.size(), "it ends within a field");
    field.bytes = message.substr(0, size);
    message.remove_prefix(size);
    return field;
}
// [characters]
std::uint32_t word_at(std::string_view bytes, std::size_t i) {
    std::uint32_t word;
    std::memcpy(&word, &bytes[4 * i], 4);
    return word;
}

/// Does each unit of the table point into the table, whichever byte comes next, and each leaf into
/// the texts behind it? The table is a double-array trie as Darts-clone writes it.
void require_sound_characters(std::string_view table) {
    if (table.empty()) return;
    demand(std::endian::native == std::endian::little, "big-endian machines are not served");
    demand(table.size() >= 4, "its table of characters is cut");
    const std::size_t trie_bytes = word_at(table, 0);
    table.remove_prefix(4);
    demand(trie_bytes % 4 == 0 && trie_bytes >= 1024 && trie_bytes < table.size(),
           "its table of characters has a wrong size");
    const std::string_view texts = table.substr(trie_bytes);
    demand(texts.back() == '\0' && is_utf8(texts), "its table of characters has no proper texts");
    const std::size_t n = trie_bytes / 4;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t unit = word_at(table, i);
        if (unit >> 31) continue;  // a leaf: no byte leads to it, only `has_leaf` below
        const std::size_t next = i ^ (std::size_t{unit >> 10} << ((unit & 0x200) >> 6));
        demand((next | 0xFF) < n, "its table of characters points outside of itself");
        const bool has_leaf = unit & 0x100;
        demand(!has_leaf || (word_at(table, next) & 0x7FFFFFFF) < texts.size(),
               "its table of characters points outside of its texts");
    }
}
// [pieces]
void require_sound_piece(std::string_view message) {
    std::string_view text;
    while (!message.empty()) {
        const Field field = take_field(message);
        if (field.number == 1 && field.wire == 2) text = field.bytes;
        if (field.number == 2 && field.wire == 5)
            demand(std::isfinite(std::bit_cast<float>(word_at(field.bytes, 0))),
                   "the score of a piece is not finite");
    }
    demand(!text.empty() && text.size() <= max_piece_bytes, "a piece is empty or too long");
    demand(text.find('\0') == text.npos && is_utf8(text), "a piece is not text");
}

/// The rules by which text is normalized.
void require_sound_rules(std::string_view message) {
    while (!message.empty()) {
        const Field field = take_field(message);
        if (field.number == 2 && field.wire == 2) require_sound_characters(field.bytes);
    }
}

}  // namespace

void require_sound_model(std::string_view model) {
    demand(!model.empty(), "it is empty");
    demand(model.size() <= max_bytes, "it is larger than 64 MiB");
    std::size_t pieces = 0;
    while (!model.empty()) {
        const Field field = take_field(model);
        if (field.wire != 2) continue;
        if (field.number == 1) {
            require_sound_piece(field.bytes);
            demand(++pieces <= max_pieces, "it has more than a million pieces");
        }
        if (field.number == 3 || field.number == 5) require_sound_rules(field.bytes);
    }
    demand(pieces > 0, "it has no pieces");
}

}  // namespace abh
