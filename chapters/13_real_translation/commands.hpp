#pragma once

#include <filesystem>
#include <string>

#include "lib/program/options.hpp"
#include "lib/program/output.hpp"

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

}  // namespace abh
