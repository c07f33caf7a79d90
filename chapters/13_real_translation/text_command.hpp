#pragma once

#include <filesystem>

#include "lib/program/options.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [text]
/// The subcommand "text": what the sentences of the book's data are made of. With `--write` it puts
/// their three parts into a folder, for other programs: `train.tsv`, `dev.tsv`, `test.tsv`.
class TextCommand {
public:
    explicit TextCommand(Options& parent);
    bool chosen() const { return command_.chosen(); }
    void run(Results& results);

private:
    Options command_;
    std::filesystem::path folder_;
};

}  // namespace abh
