#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "chapters/13_real_translation/scores/scores.hpp"
#include "lib/io/results.hpp"
#include "lib/program/options.hpp"

namespace abh {
// [command]
/// The subcommand `score`: scores of translations against references. Without references, what the
/// page about scores shows.
class ScoreCommand {
public:
    explicit ScoreCommand(Options& parent);
    bool chosen() const { return command_.chosen(); }
    /// @param seed  of the samples that intervals are made of
    void run(Results& results, std::uint64_t seed);

private:
    std::vector<Metric> metrics() const;
    void print_one(const std::vector<std::string>& references, Results& results,
                   std::uint64_t seed) const;
    void print_two(const std::vector<std::string>& references, Results& results,
                   std::uint64_t seed) const;

    Options command_;
    std::filesystem::path reference_, hypothesis_ = "/dev/stdin", other_;
    std::vector<std::string> names_{"bleu", "chrf", "ter"};
    std::string tokenize_ = "13a";
    Index chrf_words_ = 0;
    bool lowercase_ = false, confidence_ = false;
};

}  // namespace abh
