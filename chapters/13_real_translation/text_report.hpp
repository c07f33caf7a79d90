#pragma once

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [reports]
/// How many pairs there are, and some of them.
void show_data(const ParallelText& text, const CleanCounts& counts, Results& results);
/// What share of the test text a vocabulary of words would not know.
void show_unknown(const ParallelText& text, Results& results);
/// The merges of five words, one after the other, and a word that is not among them.
void show_merges(Results& results);
/// Some sentences in pieces, and whether those of the test come back.
void show_pieces(const ParallelText& text, Results& results);
/// How long sentences are in pieces, by the size of the vocabulary.
void show_vocabulary_sizes(const ParallelText& text, Results& results);

}  // namespace abh
