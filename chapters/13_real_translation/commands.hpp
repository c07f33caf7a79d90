#pragma once

#include <filesystem>
#include <string>

#include "chapters/13_real_translation/practice/translator_in_training.hpp"
#include "chapters/13_real_translation/search/translate_lines.hpp"
#include "lib/program/program.hpp"

namespace abh {
// [text]
/// `./book run 13 text`: what the sentences of the book's data are made of.
void show_text(Results& results);
/// Writes their three parts into a folder, for other programs: `train.tsv`, `dev.tsv`, `test.tsv`.
void write_text(const std::filesystem::path& folder);
// [search]
/// `./book run 13 search`: what beam search does, on models of three words.
void show_search(Results& results, std::uint64_t seed);
// [score]
/// The subcommand `score`, which scores translations against references. Without references, it
/// shows the examples of the page about scores.
class ScoreCommand {
public:
    explicit ScoreCommand(Options& parent);
    bool chosen() const { return command_.chosen(); }
    /// @param seed  of the samples from which intervals are computed
    void run(Results& results, std::uint64_t seed);

private:
    Options command_;
    std::filesystem::path reference_, hypothesis_ = "/dev/stdin", other_;
    std::string tokenize_ = "13a";
    bool lowercase_ = false;
};
// [train]
/// `./book run 13 train`, or `./book run 13` alone: trains a translator on real sentences.
class TrainCommand {
public:
    /// Adds the subcommand. Its options are the parent's, which also trains without a subcommand.
    /// @param name  of the run, if no folder is given for it
    explicit TrainCommand(Options& parent, std::string name = default_run_name);

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
    TrainOptions options_;
};
// [translate]
/// A model that `train` wrote, as a translator of text.
LineTranslator translator_of(TextModel model);
/// The translator that the default run left, about which it says a line on the error output.
/// @throws std::invalid_argument if there is none
LineTranslator default_translator(std::uint64_t seed);
/// `./book run 13 bits`: what the translator says and how fast, computed in 32, 16 and 8 bits.
void show_bits(const LineTranslator& translator, Results& results, std::uint64_t seed);

/// `./book run 13 translate`: translates lines of standard input to standard output.
class TranslateCommand {
public:
    explicit TranslateCommand(Options& parent);
    bool chosen() const { return command_.chosen(); }
    /// @param seed  of the run whose model is used if none is named
    void run(Results& results, std::uint64_t seed);

private:
    void fill_in(const BeamOptions& theirs);

    Options command_;
    std::filesystem::path model_;
    LineOptions options_;
    Index n_best_ = 0;
    std::string stop_ = "usual", bits_ = "32";
};

}  // namespace abh
