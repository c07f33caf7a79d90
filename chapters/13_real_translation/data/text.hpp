#pragma once

#include <string>
#include <string_view>

#include "lib/io/text.hpp"

namespace abh {
// [utf8]
/// The characters (Unicode code points) of a text. @throws std::invalid_argument if it is not UTF-8
std::u32string code_points(std::string_view utf8);
/// @throws std::invalid_argument for a surrogate or a number above U+10FFFF
std::string utf8(std::u32string_view code_points);
// [normal forms]
/// One spelling for characters that Unicode can write in several ways: normalization form C, by
/// utf8proc. @throws std::invalid_argument if `text` is not UTF-8, or has a letter with more than
///         1000 marks
std::string nfc(std::string_view text);
/// The text with each character in lower case. @throws std::invalid_argument if it is not UTF-8
std::string lower_case(std::string_view text);
/// The text in NFC, with one space for each run of white space and control characters, none at the
/// ends, and no marks that turn the direction of writing, so that `printable` shows it as it is.
/// @throws std::invalid_argument as `nfc` does
std::string tidy(std::string_view text);
/// Only the letters and digits, in lower case, which two spellings of a sentence share.
/// @throws std::invalid_argument if `text` is not UTF-8
std::string letters(std::string_view text);
/// The text with `other` in place of each `part`.
std::string replaced(std::string text, std::string_view part, std::string_view other);
}  // namespace abh
