#include "lib/program/program.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>  // slow to compile, so included only here
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>

#include "lib/device.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"
#include "lib/precision.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/way.hpp"
#ifdef __SSE2__
#include <immintrin.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

namespace abh {
// [option]
template <class T>
Option Option::range(T least, T most) {
    return {option->check(CLI::Range(least, most))};
}
template Option Option::range(int, int);
template Option Option::range(double, double);

Option Option::one_of(const std::vector<std::string>& values) {
    return {option->check(CLI::IsMember(values))};
}
Option Option::excludes(const std::string& other) {
    return {option->excludes(other)};
}
Option Option::default_shown(const std::string& text) {
    return {option->default_str(text)};
}
// [numbers]
namespace {

/// Whole numbers are decimal. 010 is refused, because some programs would read it as 8.
template <class T>
std::string refuse_other_than_whole(const std::string& s) {
    T value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc() || end != s.data() + s.size())
        return fmt::format("{} is not a whole number from {} to {}", s,
                           std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    const std::string digits = s.substr(s.starts_with('-'));
    return digits.size() > 1 && digits[0] == '0' ? s + " begins with a 0" : "";
}

}  // namespace
// [options]
Options::Options(const std::string& description) : app_(std::make_shared<CLI::App>(description)) {
    app_->get_formatter()->column_width(34);
    app_->option_defaults()->always_capture_default();
    app_->require_subcommand(0, 1);
}

template <class T>
Option Options::add(const std::string& name, T& value, const std::string& meaning) {
    CLI::Option* option = app_->add_option(name, value, meaning);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        option->check(refuse_other_than_whole<T>);
    return {option};
}
template Option Options::add(const std::string&, bool&, const std::string&);
template Option Options::add(const std::string&, int&, const std::string&);
template Option Options::add(const std::string&, Index&, const std::string&);
template Option Options::add(const std::string&, std::uint64_t&, const std::string&);
template Option Options::add(const std::string&, float&, const std::string&);
template Option Options::add(const std::string&, double&, const std::string&);
template Option Options::add(const std::string&, std::string&, const std::string&);
template Option Options::add(const std::string&, std::filesystem::path&, const std::string&);

Option Options::flag(const std::string& name, bool& value, const std::string& meaning) {
    return {app_->add_flag(name, value, meaning)};
}
// [commands]
Options Options::command(const std::string& name, const std::string& meaning) {
    CLI::App* command = app_->add_subcommand(name, meaning)->fallthrough();
    return Options(std::shared_ptr<CLI::App>(app_, command));
}

std::optional<std::string> Options::read(const std::string& program,
                                         std::vector<std::string> words) {
    app_->name(program);
    std::reverse(words.begin(), words.end());  // the order that CLI11 expects
    try {
        app_->parse(std::move(words));
        return {};
    } catch (const CLI::CallForHelp&) {
        return app_->help();
    } catch (const CLI::ExtrasError&) {  // whose own message lists them backwards
        throw std::invalid_argument(
            fmt::format("not expected: {} (see --help)", fmt::join(app_->remaining(true), " ")));
    } catch (const CLI::ParseError& error) {
        throw std::invalid_argument(error.what() + std::string(" (see --help)"));
    }
}

bool Options::chosen() const {
    return app_->parsed();
}

bool Options::given(const std::string& name) const {
    return app_->count(name) > 0;
}
// [processors]
int usable_processors() {
#ifdef __linux__
    cpu_set_t usable;
    if (::sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
#endif
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}
// [common options]
Program::Program(const std::string& description, std::string way)
    : options_(description), way_(std::move(way)), threads_(std::min(usable_processors(), 256)) {
    options_.add("--seed", seed_, "seed for all random numbers");
    options_.add("--threads", threads_, "number of threads").range(1, 256);
    options_
        .add("--way", way_,
             "how to compute: plain (as the equations say), fast (tuned) or cuda (on the device)")
        .one_of({"plain", "fast", "cuda"});
    options_.flag("--tf32", tf32_,
                  "let matrix products on the device round their operands to TF32");
    options_.add("--out", out_,
                 "folder for results.json and arrays; without it, nothing is written");
    options_.add("--profile", trace_,
                 "print where the time goes, and write a trace for chrome://tracing to this file");
}
// [precision]
void Program::add_precision() {
    options_
        .add("--precision", precision_,
             "of the operands of products: float, bf16 (16 bits) or auto (whichever is faster)")
        .one_of({"float", "bf16", "auto"});
}

void Program::use_precision() {
    if (const std::string said = choose_precision(precision_); !said.empty())
        fmt::print("{}\n", said);
}
// [denormals]
namespace {

/// Makes numbers that are too small to be normal 0, on this thread and on those that it starts,
/// because some processors need a hundred cycles for each of them.
void flush_denormals() {
#ifdef __SSE2__
    constexpr unsigned results_to_zero = 1 << 15, operands_to_zero = 1 << 6;
    _mm_setcsr(_mm_getcsr() | results_to_zero | operands_to_zero);
#endif
}
// [run]
/// Refuses a closed standard output, because the next file that is opened would take its place and
/// get what is printed.
void require_output() {
    if (::fcntl(STDOUT_FILENO, F_GETFD) < 0)
        throw std::runtime_error(
            "the standard output is closed; send it to /dev/null if nobody shall read it");
}

void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw std::runtime_error(std::string("cannot write the output: ") + std::strerror(errno));
}

}  // namespace

int Program::run(int argc, char** argv, const std::function<void()>& body) {
    const std::string name = std::filesystem::path(argv[0]).filename().string();
    std::string wrong;
    try {
        require_output();
        if (const auto help = options_.read(name, {argv + 1, argv + argc})) {
            std::fputs(help->c_str(), stdout);
            flush_output();
            return 0;
        }
        flush_denormals();
        set_threads(threads_);
        set_way(way_named(way_));
        if (on_cuda() && cuda::device().emulated())
            std::fputs("The device is emulated on the processor, which is slow.\n", stderr);
        set_tf32(tf32_);
        results_ = Results(out_);
        results_.set_varying("threads", threads());
        for (const auto& file : {out_.empty() ? out_ : out_ / "results.json", trace_})
            if (!file.empty()) const AtomicFile can_be_written(file);  // now, not after hours
        if (!trace_.empty()) start_profile();
        body();
        if (!trace_.empty()) {
            fmt::print("\n");
            print_profile();
        }
        flush_output();
        results_.save();
        if (!trace_.empty()) save_trace(trace_);
        return 0;
    } catch (const std::bad_alloc&) {
        wrong = "not enough memory";
    } catch (const std::exception& error) {
        wrong = error.what();
    }
    std::fflush(stdout);
    wrong = printable(wrong, 2000);  // at most a page: any text of a file may be in it
    std::fprintf(stderr, "%s: %s\n", name.c_str(), wrong.c_str());
    return 1;
}

}  // namespace abh
