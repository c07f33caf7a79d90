#pragma once

#include <CLI/CLI.hpp>

#include "lib/io/results.hpp"

namespace abh {
// [command]
/// `./book run 13 search`: what beam search does, on models of three words.
class SearchCommand {
public:
    explicit SearchCommand(CLI::App& parent);
    bool parsed() const { return command_->parsed(); }
    void run(Results& results, std::uint64_t seed);

private:
    CLI::App* command_;
};

}  // namespace abh
