// Once: a program: its command line, its way, its errors, its results.
#include "lib/program/program.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "lib/fast/parallel.hpp"
#include "tests/printed.hpp"
#include "tests/ways.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

struct Outcome {
    int status = 0;
    std::string out, err;
};

using Body = std::function<void(Program&)>;

/// Runs a program with one option of its own.
int status_of(std::vector<std::string> arguments, const Body& body) {
    arguments.insert(arguments.begin(), "/somewhere/demo");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    const ScopedWay as_before(way());  // the program chooses its own
    int status = 0;
    std::thread thread([&] {  // on which the smallest numbers become zero
        Program program("A demonstration.");
        int width = 4;
        program.options().add("--width", width, "how wide");
        status = program.run(static_cast<int>(argv.size()), argv.data(), [&] { body(program); });
        set_threads(1);
    });
    thread.join();
    return status;
}

/// The same, with what it prints.
Outcome run(
    const std::vector<std::string>& arguments, const Body& body = [](Program&) {}) {
    Outcome outcome;
    outcome.err = written_to(2, [&] {
        outcome.out = written_to(1, [&] { outcome.status = status_of(arguments, body); });
    });
    return outcome;
}

}  // namespace

TEST_CASE("a program knows the common options and its own") {
    const Outcome help = run({"--help"});
    REQUIRE(help.status == 0);
    REQUIRE(help.err.empty());
    for (const char* part : {"A demonstration.", "--help", "--seed", "--threads", "--way", "--out",
                             "--width", "how wide", "demo"})
        REQUIRE_THAT(help.out, Contains(part));

    const Outcome outcome =
        run({"--seed", "18446744073709551615", "--threads", "2", "--way", "fast"},
            [](Program& program) {
                section("A section");
                fmt::print("{} {}\n", program.seed(), threads());
            });
    REQUIRE(outcome.status == 0);
    REQUIRE(outcome.out == "\n== A section ==\n18446744073709551615 2\n");
    REQUIRE(outcome.err.empty());
}

TEST_CASE("a program computes in the way that the command line names") {
    const auto way_of = [](const std::vector<std::string>& arguments) {
        Way found = Way::fast;
        const Outcome outcome = run(arguments, [&](Program&) { found = way(); });
        REQUIRE(outcome.status == 0);
        return found;
    };
    CHECK(way_of({}) == Way::fast);
    CHECK(way_of({"--way", "plain"}) == Way::plain);
    CHECK(way_of({"--way", "fast"}) == Way::fast);
    if (ways_here().back() == Way::cuda) CHECK(way_of({"--way", "cuda"}) == Way::cuda);
}

