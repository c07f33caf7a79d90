#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "chapters/13_real_translation/train_command.hpp"
#include "chapters/14_on_many_machines/by_hand.hpp"
#include "chapters/14_on_many_machines/costs.hpp"
#include "chapters/14_on_many_machines/data_parallel/overlap.hpp"
#include "chapters/14_on_many_machines/data_parallel/ranks_team.hpp"
#include "chapters/14_on_many_machines/ranks/mpi.hpp"
#include "chapters/14_on_many_machines/ranks/slowed.hpp"
#include "lib/program/program.hpp"

using namespace abh;

namespace {
// [quiet]
/// Silences the ranks after the first. They compute what the first one computes, but it alone
/// prints and keeps results. What another rank says about an error is printed only if, a second
/// later, the first has not ended all of them with an error of its own.
class Quiet {
public:
    explicit Quiet(Index rank) : rank_(rank) {
        std::fflush(stderr);
        errors_ = ::dup(STDERR_FILENO);
        if (!std::freopen("/dev/null", "w", stdout) || !(said_ = std::tmpfile()) ||
            ::dup2(::fileno(said_), STDERR_FILENO) < 0)
            throw std::runtime_error("ranks: cannot open a file for messages");
    }
    void say() {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        std::fflush(stderr);
        ::dup2(errors_, STDERR_FILENO);
        std::rewind(said_);
        std::array<char, 4096> text{};
        const std::size_t size = std::fread(text.data(), 1, text.size(), said_);
        if (size > 0) fmt::print(stderr, "rank {}: {}", rank_, std::string_view(text.data(), size));
    }

private:
    Index rank_;
    int errors_ = -1;
    std::FILE* said_ = nullptr;
};
// [launch]
/// This command with `--threads` set so that its ranks share the processors.
std::vector<std::string> shared_out(int argc, char** argv, const Options& options, Index ranks) {
    std::vector<std::string> arguments(argv, argv + argc);
    if (!options.given("--threads")) {
        arguments.push_back("--threads");
        arguments.push_back(std::to_string(std::max<Index>(1, usable_processors() / ranks)));
    }
    return arguments;
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Train a translator with several processes");
    Options& options = program.options();
    Index n = has_mpi() ? 2 : 1, shards = 4;
    options.add("--ranks", n, "processes to start on this machine; under mpirun, its -n counts")
        .range(1, 64);
    options.add("--shards", shards, "parts of a batch; results depend on this, not on --ranks")
        .range(1, 1024);
    bool bfloat16 = false;
    options.flag("--bfloat16", bfloat16,
                 "send gradients rounded to half the bytes; results then depend on --ranks");
    const Options hand = options.command("hand", "a ring all-reduce of a few numbers");
    const Options bytes = options.command("bytes", "how much ranks send, counted and by formula");
    const Options links =
        options.command("links", "the time of a message here, and of a ring elsewhere");
    Options step = options.command("step", "the time of a step of the base model on these ranks");
    Index steps = 5;
    step.add("--steps", steps, "number of steps; the median is reported").range(1, 1000);
    Options overlap =
        options.command("overlap", "steps that send gradients during backward, and after it");
    Index turns = 2;
    double gbit = 1;
    overlap.add("--steps", turns, "number of steps of each kind; medians are reported")
        .range(1, 1000);
    overlap.add("--gbit", gbit, "bandwidth of the network to imitate, in Gb/s; 0: none")
        .range(0.0, 1e4);
    TrainCommand train(options, "translation-on-ranks");
    std::optional<Quiet> quiet;
    const int status = program.run(argc, argv, [&] {
        if (hand.chosen()) return show_by_hand(program.results());
        if (bytes.chosen()) return show_bytes(program.results());
        if (!started_by_mpi() && n > 1)
            std::exit(launch_mpi(n, shared_out(argc, argv, options, n)));
        Ranks ranks(started_by_mpi() ? make_mpi_engine() : nullptr);
        if (!ranks.first()) {
            quiet.emplace(ranks.rank());
            program.keep_nothing();
        }
        const RanksTeam team(ranks, shards, bfloat16);
        team.require_same(fmt::format(R"({{"way": "{}"}})", to_string(way())));
        if (ranks.size() > 1 && overlap.chosen() && gbit > 0)
            ranks.go_on_over([&](std::unique_ptr<Engine> engine) {
                return slowed(std::move(engine),
                              {.latency = 20e-6, .seconds_per_byte = 8e-9 / gbit});
            });
        if (links.chosen()) return show_links(ranks, program.results());
        if (step.chosen())
            return show_step(ranks, shards, steps, program.seed(), program.results());
        if (overlap.chosen()) return show_overlap(ranks, turns, program.seed(), program.results());
        fmt::print("{}, {} shards\n",
                   ranks.size() == 1 ? "one process" : fmt::format("{} processes", ranks.size()),
                   shards);
        if (bfloat16)
            fmt::print(
                "gradients are sent in bfloat16: results differ from those without it, and depend "
                "on the number of processes\n");
        train.run(program.results(), program.seed(), team);
    });
    if (quiet && status != 0) quiet->say();
    return end_mpi(status);
}
