#include "lib/io/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "lib/tensor.hpp"

namespace abh {
// [code points]
std::u32string code_points(std::string_view utf8) {
    std::u32string codes;
    for (std::size_t at = 0; at < utf8.size();) {
        const Character c = first_character(utf8.substr(at));
        require(c.bytes > 0, "text: byte {} is 0x{:02X}, which is not UTF-8", at + 1,
                static_cast<unsigned char>(utf8[at]));
        codes += c.code;
        at += c.bytes;
    }
    return codes;
}

std::string utf8(std::u32string_view code_points) {
    std::string text;
    for (const char32_t code : code_points) {
        require(code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF),
                "text: 0x{:X} is not a Unicode character", static_cast<std::uint32_t>(code));
        utf8proc_uint8_t bytes[4];
        const auto n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
        text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
    }
    return text;
}
// [nfc]
namespace {

const utf8proc_property_t& property(char32_t code) {
    return *utf8proc_get_property(static_cast<utf8proc_int32_t>(code));
}

/// Normalization sorts the marks on a letter in time that grows with the square of their number. A
/// language puts about four on a letter at most, but a hostile line may put half a million.
void require_few_marks(std::u32string_view codes) {
    constexpr Index most = 1000;
    Index marks = 0;
    for (const char32_t code : codes) {
        marks = property(code).combining_class > 0 ? marks + 1 : 0;
        require(marks <= most, "a letter has more than {} marks", most);
    }
}

}  // namespace

std::string nfc(std::string_view text) {
    if (std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0; })) return std::string(text);
    require_few_marks(code_points(text));
    utf8proc_uint8_t* mapped = nullptr;
    const auto size =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(&text[0]),
                     static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
    require(size >= 0, "text: {}", utf8proc_errmsg(size));
    return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size)};
}
// [tidy]
namespace {

/// White space, line breaks and control characters.
bool separates(char32_t code) {
    const auto category = property(code).category;
    return category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_CC;
}

/// What separates, and letters and signs that are only a blank: Braille's, and Hangul's fillers.
bool looks_like_a_space(char32_t code) {
    return separates(code) || code == 0x2800 || code == 0x3164 || code == 0xFFA0;
}

/// Characters of no width, which Unicode calls default ignorable, and those that stand around an
/// annotation; but no joiner.
bool is_invisible(char32_t code) {
    if (code == 0x200C || code == 0x200D) return false;
    return property(code).ignorable || (code >= 0xFFF9 && code <= 0xFFFB);
}

/// The text without what `is_gone` finds, with one space for each run of what `is_space` finds.
std::string respaced(std::string_view text, bool is_space(char32_t), bool is_gone(char32_t)) {
    std::u32string kept;
    for (const char32_t code : code_points(text))
        if (is_space(code)) {
            if (!kept.empty() && kept.back() != U' ') kept += U' ';
        } else if (!is_gone(code)) {
            kept += code;
        }
    if (kept.ends_with(U' ')) kept.pop_back();
    return utf8(kept);
}

}  // namespace

std::string tidy(std::string_view text) {
    // NFC is last, because a letter may only now be next to its accent
    return nfc(respaced(text, looks_like_a_space, is_invisible));
}

std::string one_line(std::string_view text) {
    return respaced(text, separates, turns_direction);
}
// [lines]
std::vector<std::string> lines_of(std::string_view text, const std::filesystem::path& path,
                                  const TextLimits& limits) {
    const auto fail = [&]<class... Args>(std::size_t line, fmt::format_string<Args...> why,
                                         Args&&... args) {
        const std::string at = line > 0 ? fmt::format(":{}", line) : "";
        throw std::runtime_error(path.string() + at + ": " +
                                 fmt::format(why, std::forward<Args>(args)...));
    };
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
    std::vector<std::string> lines;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t number = lines.size() + 1;
        if (number > limits.lines) fail(0, "has more than {} lines", limits.lines);
        if (line.size() > limits.line_bytes)
            fail(number, "longer than {} bytes", limits.line_bytes);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (const std::size_t bad = find_bad_utf8(line); bad != line.npos)
            fail(number,
                 "byte {} is 0x{:02X}, which is not UTF-8; convert the file from its encoding, for "
                 "example with iconv -f GB18030 -t UTF-8",
                 bad + 1, static_cast<unsigned char>(line[bad]));
        lines.emplace_back(line);
    }
    return lines;
}

std::vector<std::string_view> columns_of(std::string_view line) {
    std::vector<std::string_view> columns;
    while (true) {
        const std::size_t tab = line.find('\t');
        columns.push_back(line.substr(0, tab));
        if (tab == line.npos) return columns;
        line.remove_prefix(tab + 1);
    }
}

}  // namespace abh
