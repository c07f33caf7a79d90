#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/practice/train_options.hpp"
#include "chapters/13_real_translation/practice/validation.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [text]
/// Pairs, and what is to be said beside scores of theirs: which lines of a file do not count.
struct RunText : ParallelText {
    std::string beside_dev, beside_test;
};
/// Reads the pairs that the options name, and prints and records how many there are.
/// @throws std::invalid_argument if no pairs are left to choose by, or as `PairFiles::parse` and
///         `split_pairs` do; std::runtime_error as `read_pairs` and `tatoeba` do
RunText read_text(const TrainOptions& options, Results& results);
// [subwords]
/// Both languages' subwords, learned from the pairs to train on.
/// @param shared  one vocabulary for both
/// @throws std::invalid_argument as `Subwords::train` does
std::pair<Subwords, Subwords> learn_subwords(const std::vector<TextPair>& train, Index n_pieces,
                                             bool shared);
// [encode]
/// Pairs to train on, to choose by and to report on, as ids.
struct TranslationData {
    std::vector<IdPair> train;
    HeldOut dev, test;
    Index too_long = 0;  ///< training pairs left out because the model has too few positions
};

/// Cuts text into pieces. @param longest  the most ids of a sentence, including its end symbol
TranslationData encode_text(const RunText& text, const Subwords& source, const Subwords& target,
                            Index longest);

}  // namespace abh
