#pragma once

#include "lib/program/options.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [command]
/// `./book run 13 search`: what beam search does, on models of three words.
class SearchCommand {
public:
    explicit SearchCommand(Options& parent);
    bool chosen() const { return command_.chosen(); }
    void run(Results& results, std::uint64_t seed);

private:
    Options command_;
};

}  // namespace abh
