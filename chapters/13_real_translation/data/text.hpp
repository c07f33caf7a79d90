#pragma once

#include <string>
#include <string_view>

namespace abh {
// [utf8]
/// Where `text` stops being UTF-8: the position of the first byte that cannot stand there, or
/// `npos`. Overlong forms, surrogates and numbers above U+10FFFF are no UTF-8 (RFC 3629).
std::size_t find_bad_utf8(std::string_view text);
bool is_utf8(std::string_view text);
/// The characters (Unicode code points) of a text. @throws std::invalid_argument if it is not UTF-8
std::u32string code_points(std::string_view utf8);
/// @throws std::invalid_argument for a surrogate or a number above U+10FFFF
std::string utf8(std::u32string_view code_points);
// [normal forms]
/// One spelling for characters that Unicode can write in several ways: normalization form C, by
/// utf8proc. @throws std::invalid_argument if `text` is not UTF-8, or has a letter with more than
///         1000 marks
std::string nfc(std::string_view text);
/// In lower case, character by character. @throws std::invalid_argument if `text` is not UTF-8
std::string lower_case(std::string_view text);
/// NFC, with each run of white space and control characters made a single space, none at either
/// end, and without the marks that turn the direction of writing: `printable` shows it as it is.
/// @throws std::invalid_argument as `nfc` does
std::string tidy(std::string_view text);
/// The letters and digits alone, in lower case: what two spellings of a sentence share.
/// @throws std::invalid_argument if `text` is not UTF-8
std::string letters(std::string_view text);
// [printable]
/// A text that is safe to show: control characters, what changes the direction of writing, and
/// bytes that are not UTF-8 become `\xNN`, byte by byte.
std::string printable(std::string_view text);
/// Its beginning, at most `characters` long, with "..." if something is left out.
std::string printable(std::string_view text, std::size_t characters);

}  // namespace abh
