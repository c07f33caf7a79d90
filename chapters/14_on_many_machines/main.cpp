#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "chapters/13_real_translation/commands.hpp"
#include "chapters/14_on_many_machines/costs.hpp"
#include "chapters/14_on_many_machines/data_parallel/ranks_team.hpp"
#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "chapters/14_on_many_machines/ranks/mpi.hpp"
#include "chapters/14_on_many_machines/ring.hpp"
#include "lib/precision.hpp"
#include "lib/program/program.hpp"

using namespace abh;

namespace {
// [ring]
std::string digits(std::span<const Real> numbers) {
    std::string text;
    for (const Real x : numbers) text += fmt::format("{:5.0f}", x);
    return text;
}

void show_ring(Results& results) {
    constexpr Index n = 3;
    const Tensor start({n, 4}, {1, 2, 3, 4,      //
                                10, 20, 30, 40,  //
                                100, 200, 300, 400});
    const auto seen = of_local_ranks(n, [&](Ranks& ranks) {
        Tensor x = start.rows(ranks.rank(), ranks.rank() + 1).clone().reshape({4});
        std::vector rounds{digits(x.values())};
        ring_all_reduce(ranks, x,
                        [&](Index, const Tensor& now) { rounds.push_back(digits(now.values())); });
        return std::pair(rounds, ranks.traffic().bytes);
    });
    for (std::size_t round = 0; round < 2 * n - 1; ++round)
        fmt::print("{}   {} |{} |{}\n", round == 0 ? "start  " : fmt::format("round {}", round),
                   seen[0].first[round], seen[1].first[round], seen[2].first[round]);
    Index bytes = 0;
    for (const auto& [rounds, sent] : seen) bytes += sent;
    const double numbers = static_cast<double>(bytes) / sizeof(Real);
    fmt::print("{} numbers were sent\n", numbers);
    results.set("ring_numbers", numbers);
}
// [orders]
/// Adds the same four numbers in three orders, in single precision.
void show_orders(Results& results) {
    const float numbers[] = {1.0f, 3e-8f, 3e-8f, 3e-8f};
    const float forward = ((numbers[0] + numbers[1]) + numbers[2]) + numbers[3];
    const float backward = ((numbers[3] + numbers[2]) + numbers[1]) + numbers[0];
    const float tree = (numbers[0] + numbers[1]) + (numbers[2] + numbers[3]);
    const auto show = [&](const char* order, const char* name, float sum) {
        fmt::print("{:<28}1 + {:.9e}\n", order, static_cast<double>(sum) - 1);
        results.set(name, (static_cast<double>(sum) - 1) / 0x1p-23);
    };
    show("((a + b) + c) + d", "forward_steps", forward);
    show("((d + c) + b) + a", "backward_steps", backward);
    show("(a + b) + (c + d)", "tree_steps", tree);
}
// [by hand]
void show_by_hand(Results& results) {
    section("A ring all-reduce");
    show_ring(results);
    section("One sum in three orders");
    show_orders(results);
}
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
    program.add_precision();
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
        std::unique_ptr<Engine> engine = started_by_mpi() ? make_mpi_engine() : nullptr;
        if (engine && overlap.chosen() && gbit > 0)
            engine = slowed(std::move(engine), {.latency = 20e-6, .seconds_per_byte = 8e-9 / gbit});
        Ranks ranks(std::move(engine));
        if (!ranks.first()) {
            quiet.emplace(ranks.rank());
            program.keep_nothing();
        }
        program.use_precision();
        const RanksTeam team(ranks, shards);
        team.require_same(fmt::format(R"({{"way": "{}", "precision": "{}"}})", to_string(way()),
                                      to_string(precision())));
        if (links.chosen()) return show_links(ranks, program.results());
        if (step.chosen())
            return show_step(ranks, shards, steps, program.seed(), program.results());
        if (overlap.chosen()) return show_overlap(ranks, turns, program.seed(), program.results());
        fmt::print("{}, {} shards\n",
                   ranks.size() == 1 ? "one process" : fmt::format("{} processes", ranks.size()),
                   shards);
        if (precision() == Precision::bf16)
            fmt::print(
                "gradients are sent in bf16: results differ from those without it, and depend "
                "on the number of processes\n");
        train.run(program.results(), program.seed(), team);
    });
    if (quiet && status != 0) quiet->say();
    return end_mpi(status);
}
