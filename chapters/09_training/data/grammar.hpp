#pragma once

#include "chapters/09_training/data/corpus.hpp"

namespace abh {
// [grammar]
/// Every sentence of a small Chinese-English grammar: person, verb, count, adjective and noun, as a
/// statement, a negation or a question.
///
/// Whole combinations of verb, count and noun are held out, with every person, adjective and form:
/// that of 我 有 一 个 女 朋 友 and every eleventh one after it. Each of these words occurs in
/// training, and so do any two of the three together, but never all three.
Corpus grammar_corpus();

}  // namespace abh
