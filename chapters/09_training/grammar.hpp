#pragma once

#include "chapters/09_training/corpus.hpp"

namespace abh {
// [grammar]
/// Every sentence of a small Chinese-English grammar: person, verb, count, adjective and noun, as a
/// statement, a negation or a question.
///
/// Held out are whole combinations of verb, count and noun, under every person, adjective and form:
/// that of 我 有 一 个 女 朋 友 and every eleventh other. Each of these words, and each two of
/// the three together, occurs in training; the three together never do.
Corpus grammar_corpus();

}  // namespace abh
