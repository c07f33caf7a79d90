#pragma once

#include <string>
#include <string_view>

#include "lib/io/unicode.hpp"

namespace abh {
// [case]
/// The text in lower case. Two letters are special: İ becomes an i and a dot above, and Σ at the
/// end of a word becomes ς. @throws std::invalid_argument if it is not UTF-8
std::string lower_case(std::string_view text);
/// Only the letters and digits, in lower case, which two spellings of a sentence share. ς is σ
/// here, since where a word ends is not among them.
/// @throws std::invalid_argument if `text` is not UTF-8
std::string letters(std::string_view text);
/// The text with `other` in place of each `part`.
std::string replaced(std::string text, std::string_view part, std::string_view other);
}  // namespace abh
