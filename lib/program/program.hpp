#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "lib/program/options.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [processors]
/// How many processors this process may use, which `taskset` and batch systems can make fewer than
/// the machine has; at least 1.
int usable_processors();
// [program]
/// What every chapter's program shares: the common options, error handling and results.
///
///     int main(int argc, char** argv) {
///         Program program("Look up word vectors");
///         program.options().add("--d-model", d_model, "width of a vector");
///         return program.run(argc, argv, [&] { ... });
///     }
class Program {
public:
    /// @param way  the default of `--way`
    explicit Program(const std::string& description, std::string way = "fast");

    /// The options, to which a chapter adds its own.
    Options& options() { return options_; }

    /// Reads the command line, calls `body`, and writes the results. Returns the exit status: 0, or
    /// 1 after printing one line that says what was wrong.
    int run(int argc, char** argv, const std::function<void()>& body);

    std::uint64_t seed() const { return seed_; }
    Results& results() { return results_; }
    /// The file that the profile goes to; empty if there is none.
    const std::filesystem::path& trace() const { return trace_; }
    /// Leaves results and trace to another process of the run: this one writes neither.
    void keep_nothing() {
        results_ = Results();
        trace_.clear();
    }

private:
    Options options_;
    std::uint64_t seed_ = 1;
    std::string way_;
    int threads_;
    bool tf32_ = false;
    std::filesystem::path out_, trace_;
    Results results_;
};

}  // namespace abh
