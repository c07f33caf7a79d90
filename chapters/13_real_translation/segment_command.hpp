#pragma once

#include <filesystem>
#include <string>

#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/program/options.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [segment]
/// The subcommand "segment": cuts each line of standard input into pieces, a line each, or puts
/// pieces together.
class SegmentCommand {
public:
    explicit SegmentCommand(Options& parent);
    bool chosen() const { return command_.chosen(); }
    void run(Results& results);

private:
    std::string answer(const Subwords& subwords, const std::string& line) const;

    Options command_;
    std::filesystem::path model_, save_;
    Index n_pieces_ = 8000;
    bool ids_ = false, join_ = false;
};

}  // namespace abh
