#pragma once

#include <string>

#include "chapters/13_real_translation/practice/run_state.hpp"
#include "chapters/13_real_translation/practice/train_options.hpp"
#include "lib/program/options.hpp"
#include "lib/program/output.hpp"

namespace abh {
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
