#include "chapters/13_real_translation/subwords/subword_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "chapters/13_real_translation/data/text.hpp"

namespace abh {
// [fields]
namespace {

constexpr std::size_t max_pieces = 1'000'000, max_piece_bytes = 1000,
                      max_trie_bytes = std::size_t{1} << 22;

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
    demand(tag <= 0xFFFFFFFF, "a field with too large a number");  // the library would cut it off
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

/// A double-array trie as Darts-clone writes it: byte `b` leads from unit i to unit `next(i) ^ b`,
/// if that one bears the label b.
struct Trie {
    std::string_view bytes;

    std::size_t size() const { return bytes.size() / 4; }
    std::uint32_t unit(std::size_t i) const { return word_at(bytes, i); }
    bool has_leaf(std::size_t i) const { return unit(i) & 0x100; }  ///< a known text ends here
    std::size_t next(std::size_t i) const {
        return i ^ (std::size_t{unit(i) >> 10} << ((unit(i) & 0x200) >> 6));
    }
    bool leads(std::size_t to, std::uint32_t byte) const { return (unit(to) & 0x800000FF) == byte; }
};

/// Does each unit point into the trie, whichever byte comes next, and each leaf into the texts?
void require_inside(const Trie& trie, std::string_view texts) {
    for (std::size_t i = 0; i < trie.size(); ++i) {
        // A leaf: no byte leads to it, only `has_leaf` below. The root is none, whatever it says.
        if (i > 0 && trie.unit(i) >> 31) continue;
        demand((trie.next(i) | 0xFF) < trie.size(),
               "its table of characters points outside of itself");
        demand(!trie.has_leaf(i) || (trie.unit(trie.next(i)) & 0x7FFFFFFF) < texts.size(),
               "its table of characters points outside of its texts");
    }
}

/// The library looks up with how many known texts an input begins, in an array of 32. How many can
/// it be? A unit is looked at again when a path to it with more of them is found.
void require_few_matches(const Trie& trie) {
    constexpr int most = 32;
    std::vector<signed char> matches(trie.size(), -1);  // on the way to a unit; -1: none is known
    std::vector<std::size_t> open{0};
    matches[0] = 0;
    while (!open.empty()) {
        const std::size_t i = open.back(), next = trie.next(i);
        open.pop_back();
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            const std::size_t to = next ^ byte;
            if (!trie.leads(to, byte)) continue;
            const int n = matches[i] + trie.has_leaf(to);
            demand(n <= most, "more than 32 entries of its table of characters begin alike");
            if (n <= matches[to]) continue;
            matches[to] = static_cast<signed char>(n);
            open.push_back(to);
        }
    }
}

void require_sound_characters(std::string_view table) {
    if (table.empty()) return;
    demand(std::endian::native == std::endian::little, "big-endian machines are not served");
    demand(table.size() >= 4, "its table of characters is cut");
    const std::size_t trie_bytes = word_at(table, 0);
    table.remove_prefix(4);
    demand(trie_bytes % 4 == 0 && trie_bytes >= 1024 && trie_bytes < table.size() &&
               trie_bytes <= max_trie_bytes,
           "its table of characters has a wrong size");
    const Trie trie{table.substr(0, trie_bytes)};
    const std::string_view texts = table.substr(trie_bytes);
    demand(texts.back() == '\0' && is_utf8(texts), "its table of characters has no proper texts");
    require_inside(trie, texts);
    require_few_matches(trie);
}
// [pieces]
/// @return the piece's text, if it is a symbol that somebody has defined; otherwise none
std::string_view require_sound_piece(std::string_view message) {
    constexpr std::uint32_t user_defined = 4;
    std::string_view text;
    std::uint32_t type = 0;
    while (!message.empty()) {
        const Field field = take_field(message);
        if (field.number == 1 && field.wire == 2) text = field.bytes;
        if (field.number == 3 && field.wire == 0) type = static_cast<std::uint32_t>(field.value);
        if (field.number == 2 && field.wire == 5)
            demand(std::isfinite(std::bit_cast<float>(word_at(field.bytes, 0))),
                   "the score of a piece is not finite");
    }
    demand(!text.empty() && text.size() <= max_piece_bytes, "a piece is empty or too long");
    demand(text.find('\0') == text.npos && is_utf8(text), "a piece is not text");
    return type == user_defined ? text : std::string_view{};
}

/// The library looks up with how many defined symbols an input begins, in an array of 64.
void require_few_beginnings(std::vector<std::string_view> symbols) {
    std::ranges::sort(symbols);
    std::vector<std::string_view> open;  // each one begins with the one before it
    for (const std::string_view symbol : symbols) {
        while (!open.empty() && !symbol.starts_with(open.back())) open.pop_back();
        open.push_back(symbol);
        demand(open.size() <= 64, "more than 64 symbols begin alike");
    }
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
    demand(model.size() <= max_model_bytes, "it is larger than 64 MiB");
    std::size_t pieces = 0;
    std::vector<std::string_view> symbols;
    while (!model.empty()) {
        const Field field = take_field(model);
        if (field.wire != 2) continue;
        if (field.number == 1) {
            const std::string_view symbol = require_sound_piece(field.bytes);
            if (!symbol.empty()) symbols.push_back(symbol);
            demand(++pieces <= max_pieces, "it has more than a million pieces");
        }
        if (field.number == 3 || field.number == 5) require_sound_rules(field.bytes);
    }
    demand(pieces > 0, "it has no pieces");
    require_few_beginnings(std::move(symbols));
}

}  // namespace abh
