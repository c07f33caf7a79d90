#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [byte pairs]
using Pieces = std::vector<std::string>;
using Merge = std::pair<std::string, std::string>;  ///< two pieces that become one

/// "▁", which marks the beginning of a word, and then the word's characters.
Pieces characters(const std::string& word);
/// Joins the two pieces of `merge` wherever they are neighbors, from left to right.
Pieces join(const Merge& merge, const Pieces& pieces);
/// Plain byte pair encoding: which pairs to merge, in order, so that these words need fewer pieces.
/// Among equally frequent pairs, the one with fewer characters wins, then the first by bytes.
/// @param count  how often each word occurs in the text
/// Sennrich, Haddow, Birch 2016, "Neural machine translation of rare words with subword units".
std::vector<Merge> learn_merges(const std::map<std::string, Index>& count, Index n_merges);
/// The pieces of a word, whether the text has it or not.
Pieces cut(const std::string& word, std::span<const Merge> merges);

}  // namespace abh
