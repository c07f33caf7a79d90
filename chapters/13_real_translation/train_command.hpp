#pragma once

#include <filesystem>
#include <string>

#include "chapters/13_real_translation/practice/run_state.hpp"
#include "lib/program/options.hpp"
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
// [command]
/// `./book run 13 train`, or `./book run 13` alone: trains a translator on real sentences.
class TrainCommand {
public:
    /// Adds the subcommand. Its options are the parent's, which also trains without a subcommand.
    /// @param name  of the run, if no folder is given for it
    explicit TrainCommand(Options& parent, std::string name = default_run_name);
    bool chosen() const { return command_.chosen(); }

    /// Trains, or goes on; chooses by the development pairs; reports on the test pairs, once.
    /// @param seed     of weights, dropout and batches
    /// @param results  receives `parameters`, `epochs`, `steps`, `best_epoch`, `dev_bleu`,
    ///                 `test_bleu`, ..., and the learning curves as arrays
    /// @param team     the processes that train together
    void run(Results& results, std::uint64_t seed, const Team& team = alone());

private:
    void use_quick_defaults();

    Options& parent_;
    std::string name_;
    Options command_;
    TrainOptions options_;
};

}  // namespace abh
