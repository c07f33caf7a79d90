#pragma once

#include <string>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/practice/validation.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"

namespace abh {
// [data]
/// Pairs to train on, to choose by and to report on, as ids.
struct TranslationData {
    std::vector<IdPair> train;
    HeldOut dev, test;
    Index too_long = 0;  ///< pairs of training that the model's positions do not hold: left out
    Index cut = 0;       ///< held-out pairs of which this model sees the beginning alone
};

/// Cuts text into pieces. @param longest  words of a sentence, at most, its end symbol included
TranslationData encode_text(const ParallelText& text, const Subwords& source,
                            const Subwords& target, Index longest);
/// Both languages' subwords, learned from the pairs to train on.
/// @param shared  one vocabulary for both
std::pair<Subwords, Subwords> learn_subwords(const std::vector<TextPair>& train, Index n_pieces,
                                             bool shared);
/// A line that another text would change: how many pairs, and their checksum.
std::string fingerprint(const std::vector<TextPair>& pairs);

}  // namespace abh
