#pragma once

#include <filesystem>
#include <string>

#include "chapters/13_real_translation/practice/training_run.hpp"

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

}  // namespace abh
