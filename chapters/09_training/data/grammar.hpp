#pragma once

#include <vector>

#include "chapters/09_training/data/corpus.hpp"

namespace abh {
// [grammar]
/// Every sentence of a small Chinese-English grammar, as a statement, a negation or a question.
///
/// The first part says that a person has, likes or knows one or two of something. The second part
/// says who likes or knows whom, for each two of five persons and ten phrases such as 这 个 老 师,
/// both ways round, so the same words mean different things in different orders.
Corpus grammar_corpus();
// [held out]
/// The grammar's held-out pairs, by what is new about them.
struct HeldOutKinds {
    /// Of the first part: four combinations of verb, count and noun, with every person, adjective
    /// and form. Any two of the three words are trained together, but never all three.
    std::vector<SentencePair> combination;
    /// Of the second part: who likes or knows whom, where only the reverse is trained.
    std::vector<SentencePair> swapped;
    /// Of the second part: who likes or knows whom, where neither way round is trained.
    std::vector<SentencePair> both_ways;
};
/// What `grammar_corpus` holds out, in the order of its fields.
HeldOutKinds grammar_held_out();

}  // namespace abh
