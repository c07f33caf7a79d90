#include "chapters/13_real_translation/scores/scores.hpp"

#include <algorithm>
#include <regex>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/13_real_translation/data/text.hpp"

namespace abh {
// [rules]
namespace {

using Rules = std::vector<std::pair<std::regex, std::string>>;

/// Entities of XML become what they stand for.
const Rules entities{{std::regex("<skipped>"), ""},
                     {std::regex("&quot;"), "\""},
                     {std::regex("&amp;"), "&"},
                     {std::regex("&lt;"), "<"},
                     {std::regex("&gt;"), ">"}};
/// Signs of ASCII become words, except ' and -. Points and commas do so only outside numbers, and a
/// hyphen does after a digit.
const Rules signs{{std::regex("[!-&(-+/:-@[-`{-~]"), " $& "},
                  {std::regex("([^0-9])([.,])"), "$1 $2 "},
                  {std::regex("([.,])([^0-9])"), " $1 $2"},
                  {std::regex("([0-9])-"), "$1 - "}};

std::string rewritten(std::string line, const Rules& rules) {
    for (const auto& [pattern, text] : rules) line = std::regex_replace(line, pattern, text);
    return line;
}
// [characters]
/// Whether `c` is in a range. @param bounds  each range's first character, and the first after it
bool within(std::initializer_list<char32_t> bounds, char32_t c) {
    return (std::ranges::upper_bound(bounds, c) - bounds.begin()) % 2 == 1;
}

/// White space as Unicode defines it, including the wide space of Chinese.
bool is_space(char32_t c) {
    return within({0x9,    0xE,    0x1C,   0x21,   0x85,   0x86,   0xA0,   0xA1,   0x1680, 0x1681,
                   0x2000, 0x200B, 0x2028, 0x202A, 0x202F, 0x2030, 0x205F, 0x2060, 0x3000, 0x3001},
                  c);
}

/// What sacrebleu takes for Chinese. Its ranges include all characters from U+2001 to U+2A6D, and
/// so general punctuation and arrows, but none beyond U+FFFF.
bool is_chinese(char32_t c) {
    return within({0x2001, 0x2A6E, 0x2E80, 0x2FE0, 0x2FF0, 0x3040, 0x3100, 0x3130, 0x31A0,
                   0x31F0, 0x3200, 0x4DB6, 0x4E00, 0x9FBC, 0xF900, 0xFA2E, 0xFA30, 0xFA6B,
                   0xFA70, 0xFADA, 0xFE10, 0xFE20, 0xFE30, 0xFE50, 0xFF00, 0xFFF0},
                  c);
}

}  // namespace
// [words]
Words score_words(std::string_view line, const std::string& tokenization) {
    const bool v13a = tokenization == "13a", zh = tokenization == "zh",
               all = tokenization == "char";
    require(v13a || zh || all || tokenization == "none",
            "tokenization {}: expected 13a, zh, char or none", printable(tokenization));
    std::u32string spaced;
    for (const char32_t c : code_points(line)) {
        if (is_space(c))
            spaced += U' ';
        else if (all || (zh && is_chinese(c)))
            spaced += {U' ', c, U' '};
        else
            spaced += c;
    }
    const Words words = split_words(utf8(spaced));
    if (zh) return split_words(rewritten(join_words(words), signs));
    if (v13a)
        return split_words(rewritten(rewritten(" " + join_words(words) + " ", entities), signs));
    return words;
}

}  // namespace abh
