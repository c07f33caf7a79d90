#include "chapters/14_on_many_machines/partition.hpp"

#include <algorithm>

namespace abh {
// [partition]
Partition::Partition(const Parameters& parameters, Index ranks) {
    require(ranks >= 1, "partition: {} ranks, expected at least 1", ranks);
    const Index total = count_elements(parameters);
    slices_.resize(static_cast<std::size_t>(ranks));
    begin_.assign(static_cast<std::size_t>(ranks) + 1, total);
    begin_.front() = 0;
    Index before = 0;  // elements before the block
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const Index size = parameters[p].parameter->value.size();
        for (Index begin = 0; begin < size; begin += block) {
            const Index end = std::min(size, begin + block);
            const auto rank = static_cast<std::size_t>(before * ranks / total);
            std::vector<Piece>& slice = slices_[rank];
            if (begin > 0 && !slice.empty())
                slice.back().end = end;  // goes on
            else
                slice.push_back({p, begin, end});
            before += end - begin;
            for (std::size_t r = rank + 1; r < slices_.size(); ++r) begin_[r] = before;
        }
    }
}
// [pieces]
Tensor piece_of(const Tensor& whole, const Piece& piece) {
    return whole.reshape({whole.size()}).rows(piece.begin, piece.end);
}

Tensor gradient_row(const Parameters& parameters) {
    Tensor row({count_elements(parameters)});
    auto to = row.values().begin();
    for (const NamedParameter& p : parameters) {
        const Tensor& gradient = p.parameter->grad();
        to = std::copy(gradient.values().begin(), gradient.values().end(), to);
    }
    return row;
}

}  // namespace abh
