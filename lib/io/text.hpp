#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace abh {
// [utf8]
/// A Unicode character, and how many bytes it takes in UTF-8.
struct Character {
    char32_t code = 0;
    std::size_t bytes = 0;  ///< 0 if there is no character
};

/// The character that a text begins with; none if the text is empty or does not begin with UTF-8.
/// Overlong forms, surrogates and numbers above U+10FFFF are not UTF-8 (RFC 3629).
Character first_character(std::string_view text);
/// Where `text` stops being UTF-8: the position of the first byte that begins no character, or
/// `npos`.
std::size_t find_bad_utf8(std::string_view text);
inline bool is_utf8(std::string_view text) {
    return find_bad_utf8(text) == text.npos;
}
// [printable]
/// Whether a character is one of the invisible marks that change the direction of writing (UAX #9).
bool turns_direction(char32_t code);
/// Makes any text safe to show: control characters, line separators, marks that change the
/// direction of writing, and bytes that are not UTF-8 become `\xNN`, byte by byte.
/// @param most  how many characters of `text` to show; "..." replaces the rest
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);
// [kind]
/// What a file is, according to its first bytes, if it is not the text in UTF-8 that it should be,
/// and how to get such text from it: "compressed with xz; decompress it (xz -d)". Empty if it may
/// be text. Latin-1 and the like pass here, but they contain bytes that are not UTF-8.
/// @param beginning  of the file; 4096 bytes are enough
std::string foreign_kind(std::string_view beginning);
// [strict json]
/// Limits for a JSON object.
struct JsonLimits {
    std::size_t bytes = std::size_t{1} << 26;
    int depth = 8;  ///< of nested objects and lists
    std::size_t values = 2'000'000;
};

/// Reads the object that a text holds. The text is checked before memory is taken for its values.
/// @throws std::invalid_argument saying what is wrong: the text is not JSON or not an object, an
///         object has the same name twice, or a limit is exceeded
nlohmann::json strict_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace abh
