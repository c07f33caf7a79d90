#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/program/output.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace abh {
// [option]
/// An added option. Its functions set what else holds for it; each returns the option, so that
/// calls can be chained.
struct Option {
    CLI::Option* option;

    /// Refuses numbers below `least` or above `most`.
    template <class T>
    Option range(T least, T most);
    Option one_of(const std::vector<std::string>& values);
    /// Refuses a command line that has both this option and `other`.
    Option excludes(const std::string& other);
    /// Sets what `--help` shows as the default instead of the variable's value.
    Option default_shown(const std::string& text);
};
// [options]
/// The options of a program, or of one of its commands. A copy adds to the same options.
class Options {
public:
    explicit Options(const std::string& description);

    /// Adds an option whose value is written into `value`, which holds the default until then.
    /// @tparam T  bool, int, Index, std::uint64_t, float, double, std::string or
    ///            std::filesystem::path
    template <class T>
    Option add(const std::string& name, T& value, const std::string& meaning);
    /// Adds an option without a value, which sets `value` to true.
    Option flag(const std::string& name, bool& value, const std::string& meaning);

    /// Adds a command: `./book run 13 score --lowercase`. Options of the program may follow it.
    Options command(const std::string& name, const std::string& meaning);

    /// Reads the words that follow the program's name.
    /// @return the text that `--help` prints, if they ask for it
    /// @throws std::invalid_argument saying what is wrong with them
    std::optional<std::string> read(const std::string& program, std::vector<std::string> words);
    /// Whether the command line names this command.
    bool chosen() const;
    /// Whether the command line has this option.
    bool given(const std::string& name) const;

private:
    explicit Options(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

    std::shared_ptr<CLI::App> app_;
};
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

    /// Adds `--precision`, which a program obeys by calling `use_precision`.
    void add_precision();
    void use_precision();

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
    std::string way_, precision_ = "float";
    int threads_;
    bool tf32_ = false;
    std::filesystem::path out_, trace_;
    Results results_;
};

}  // namespace abh
