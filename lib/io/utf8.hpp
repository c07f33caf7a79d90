#pragma once

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
bool is_utf8(std::string_view text);
// [printable]
/// Whether a character is one of the invisible marks that turn the direction of writing (UAX #9).
bool turns_direction(char32_t code);
/// A text that is safe to show, whatever is in it: control characters, line separators, what turns
/// the direction of writing, and bytes that are not UTF-8 become `\xNN`, byte by byte.
/// @param most  characters of `text`; "..." stands for those behind
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

}  // namespace abh
