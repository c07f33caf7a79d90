#include "chapters/13_real_translation/scores/score_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "chapters/13_real_translation/data/text.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [names]
namespace {

constexpr std::array names{std::pair{Tokenization::v13a, "13a"}, std::pair{Tokenization::zh, "zh"},
                           std::pair{Tokenization::characters, "char"},
                           std::pair{Tokenization::none, "none"}};

}  // namespace

std::string name_of(Tokenization tokenization) {
    return std::find_if(names.begin(), names.end(),
                        [&](const auto& known) { return known.first == tokenization; })
        ->second;
}

Tokenization tokenization_named(const std::string& name) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& known) { return known.second == name; });
    require(found != names.end(), "tokenization {}: expected 13a, zh, char or none",
            printable(name));
    return found->first;
}
// [spaces]
bool is_space(char32_t c) {
    return (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

std::vector<std::u32string> split_at_spaces(std::u32string_view line) {
    std::vector<std::u32string> words;
    bool inside = false;
    for (const char32_t c : line) {
        if (!is_space(c) && !inside) words.emplace_back();
        inside = !is_space(c);
        if (inside) words.back() += c;
    }
    return words;
}
// [rules]
namespace {

std::u32string replace_all(std::u32string line, std::u32string_view from, std::u32string_view to) {
    for (std::size_t at = 0; (at = line.find(from, at)) != line.npos; at += to.size())
        line.replace(at, from.size(), to);
    return line;
}

/// Signs of XML as themselves, `ampersand` before the others.
std::u32string without_entities(std::u32string line) {
    for (const auto& [from, to] :
         {std::pair{U"&quot;", U"\""}, {U"&amp;", U"&"}, {U"&lt;", U"<"}, {U"&gt;", U">"}})
        line = replace_all(std::move(line), from, to);
    return line;
}

bool is_digit(char32_t c) {
    return c >= U'0' && c <= U'9';
}
bool is_point(char32_t c) {
    return c == U'.' || c == U',';
}

/// Signs of ASCII that are a word wherever they stand: all but ' , - .
bool is_sign(char32_t c) {
    return c > 0x20 && c < 0x7F && !is_digit(c) && !(c >= U'A' && c <= U'Z') &&
           !(c >= U'a' && c <= U'z') && c != U'\'' && c != U'-' && !is_point(c);
}

/// A space around each character of which `test` is true.
template <class Test>
std::u32string apart(const std::u32string& line, const Test& test) {
    std::u32string result;
    for (const char32_t c : line) {
        if (test(c)) result += U' ';
        result += c;
        if (test(c)) result += U' ';
    }
    return result;
}

/// Where `test` is true of two neighbours: a space between them, and `before` and `after` around
/// them. The search goes on behind the second.
template <class Test>
std::u32string apart(const std::u32string& line, const Test& test, std::u32string_view before,
                     std::u32string_view after) {
    std::u32string result;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (i + 1 == line.size() || !test(line[i], line[i + 1])) {
            result += line[i];
            continue;
        }
        result.append(before) += line[i];
        result += U' ';
        result += line[++i];
        result.append(after);
    }
    return result;
}
// [rules: 13a]
/// Points and commas are words, except inside numbers; so is a hyphen behind a digit.
std::u32string points_apart(std::u32string line) {
    line = apart(
        line, [](char32_t a, char32_t b) { return !is_digit(a) && is_point(b); }, U"", U" ");
    line = apart(
        line, [](char32_t a, char32_t b) { return is_point(a) && !is_digit(b); }, U" ", U"");
    return apart(
        line, [](char32_t a, char32_t b) { return is_digit(a) && b == U'-'; }, U"", U" ");
}

std::u32string line_13a(std::u32string line) {
    line = without_entities(replace_all(std::move(line), U"<skipped>", U""));
    return points_apart(apart(U" " + line + U" ", is_sign));
}
// [rules: zh]
/// What sacrebleu takes for Chinese: its ranges, among them all from U+2001 to U+2A6D, in which
/// general punctuation and arrows lie, and not the characters beyond U+FFFF.
bool is_chinese(char32_t c) {
    constexpr std::array<std::pair<char32_t, char32_t>, 13> ranges{{{0x2001, 0x2A6D},
                                                                    {0x2E80, 0x2FDF},
                                                                    {0x2FF0, 0x303F},
                                                                    {0x3100, 0x312F},
                                                                    {0x31A0, 0x31BF},
                                                                    {0x31C0, 0x31EF},
                                                                    {0x3200, 0x33FF},
                                                                    {0x3400, 0x4DB5},
                                                                    {0x4E00, 0x9FBB},
                                                                    {0xF900, 0xFA2D},
                                                                    {0xFA30, 0xFA6A},
                                                                    {0xFA70, 0xFAD9},
                                                                    {0xFE10, 0xFE1F}}};
    return (c >= 0xFE30 && c <= 0xFE4F) || (c >= 0xFF00 && c <= 0xFFEF) ||
           std::any_of(ranges.begin(), ranges.end(),
                       [c](const auto& range) { return c >= range.first && c <= range.second; });
}

std::u32string line_zh(const std::u32string& line) {
    const auto word = [](char32_t c) { return !is_space(c); };
    const auto begin = std::find_if(line.begin(), line.end(), word);
    const auto end = std::find_if(line.rbegin(), line.rend(), word).base();
    const std::u32string inner = begin < end ? std::u32string(begin, end) : U"";
    return points_apart(apart(apart(inner, is_chinese), is_sign));
}

}  // namespace
// [words]
std::vector<std::string> score_words(std::string_view line, Tokenization tokenization) {
    std::u32string text = code_points(line);
    if (tokenization == Tokenization::v13a) text = line_13a(std::move(text));
    if (tokenization == Tokenization::zh) text = line_zh(text);
    if (tokenization == Tokenization::characters) text = apart(text, [](char32_t) { return true; });
    std::vector<std::string> words;
    for (const std::u32string& word : split_at_spaces(text)) words.push_back(utf8(word));
    return words;
}

std::u32string normalized_for_ter(std::u32string line) {
    std::u32string spaced(1, U' ');
    spaced += without_entities(std::move(line));
    spaced += U' ';
    line = apart(spaced, is_sign);
    return points_apart(replace_all(std::move(line), U"'s ", U" 's "));
}

}  // namespace abh
