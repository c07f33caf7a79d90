#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/io/results.hpp"

namespace abh {
// [unknown]
/// What a vocabulary of all units of a training text does not know of another text.
struct Unknown {
    Index distinct = 0;   ///< units of training
    Index once = 0;       ///< those of them that occur there once
    Index units = 0;      ///< of the other text
    Index unknown = 0;    ///< those of them that training lacks
    Index sentences = 0;  ///< of the other text, with an unknown unit
};

using Units = std::vector<std::string>;

/// Words and punctuation marks: spaces separate, and each mark stands alone.
Units words_and_marks(const std::string& sentence);
/// The characters, spaces left out.
Units single_characters(const std::string& sentence);
/// @param cut  cuts a sentence into units
/// @param largest  a vocabulary of at most as many units, the most frequent ones
Unknown count_unknown(std::span<const std::string> train, std::span<const std::string> test,
                      Units (*cut)(const std::string&), std::size_t largest = ~std::size_t{0});
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
