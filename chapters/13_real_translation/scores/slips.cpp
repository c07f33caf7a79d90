#include "chapters/13_real_translation/scores/slips.hpp"

#include <algorithm>
#include <array>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/score_words.hpp"

namespace abh {
// [words]
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& sentence) {
    return score_words(sentence, Tokenization::v13a);
}

constexpr std::array negations{"not",     "no",  "never",   "nobody", "nothing", "none",
                               "nowhere", "nor", "neither", "cannot", "without"};

bool negates(const std::string& word) {
    const std::string lower = lower_case(word);
    return lower.ends_with("n't") || lower.ends_with("n’t") ||
           std::ranges::find(negations, lower) != negations.end();
}

bool is_number(const std::string& word) {
    return std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

/// I, I'm, I'll, ... have a capital everywhere.
bool is_i(const std::string& word) {
    return word == "I" || word.starts_with("I'") || word == "OK";
}

bool ends_a_sentence(const std::string& word) {
    return word == "." || word == "?" || word == "!" || word == "\"" || word == ":";
}

bool is_name(const Words& words, std::size_t i) {
    return i > 0 && !ends_a_sentence(words[i - 1]) && words[i] != lower_case(words[i]) &&
           !is_i(words[i]);
}

}  // namespace
// [marks]
std::set<std::string> marks(Mark mark, const std::string& sentence) {
    const Words words = words_of(sentence);
    std::set<std::string> found;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (mark == Mark::question && words[i] == "?") found.insert("?");
        if (mark == Mark::negation && negates(words[i])) found.insert("not");
        if (mark == Mark::number && is_number(words[i])) found.insert(words[i]);
        if (mark == Mark::name && is_name(words, i)) found.insert(words[i]);
    }
    return found;
}

bool kept(Mark mark, const std::string& sentence, const std::string& other) {
    std::set<std::string> there = marks(mark, other);
    if (mark == Mark::name) {  // it may begin the other sentence
        const Words words = words_of(other);
        there.insert(words.begin(), words.end());
    }
    return std::ranges::includes(there, marks(mark, sentence));
}
// [form]
std::size_t count_words(const std::string& sentence) {
    return words_of(sentence).size();
}

bool repeats(const std::string& sentence) {
    const Words words = words_of(lower_case(sentence));
    std::set<Words> seen;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0 && words[i] == words[i - 1]) return true;
        if (i > 1 && !seen.insert({words[i - 2], words[i - 1], words[i]}).second) return true;
    }
    return false;
}

}  // namespace abh
