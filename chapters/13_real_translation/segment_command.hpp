#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "chapters/13_real_translation/subwords.hpp"
#include "lib/io/results.hpp"

namespace abh {
// [segment]
/// The subcommand "segment": cuts each line of standard input into pieces, a line each, or puts
/// pieces together.
class SegmentCommand {
public:
    explicit SegmentCommand(CLI::App& parent);
    bool parsed() const { return command_->parsed(); }
    void run(Results& results);

private:
    Subwords find_model() const;
    std::string answer(const Subwords& subwords, const std::string& line) const;

    CLI::App* command_;
    std::filesystem::path model_, save_;
    Index n_pieces_ = 8000;
    bool ids_ = false, join_ = false;
};

}  // namespace abh
