#include "judge/answer/cases.hpp"

#include <utility>
#include <vector>

#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "chapters/14_on_many_machines/ring.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// What rank 0 sends in a ring whose parts are one number each, and in a broadcast from rank 0.
struct Sent {
    Index ring_messages = 0, ring_parts = 0, broadcast_messages = 0;
};

Sent count_on(Index n) {
    Sent sent;
    run_local_ranks(n, [&](Ranks& ranks) {
        Tensor x = Tensor::zeros({n});
        ring_all_reduce(ranks, x);
        const Traffic ring = ranks.traffic();
        ranks.barrier();  // counts the messages of comparing calls, which broadcast sends, too
        const Index meeting = ranks.traffic().messages - ring.messages;
        ranks.broadcast(x);
        if (!ranks.first()) return;
        sent.ring_messages = ring.messages;
        sent.ring_parts = ring.bytes / static_cast<Index>(sizeof(Real));
        sent.broadcast_messages = ranks.traffic().messages - ring.messages - 2 * meeting;
    });
    return sent;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    Index n = 0;
    do n = cases.between(5, 24);
    while (n == 8 || n == 16);  // powers of two need no rounding up
    const Index part = cases.between(100, 4000), N = n * part, latency = cases.between(5, 60),
                bandwidth = 100 * cases.between(5, 200);
    const Values drawn = values(n, N, latency, bandwidth);
    const std::vector<std::string> names = {"n", "N", "latency", "bandwidth"};
    cases.given(drawn, names);
    const auto add = [&](const char* line, Index right,
                         const std::vector<std::pair<const char*, Index>>& wrong,
                         double tolerance = 1e-9) {
        Case c{.criterion = line,
               .call = line,
               .arguments = drawn,
               .results = values(static_cast<Real>(right)),
               .tolerance = tolerance,
               .names = names};
        for (const auto& [says, number] : wrong)
            c.mistakes.push_back({says, values(static_cast<Real>(number))});
        cases.add(c);
    };
    const auto [messages, parts, down] = count_on(n);
    const Index rounds = 2 * down, whole = 4 * N;
    add("ring_messages", messages,
        {{"the sums go around once more, so that all ranks have them", n - 1},
         {"a part is complete after n - 1 additions, so it takes no n-th message", 2 * n},
         {"this is for all ranks together", messages * n}});
    add("ring_bytes", parts * 4 * part,
        {{"the sums go around once more, so that all ranks have them", parts * 4 * part / 2},
         {"a message holds one part of n; or is this for all ranks together?", messages * whole},
         {"a number has 4 bytes", parts * part},
         {"each part is sent n - 1 times on its way to a sum, n - 1 times as the sum, not n times",
          2 * whole}});
    add("tree_rounds", rounds,
        {{"there is a way up and a way down", down},
         {"the ranks that have the sum double in each round; the last round may be for a few only",
          2 * (down - 1)},
         {"several ranks send in the same round", 2 * (n - 1)}});
    add("tree_bytes", down * whole,
        {{"rank 0 receives on the way up, and sends only on the way down", rounds * whole},
         {"rank 0 sends in every round of the broadcast", whole},
         {"rank 0 sends to a few ranks only, and these send to others", (n - 1) * whole},
         {"a number has 4 bytes", down * N},
         {"in a tree every message holds all numbers", down * whole / n}});
    add("all_bytes", (n - 1) * whole,
        {{"nobody sends to itself", n * whole},
         {"a number has 4 bytes", (n - 1) * N},
         {"this is for all ranks together", n * (n - 1) * whole},
         {"every message holds all numbers", (n - 1) * whole / n}});
    // messages (alpha + s / (n b)) = rounds (alpha + s / b)
    const auto from = [&](Index in_ring, Index in_tree, Index shares) {
        const Index divisor = shares * in_tree - in_ring,
                    product = latency * bandwidth * shares * (in_ring - in_tree);
        return divisor > 0 && product > 0 ? (product + divisor - 1) / divisor : Index{0};
    };
    add("from", from(messages, rounds, n),
        {{"this is a count of numbers, not of bytes", from(messages, rounds, n) / 4},
         {"the reduction takes as long as the broadcast", from(messages, down, n)},
         {"the ring's parts go around twice", from(n - 1, rounds, n)}},
        1e-4);
}
