#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/text.hpp"

namespace abh {
// [code points]
/// The characters (Unicode code points) of a text. @throws std::invalid_argument if it is not UTF-8
std::u32string code_points(std::string_view utf8);
/// @throws std::invalid_argument for a surrogate or a number above U+10FFFF
std::string utf8(std::u32string_view code_points);
// [tidy]
/// One spelling for characters that Unicode can write in several ways: normalization form C, by
/// utf8proc. @throws std::invalid_argument if `text` is not UTF-8, or has a letter with more than
///         1000 marks
std::string nfc(std::string_view text);
/// The text as a reader sees it, so that texts that look alike are alike: in NFC; one space for
/// each run of control characters and of characters that look like a space, none at the ends; and
/// without characters that nobody sees, such as byte order marks, soft hyphens and marks that turn
/// the direction of writing. Joiners (U+200C, U+200D) stay, because they change how their neighbors
/// look. @throws std::invalid_argument as `nfc` does
std::string tidy(std::string_view text);
/// The text as one line that is safe to print, and otherwise unchanged: one space for each run of
/// white space and control characters, none at the ends, and no marks that turn the direction of
/// writing. @throws std::invalid_argument if it is not UTF-8
std::string one_line(std::string_view text);
// [lines]
/// The most that a text may hold, once it is unpacked if its file is compressed.
struct TextLimits {
    std::size_t line_bytes = std::size_t{1} << 20, file_bytes = std::size_t{1} << 28,
                lines = 4'000'000;
};

/// The lines of a file's text, without a byte order mark before the first and without line ends.
/// @param path  names the file in messages
/// @param limits  of these, `file_bytes` is left to the code that reads the file
/// @throws std::runtime_error naming the file, and the line if it is too long or not UTF-8, then
///         also the byte; or if there are too many lines
std::vector<std::string> lines_of(std::string_view text, const std::filesystem::path& path,
                                  const TextLimits& limits = {});
/// The columns of a line, which tabs separate; an empty line has one, which is empty.
std::vector<std::string_view> columns_of(std::string_view line);

}  // namespace abh
