#include "chapters/14_on_many_machines/by_hand.hpp"

#include <vector>

#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "chapters/14_on_many_machines/ring.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [ring]
namespace {

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

}  // namespace
// [by hand]
void show_by_hand(Results& results) {
    section("A ring all-reduce");
    show_ring(results);
    section("One sum in three orders");
    show_orders(results);
}

}  // namespace abh
