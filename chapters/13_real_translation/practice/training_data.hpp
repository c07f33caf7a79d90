#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/practice/training_run.hpp"
#include "chapters/13_real_translation/practice/validation.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [options]
/// What `./book run 13` trains, on which text, and where it keeps the result.
struct TrainOptions {
    std::string train, dev, test;  ///< as for `PairFiles::parse`; no `train`: Tatoeba's sentences
    std::filesystem::path folder;  ///< if empty: `NAME-seedN` among the checkpoints
    bool quick = false, resume = false;
    double save_minutes = 5;           ///< between two states
    Index average = 4;                 ///< how many of the last epochs' weights are averaged
    std::string tokenization = "13a";  ///< of BLEU
    Index pieces = 6000;               ///< the most of each vocabulary
    bool shared = false;               ///< one vocabulary for both languages
    Index d_model = 256, d_ff = 512, n_heads = 4, n_layers = 3;
    Real dropout = Real(0.2);
    RunOptions run;
};
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
