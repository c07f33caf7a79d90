#include "lib/program/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "lib/device.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/way.hpp"
#ifdef __SSE2__
#include <immintrin.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

namespace abh {
// [processors]
int usable_processors() {
#ifdef __linux__
    cpu_set_t usable;
    if (::sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
#endif
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}
// [options]
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
