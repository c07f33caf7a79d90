#include "chapters/13_real_translation/data/text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "lib/tensor.hpp"

namespace abh {
// [utf8]
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
// [normal forms]
namespace {

utf8proc_category_t category(char32_t code) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

/// Normalization sorts the marks on a letter in time that grows with the square of their number. A
/// language puts about four on a letter at most, but a hostile line may put a million.
void require_few_marks(std::u32string_view codes) {
    constexpr Index most = 1000;
    Index marks = 0;
    for (const char32_t code : codes) {
        const auto* of_code = utf8proc_get_property(static_cast<utf8proc_int32_t>(code));
        marks = of_code->combining_class > 0 ? marks + 1 : 0;
        require(marks <= most, "a letter has more than {} marks", most);
    }
}

bool is_letter_or_digit(char32_t code) {
    const auto of_code = category(code);
    return of_code >= UTF8PROC_CATEGORY_LU && of_code <= UTF8PROC_CATEGORY_NO;  // marks, too
}

/// White space, line breaks and control characters.
bool separates(char32_t code) {
    const auto of_code = category(code);
    return of_code >= UTF8PROC_CATEGORY_ZS && of_code <= UTF8PROC_CATEGORY_CC;
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

std::string lower_case(std::string_view text) {
    std::u32string codes = code_points(text);
    for (char32_t& code : codes)
        code = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
    return utf8(codes);
}

std::string tidy(std::string_view text) {
    std::u32string tidied;
    for (const char32_t code : code_points(text)) {
        if (turns_direction(code)) continue;
        if (!separates(code))
            tidied += code;
        else if (!tidied.empty() && tidied.back() != U' ')
            tidied += U' ';
    }
    if (tidied.ends_with(U' ')) tidied.pop_back();
    return nfc(utf8(tidied));  // last, because a letter may only now be next to its accent
}

std::string letters(std::string_view text) {
    std::u32string kept;
    for (const char32_t code : code_points(text))
        if (is_letter_or_digit(code)) kept += code;
    return lower_case(utf8(kept));
}

std::string replaced(std::string text, std::string_view part, std::string_view other) {
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += other.size())
        text.replace(at, part.size(), other);
    return text;
}

}  // namespace abh