#ifdef __linux__
TEST_CASE("a program takes as many threads as it may use processors") {
    cpu_set_t all, one;
    REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
    const auto count = [](const std::vector<std::string>& arguments = {}) {
        int n = 0;
        REQUIRE(run(arguments, [&](Program&) { n = threads(); }).status == 0);
        return n;
    };
    CHECK(count() == std::min(CPU_COUNT(&all), 256));
    CPU_ZERO(&one);
    for (std::size_t i = 0; CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    const int found = count(), asked = count({"--threads", "2"});
    ::sched_setaffinity(0, sizeof all, &all);
    CHECK(found == 1);
    CHECK(asked == 2);
}
#endif

#ifdef __SSE2__
TEST_CASE("in a program, a number too small to be normal is zero") {
    const volatile Real smallest = std::numeric_limits<Real>::min();
    Real half = 1;
    REQUIRE(run({}, [&](Program&) { half = smallest / 2; }).status == 0);
    REQUIRE(half == 0);
    REQUIRE(smallest / 2 > 0);  // the tests' own numbers stay as they are
}
#endif

TEST_CASE("a wrong command line is one clear line and exit status 1") {
    const auto refused = [](std::vector<std::string> arguments) {
        const Outcome outcome = run(arguments, [](Program&) { fmt::print("ran\n"); });
        REQUIRE(outcome.status == 1);
        REQUIRE(outcome.out.empty());
        REQUIRE(outcome.err.rfind("demo: ", 0) == 0);
        REQUIRE(outcome.err.find('\n') == outcome.err.size() - 1);
        return outcome.err;
    };
    REQUIRE(refused({"--wdith", "3"}) == "demo: not expected: --wdith 3 (see --help)\n");
    REQUIRE_THAT(refused({"stray"}), Contains("stray"));
    REQUIRE_THAT(refused({"--width"}), Contains("--width"));
    REQUIRE_THAT(refused({"--width", "wide"}), Contains("wide"));
    REQUIRE_THAT(refused({"--threads", "0"}), Contains("--threads"));
    REQUIRE_THAT(refused({"--threads", "257"}), Contains("257"));
    REQUIRE_THAT(refused({"--seed", "-1"}), Contains("--seed"));
    REQUIRE_THAT(refused({"--seed", "18446744073709551616"}), Contains("--seed"));
    for (const char* option : {"--seed", "--threads", "--width"})
        REQUIRE_THAT(refused({option, "010"}), Contains(option) && Contains("010 begins with a 0"));
    REQUIRE_THAT(refused({"--width", "-010"}), Contains("-010 begins with a 0"));
    REQUIRE_THAT(refused({"--way", "quick"}), Contains("quick") && Contains("plain"));
}

TEST_CASE("what a program's work throws is one line, and no results are written") {
    const Folder folder;
    put(folder / "results.json", "before");
    const Outcome outcome = run({"--out", folder.path.string()}, [](Program& program) {
        program.results().set("x", 1);
        require_shape({2}, {3}, "demo", "x");
    });
    REQUIRE(outcome.status == 1);
    REQUIRE(outcome.err == "demo: demo: x has shape [2], expected [3]\n");
    REQUIRE(read_file(folder / "results.json") == "before");
    REQUIRE(folder.count() == 1);
    const Outcome memory = run({}, [](Program&) { throw std::bad_alloc(); });
    REQUIRE(memory.status == 1);
    REQUIRE(memory.err == "demo: not enough memory\n");

    const auto said = [](const std::string& message) {
        return run({}, [&](Program&) { throw std::runtime_error(message); }).err;
    };
    const auto line = [](const std::string& shown) { return "demo: " + shown + "\n"; };
    CHECK(said("tensor a\x1b[2J\nb\x7f\u009b 我 is missing") ==
          line("tensor a\\x1B[2J\\x0Ab\\x7F\\xC2\\x9B 我 is missing"));
    CHECK(said(std::string(2000, 'x')) == line(std::string(2000, 'x')));
    CHECK(said(std::string(9999, 'x')) == line(std::string(2000, 'x') + "..."));
}

TEST_CASE("a program writes its results, and finds out before its work that it cannot") {
    const Folder folder;
    const auto body = [](Program& program) {
        fmt::print("ran\n");
        program.results().set("x", 1);
    };
    REQUIRE(run({"--out", (folder / "here").string()}, body).status == 0);
    REQUIRE(nlohmann::json::parse(read_file(folder / "here/results.json"))["x"]["value"] == 1);
    put(folder / "file", "");
    const Outcome outcome = run({"--out", (folder / "file").string()}, body);
    REQUIRE(outcome.status == 1);
    REQUIRE(outcome.out.empty());
    REQUIRE_THAT(outcome.err, Contains("cannot write") && Contains("Not a directory"));
    const Outcome trace = run({"--profile", (folder / "file/trace.json").string()}, body);
    REQUIRE(trace.status == 1);
    REQUIRE(trace.out.empty());
    REQUIRE_THAT(trace.err, Contains("file/trace.json: Not a directory"));
}

/// Runs a program that prints and writes results while its standard output is another one, or
/// closed.
Outcome run_with_output(const char* file, const std::vector<std::string>& arguments) {
    const int kept = ::dup(1);
    Outcome outcome;
    outcome.err = written_to(2, [&] {
        if (const int other = file ? ::open(file, O_WRONLY) : -1; file)
            ::dup2(other, 1), ::close(other);
        else
            ::close(1);
        outcome.status = status_of(arguments, [](Program&) { fmt::print("lost\n"); });
        ::dup2(kept, 1);
        std::clearerr(stdout);
    });
    ::close(kept);
    return outcome;
}

TEST_CASE("output to a full disk is an error") {
    if (!fs::exists("/dev/full")) return;
    for (const char* option : {"--threads=1", "--help"}) {
        const Outcome outcome = run_with_output("/dev/full", {option});
        REQUIRE(outcome.status == 1);
        REQUIRE(outcome.err == "demo: cannot write the output: No space left on device\n");
    }
}

TEST_CASE("a closed output is an error, and what is printed gets into no file") {
    const Folder folder;
    const Outcome outcome = run_with_output(nullptr, {"--out", folder.path.string()});
    REQUIRE(outcome.status == 1);
    REQUIRE(outcome.err ==
            "demo: the standard output is closed; send it to /dev/null if nobody shall read it\n");
    REQUIRE(fs::is_empty(folder.path));
}

TEST_CASE("a progress bar is not shown where the output is no terminal") {
    const std::string shown = written_to(2, [] {
        Progress progress("training", 10);
        for (Index i = 0; i <= 10; ++i) progress.show(i, "loss");
    });
    REQUIRE(shown.empty());
}
