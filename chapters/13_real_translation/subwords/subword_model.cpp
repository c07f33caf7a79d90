#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/io/text.hpp"

namespace abh {
// [fields]
namespace {

void demand(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(fmt::format("not a SentencePiece model: {}", what));
}

/// A number in 1 to 10 bytes of seven bits each, the lowest bits first.
std::uint64_t take_number(std::string_view& bytes) {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        demand(!bytes.empty(), "it ends within a number");
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        number |= std::uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) return number;
    }
    throw std::runtime_error("not a SentencePiece model: a number has more than ten bytes");
}

/// The kind of a field, which says how many bytes it has.
enum Kind : std::uint64_t { number = 0, eight_bytes = 1, length_and_bytes = 2, four_bytes = 5 };

/// Calls `use(number, kind, bytes, value)` for each field of a message in the format of Protocol
/// Buffers. If the field is a number, that is the value, and there are no bytes.
template <class Use>
void for_each_field(std::string_view message, const Use& use) {
    while (!message.empty()) {
        const std::uint64_t tag = take_number(message), kind = tag & 7;
        demand(tag <= 0xFFFFFFFF, "a field's number is too large");  // cut by the library
        demand(kind <= length_and_bytes || kind == four_bytes, "a field is of unknown kind");
        const bool fixed = kind == eight_bytes || kind == four_bytes;
        const std::uint64_t value = fixed ? (kind == eight_bytes ? 8 : 4) : take_number(message);
        const std::uint64_t size = kind == number ? 0 : value;
        demand(size <= message.size(), "it ends within a field");
        use(tag >> 3, kind, message.substr(0, size), value);
        message.remove_prefix(size);
    }
}
// [characters]
std::uint32_t word_at(std::string_view bytes, std::size_t i) {
    std::uint32_t word;
    std::memcpy(&word, &bytes[4 * i], 4);
    return word;
}

/// A double-array trie as Darts-clone writes it: byte `b` leads from unit i to unit `next(i) ^ b`,
/// if that unit has the label b.
struct Trie {
    std::string_view bytes;

    std::uint32_t unit(std::size_t i) const { return word_at(bytes, i); }
    bool has_leaf(std::size_t i) const { return unit(i) & 0x100; }  ///< a known text ends here
    std::size_t next(std::size_t i) const {
        return i ^ (std::size_t{unit(i) >> 10} << ((unit(i) & 0x200) >> 6));
    }
    bool leads(std::size_t to, std::uint32_t byte) const { return (unit(to) & 0x800000FF) == byte; }
};

/// Follows every path that the library can take. Each unit must point into the trie, whichever byte
/// comes next, and each leaf into the texts. No path may have more known texts than fit into the
/// library's array of 32, so a unit is visited again when a path with more of them leads to it.
void require_sound_trie(const Trie& trie, std::string_view texts) {
    const std::size_t size = trie.bytes.size() / 4;
    std::vector<int> known(size, -1);  // texts on the path to a unit; -1: not reached yet
    std::vector<std::size_t> open{0};
    known[0] = 0;
    while (!open.empty()) {
        const std::size_t i = open.back(), next = trie.next(i);
        open.pop_back();
        demand((next | 0xFF) < size, "its table of characters points outside itself");
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            const std::size_t to = next ^ byte;
            if (!trie.leads(to, byte)) continue;
            const int n = known[i] + trie.has_leaf(to);
            demand(n <= 32, "more than 32 entries of its table of characters begin alike");
            if (n <= known[to]) continue;
            known[to] = n;
            open.push_back(to);
        }
        demand(i == 0 || !trie.has_leaf(i) || (trie.unit(next) & 0x7FFFFFFF) < texts.size(),
               "its table of characters points outside its texts");
    }
}

void require_sound_characters(std::string_view table) {
    static_assert(std::endian::native == std::endian::little, "models are little-endian");
    if (table.empty()) return;
    demand(table.size() >= 4, "its table of characters is cut short");
    const std::size_t trie_bytes = word_at(table, 0);
    table.remove_prefix(4);
    demand(trie_bytes % 4 == 0 && trie_bytes >= 1024 && trie_bytes < table.size() &&
               trie_bytes <= std::size_t{1} << 22,
           "its table of characters has the wrong size");
    const std::string_view texts = table.substr(trie_bytes);
    demand(texts.back() == '\0' && is_utf8(texts),
           "the texts of its table of characters are not UTF-8 that ends with a zero byte");
    require_sound_trie({table.substr(0, trie_bytes)}, texts);
}
// [pieces]
/// @return whether the piece is a user-defined symbol
bool require_sound_piece(std::string_view message) {
    std::string_view text;
    bool defined = false;
    for_each_field(message, [&](auto name, auto kind, std::string_view bytes, auto value) {
        if (name == 1 && kind == length_and_bytes) text = bytes;
        if (name == 2 && kind == four_bytes)
            demand(std::isfinite(std::bit_cast<float>(word_at(bytes, 0))),
                   "the score of a piece is not finite");
        if (name == 3 && kind == number) defined = static_cast<std::uint32_t>(value) == 4;
    });
    demand(!text.empty() && text.size() <= 1000, "a piece is empty or longer than 1000 bytes");
    demand(text.find('\0') == text.npos && is_utf8(text), "a piece is not UTF-8, or has a 0");
    return defined;
}

}  // namespace

void require_sound_model(std::string_view model) {
    demand(model.size() <= largest_model, "it is larger than 64 MiB");
    std::size_t pieces = 0, defined = 0;
    for_each_field(model, [&](auto name, auto kind, std::string_view bytes, auto) {
        if (kind != length_and_bytes) return;
        if (name == 1) {
            demand(++pieces <= 1'000'000, "it has more than a million pieces");
            defined += require_sound_piece(bytes);
        }
        if (name == 3 || name == 5)  // the rules for normalizing text
            for_each_field(bytes, [](auto rule, auto of_rule, std::string_view table, auto) {
                if (rule == 2 && of_rule == length_and_bytes) require_sound_characters(table);
            });
    });
    demand(pieces > 0, "it has no pieces");
    // the library has room for 64 that a text can begin with
    demand(defined <= 64, "it has more than 64 user-defined symbols");
}

}  // namespace abh
