#include "chapters/13_real_translation/data/text.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace abh {
// [characters]
namespace {

utf8proc_category_t category(char32_t code) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

char32_t lower(char32_t code) {
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

bool is_letter_or_digit(char32_t code) {
    const auto of_code = category(code);
    return of_code >= UTF8PROC_CATEGORY_LU && of_code <= UTF8PROC_CATEGORY_NO;  // marks, too
}

/// Letters that are in lower or upper case, and signs made of such letters.
bool is_cased(char32_t code) {
    const auto of_code = category(code);
    return of_code == UTF8PROC_CATEGORY_LU || of_code == UTF8PROC_CATEGORY_LL ||
           of_code == UTF8PROC_CATEGORY_LT || code == U'ª' || code == U'º' ||
           (code >= 0x2160 && code <= 0x217F) || (code >= 0x24B6 && code <= 0x24E9) ||
           (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) ||
           (code >= 0x1F170 && code <= 0x1F189);
}

/// Marks and signs that may stand within a word or after it.
bool is_ignored_by_case(char32_t code) {
    const auto of_code = category(code);
    return of_code == UTF8PROC_CATEGORY_MN || of_code == UTF8PROC_CATEGORY_ME ||
           of_code == UTF8PROC_CATEGORY_CF || of_code == UTF8PROC_CATEGORY_LM ||
           of_code == UTF8PROC_CATEGORY_SK ||
           std::u32string_view(U"'.:·\u0387\u055F\u05F4‘’\u2024\u2027\uFE13\uFE52\uFE55＇．：")
                   .find(code) != std::u32string_view::npos;
}
// [case]
/// Whether the letter at this place is the last of a word of several, by the condition Final_Sigma
/// of Unicode's SpecialCasing.txt.
bool ends_word(std::u32string_view text, std::size_t at) {
    const auto meets_letter = [](auto first, auto end) {
        first = std::find_if_not(first, end, is_ignored_by_case);
        return first != end && is_cased(*first);
    };
    const std::u32string_view before = text.substr(0, at), after = text.substr(at + 1);
    return meets_letter(before.rbegin(), before.rend()) &&
           !meets_letter(after.begin(), after.end());
}

}  // namespace

std::string lower_case(std::string_view text) {
    const std::u32string codes = code_points(text);
    std::u32string small;
    for (std::size_t at = 0; at < codes.size(); ++at)
        if (codes[at] == U'İ')
            small += U"i\u0307";
        else if (codes[at] == U'Σ' && ends_word(codes, at))
            small += U'ς';
        else
            small += lower(codes[at]);
    return utf8(small);
}

std::string letters(std::string_view text) {
    std::u32string kept;
    std::ranges::copy_if(code_points(text), std::back_inserter(kept), is_letter_or_digit);
    return replaced(lower_case(utf8(kept)), "ς", "σ");
}
// [replaced]
std::string replaced(std::string text, std::string_view part, std::string_view other) {
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += other.size())
        text.replace(at, part.size(), other);
    return text;
}

}  // namespace abh
