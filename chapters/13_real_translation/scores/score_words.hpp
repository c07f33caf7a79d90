#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace abh {
// [words]
/// How a line becomes the words that are counted; the names are sacrebleu's.
enum class Tokenization {
    v13a,        ///< that of the mteval script, version 13a: signs apart from words
    zh,          ///< each Chinese character is a word, the rest as in 13a
    characters,  ///< each character is a word
    none         ///< what stands between spaces
};

/// The name in signatures: "13a", "zh", "char" or "none".
std::string name_of(Tokenization tokenization);
/// @throws std::invalid_argument naming all four if `name` is none of them
Tokenization tokenization_named(const std::string& name);

/// The words of a line of UTF-8. @throws std::invalid_argument if it is not UTF-8
std::vector<std::string> score_words(std::string_view line, Tokenization tokenization);
// [characters]
/// White space as Unicode has it, the wide space of Chinese included.
bool is_space(char32_t c);
/// The parts of a line between white space.
std::vector<std::u32string> split_at_spaces(std::u32string_view line);
// [normalization]
/// The line that TER counts with its option "norm": signs apart from words, and 's, too.
std::u32string normalized_for_ter(std::u32string line);

}  // namespace abh
