#include "chapters/14_on_many_machines/ring.hpp"

#include <algorithm>

#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"

namespace abh {
// [ring]
void ring_all_reduce(Ranks& ranks, Tensor& x,
                     const std::function<void(Index round, const Tensor& x)>& watch) {
    const Index n = ranks.size(), me = ranks.rank();
    Tensor flat = x.reshape({x.size()});
    const auto part = [&](Index i) {  // i modulo n
        const Parts p = parts_of((i % n + n) % n, n, x.size());
        return flat.rows(p.begin, p.end);
    };
    for (Index round = 0; round < 2 * (n - 1); ++round) {
        const bool sums_are_complete = round >= n - 1;
        Tensor mine = part(me - round), theirs = part(me - round - 1);
        Tensor received(theirs.shape());
        ranks.send_receive("ring", (me + 1) % n, message_of(mine), (me + n - 1) % n,
                           room_of(received));
        if (sums_are_complete)
            std::ranges::copy(received.values(), theirs.values().begin());
        else
            theirs += received;
        if (watch) watch(round, x);
    }
}

}  // namespace abh
