#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"

#include <stdexcept>

namespace abh {
// [parts]
Parts parts_of(Index rank, Index ranks, Index parts) {
    require(rank >= 0 && rank < ranks, "parts: no rank {} of {}", rank, ranks);
    return {parts * rank / ranks, parts * (rank + 1) / ranks};
}
// [tree sum]
namespace {

/// Whether two neighbors are the halves of a node: of the same size, and with the left one
/// beginning where a node of twice that size begins.
bool are_halves(Parts left, Parts right) {
    return left.count() == right.count() && left.begin % (2 * left.count()) == 0;
}

}  // namespace

void TreeSum::add(Parts parts, Tensor sum) {
    require(parts.count() >= 1 && (nodes_.empty() || nodes_.back().parts.end == parts.begin),
            "tree sum: parts {} to {} do not follow those before", parts.begin, parts.end);
    nodes_.push_back({parts, std::move(sum)});
    while (nodes_.size() >= 2 && are_halves(nodes_[nodes_.size() - 2].parts, nodes_.back().parts)) {
        Node& left = nodes_[nodes_.size() - 2];
        left.sum += nodes_.back().sum;
        left.parts.end = nodes_.back().parts.end;
        nodes_.pop_back();
    }
}

std::vector<Parts> TreeSum::nodes_of(Parts parts) {
    TreeSum sum;
    for (Index part = parts.begin; part < parts.end; ++part) sum.add({part, part + 1}, Tensor());
    std::vector<Parts> nodes;
    for (const Node& node : sum.nodes()) nodes.push_back(node.parts);
    return nodes;
}

Tensor TreeSum::total() {
    if (nodes_.empty()) throw std::logic_error("tree sum: nothing was added");
    for (; nodes_.size() > 1; nodes_.pop_back())  // if the number of parts is no power of two
        nodes_[nodes_.size() - 2].sum += nodes_.back().sum;
    return nodes_.front().sum;
}

}  // namespace abh
