#pragma once

#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [parts]
/// Parts `begin` to `end - 1` of a sum.
struct Parts {
    Index begin = 0, end = 0;

    Index count() const { return end - begin; }
    bool operator==(const Parts&) const = default;
};

/// Which of `parts` parts rank `rank` of `ranks` computes: neighbors, about as many for each rank.
Parts parts_of(Index rank, Index ranks, Index parts);
// [tree sum]
/// A sum whose bits do not depend on which rank computes which parts.
///
/// Floating-point sums depend on the order of their additions. Here the order is a fixed tree:
/// parts 2i and 2i + 1 are added, then these pairs, then pairs of pairs. A rank that has some
/// neighboring parts can add up the nodes of the tree that lie among them, and send only those.
class TreeSum {
public:
    /// The sum of some parts.
    struct Node {
        Parts parts;
        Tensor sum;
    };

    /// Adds parts that follow those added last.
    /// @param sum  the sum of these parts, added as by this class; it is overwritten
    /// @throws std::invalid_argument if they do not follow
    void add(Parts parts, Tensor sum);
    /// The largest nodes of the tree so far, in the order of their parts.
    const std::vector<Node>& nodes() const { return nodes_; }
    /// The nodes that are left once all of `parts` have been added.
    static std::vector<Parts> nodes_of(Parts parts);
    /// The sum of all parts; add nothing after it. @throws std::logic_error if there are none
    Tensor total();

private:
    std::vector<Node> nodes_;
};

}  // namespace abh
