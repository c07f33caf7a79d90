#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

#include "lib/io/results.hpp"

namespace abh {
// [text]
/// The subcommand "text": what the sentences of the book's data are made of. With `--write` it puts
/// their three parts into a folder, for other programs: `train.tsv`, `dev.tsv`, `test.tsv`.
class TextCommand {
public:
    explicit TextCommand(CLI::App& parent);
    bool parsed() const { return command_->parsed(); }
    void run(Results& results);

private:
    CLI::App* command_;
    std::filesystem::path folder_;
};

}  // namespace abh
