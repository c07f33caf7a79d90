#include "lib/program/program.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "lib/device.hpp"
#include "lib/io/files.hpp"
#include "lib/program/profile.hpp"
#include "lib/threads.hpp"
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace abh {
// [options]
Program::Program(const std::string& description)
    : options_(description),
      threads_(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 256u))) {
    options_.add("--seed", seed_, "seed of all random numbers");
    options_.add("--threads", threads_, "number of threads").range(1, 256);
    options_
        .add("--way", way_, "how to compute: plain, the equations; fast; or cuda, on the device")
        .one_of({"plain", "fast", "cuda"});
    options_.flag("--tf32", tf32_, "let products on the device round their operands to TF32");
    options_.add("--out", out_, "folder for results.json and arrays; none: not written");
    options_.add("--profile", trace_,
                 "show where the time goes; a trace for chrome://tracing in this file");
}
// [denormals]
namespace {

/// Numbers too small to be normal become 0, on this thread and on those that it starts: some
/// processors need a hundred cycles for each of them.
void flush_denormals() {
#ifdef __SSE2__
    constexpr unsigned results_to_zero = 1 << 15, operands_to_zero = 1 << 6;
    _mm_setcsr(_mm_getcsr() | results_to_zero | operands_to_zero);
#endif
}
// [run]
/// How many bytes at the beginning of a text are a character that a terminal obeys or hides instead
/// of showing it; 0 if it is another one.
std::size_t command_bytes(std::string_view text) {
    using namespace std::literals;
    constexpr std::pair<std::string_view, std::string_view> commands[] = {
        {"\0"sv, "\x1F"},  // control characters
        {"\x7F", "\x7F"},
        {"\xC2\x80", "\xC2\x9F"},
        {"\xE2\x80\x8B", "\xE2\x80\x8F"},  // without a width
        {"\xEF\xBB\xBF", "\xEF\xBB\xBF"},
        {"\xE2\x80\xA8", "\xE2\x80\xAE"},  // line separators, directions
        {"\xD8\x9C", "\xD8\x9C"},
        {"\xE2\x81\xA6", "\xE2\x81\xA9"}};
    for (const auto& [first, last] : commands) {
        const std::string_view bytes = text.substr(0, first.size());
        if (first <= bytes && bytes <= last) return bytes.size();
    }
    return 0;
}

/// A message as a terminal may be shown it: characters that command it, which a file may have
/// brought into the message, become \xNN, and what is longer than a page is cut.
std::string shown(std::string_view message) {
    constexpr std::size_t most = 2000;
    std::string text;
    while (!message.empty() && text.size() < most) {
        const std::size_t bytes = command_bytes(message);
        if (bytes == 0) text += message.front();
        for (const char byte : message.substr(0, bytes))
            text += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
        message.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    if (message.empty()) return text;
    const auto within = [](char byte) { return (byte & 0xC0) == 0x80; };  // a character of UTF-8
    if (within(message.front())) {                                        // no half of one
        while (!text.empty() && within(text.back())) text.pop_back();
        if (!text.empty()) text.pop_back();
    }
    return text + "...";
}

void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw std::runtime_error(std::string("cannot write the output: ") + std::strerror(errno));
}

}  // namespace

void Program::choose_way() {
    set_way(way_named(way_));
    if (on_cuda() && cuda::emulated)
        fmt::print(stderr, "The device is emulated on the processor, which is slow.\n");
}

int Program::run(int argc, char** argv, const std::function<void()>& body) {
    const std::string name = std::filesystem::path(argv[0]).filename().string();
    try {
        if (const auto help = options_.read(name, {argv + 1, argv + argc})) {
            std::fputs(help->c_str(), stdout);
            return std::fflush(stdout) == 0 ? 0 : 1;
        }
        flush_denormals();
        set_threads(threads_);
        choose_way();
        set_tf32(tf32_);
        results_ = Results(out_);
        results_.require_writable();
        results_.set_varying("threads", threads());
        if (!trace_.empty()) {
            const AtomicFile can_be_written(trace_);
            start_profile();
        }
        body();
        if (!trace_.empty()) fmt::print("\n{}", profile_table());
        flush_output();
        results_.save();
        if (!trace_.empty()) save_trace(trace_);
        return 0;
    } catch (const UsageError& error) {
        std::fprintf(stderr, "%s: %s (see --help)\n", name.c_str(), shown(error.what()).c_str());
    } catch (const std::bad_alloc&) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: not enough memory\n", name.c_str());
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", name.c_str(), shown(error.what()).c_str());
    }
    return 1;
}

}  // namespace abh
