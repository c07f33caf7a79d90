#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace abh {
// [utf8]
/// A character of Unicode, and how many bytes of UTF-8 it takes.
struct Character {
    char32_t code = 0;
    std::size_t bytes = 0;  ///< 0: there is none
};

/// The character that a text begins with; none where its bytes are not UTF-8. Overlong forms,
/// surrogates and numbers above U+10FFFF are no UTF-8 (RFC 3629).
Character first_character(std::string_view text);
/// Where `text` stops being UTF-8: the position of the first byte that cannot stand there, or
/// `npos`.
std::size_t find_bad_utf8(std::string_view text);
inline bool is_utf8(std::string_view text) {
    return find_bad_utf8(text) == text.npos;
}
// [printable]
/// Whether a character is one of the invisible marks that turn the direction of writing (UAX #9).
bool turns_direction(char32_t code);
/// A text that is safe to show, whatever is in it: control characters, line separators, what turns
/// the direction of writing, and bytes that are not UTF-8 become `\xNN`, byte by byte.
/// @param most  characters of `text`; "..." stands for those behind
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);
// [kind]
/// What a file is that should be text in UTF-8 and is something else by its first bytes, and how to
/// make such text of it: "packed with xz; unpack it (xz -d)". Empty
/// if it may be text. Latin-1 and its like show nothing in front, but bytes that are not UTF-8.
/// @param beginning  of the file; 4096 bytes are enough
std::string foreign_kind(std::string_view beginning);
// [strict json]
/// What a JSON object may hold.
struct JsonLimits {
    std::size_t bytes = std::size_t{1} << 26;
    int depth = 8;  ///< of objects and lists within each other
    std::size_t values = 2'000'000;
};

/// The object that a text holds; looked through before memory is taken for its values.
/// @throws std::invalid_argument that says what is wrong: it is not JSON, or no object; a name
///         occurs twice in an object; a limit is passed
nlohmann::json strict_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace abh
