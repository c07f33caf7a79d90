#pragma once

#include <CLI/CLI.hpp>

#include "lib/io/results.hpp"

namespace abh {
// [text]
/// The subcommand "text": what the sentences of the book's data are made of.
class TextCommand {
public:
    explicit TextCommand(CLI::App& parent);
    bool parsed() const { return command_->parsed(); }
    void run(Results& results);

private:
    CLI::App* command_;
};

}  // namespace abh
