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

/// The characters of a word behind "▁", which marks where a word begins.
Pieces characters(const std::string& word);
/// Joins each `merge` in `pieces`, from left to right.
Pieces join(const Merge& merge, const Pieces& pieces);
/// Byte pair encoding, plainly: what to merge, in order, to describe these words with fewer pieces.
/// Of pairs that are equally frequent the one with fewer characters wins, then the lesser bytes.
/// @param count  how often each word occurs in the text
/// Sennrich, Haddow, Birch 2016, "Neural machine translation of rare words with subword units".
std::vector<Merge> learn_merges(const std::map<std::string, Index>& count, Index n_merges);
/// The pieces of a word, known or not.
Pieces cut(const std::string& word, std::span<const Merge> merges);

}  // namespace abh
