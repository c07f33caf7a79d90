#pragma once

#include <set>
#include <string>

namespace abh {
// [marks]
/// What an English sentence bears on its surface, so that a program that understands nothing can
/// see whether a translation kept it.
enum class Mark {
    question,  ///< a question mark
    negation,  ///< not, n't, no, never, nothing, ...
    number,    ///< digits
    name,      ///< a word with a capital letter within the sentence, but for I
};

/// The marks of one kind in a sentence: `{"?"}`, `{"not"}`, its numbers, or its names.
std::set<std::string> marks(Mark mark, const std::string& sentence);
/// Are all these marks of `sentence` in `other`, too?
bool kept(Mark mark, const std::string& sentence, const std::string& other);
// [form]
/// Words of a sentence, signs counted as words: those of BLEU.
std::size_t count_words(const std::string& sentence);
/// Is a word said twice on end, or three words twice in one order?
bool repeats(const std::string& sentence);

}  // namespace abh
