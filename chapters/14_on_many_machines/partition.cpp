#include "chapters/14_on_many_machines/partition.hpp"

#include <algorithm>

namespace abh {
// [piece]
Tensor piece_of(const Tensor& whole, const Piece& piece) {
    return whole.reshape({whole.size()}).rows(piece.begin, piece.end);
}
// [partition]
Partition::Partition(const Parameters& parameters, Index ranks, Index bucket)
    : pieces_(static_cast<std::size_t>(ranks)) {
    require(ranks >= 1, "partition: {} ranks, expected at least 1", ranks);
    const auto size = [&](std::size_t p) { return parameters[p].parameter->value.size(); };
    for (std::size_t end = parameters.size(); end > 0; end = buckets_.back().begin) {
        Index total = 0;
        std::size_t begin = end;
        while (begin > 0 && total < bucket) total += size(--begin);
        Bucket made{begin, end, std::vector<std::vector<Piece>>(static_cast<std::size_t>(ranks))};
        made.starts.resize(static_cast<std::size_t>(ranks) + 1, total);
        Index before = 0;  // elements before the block
        for (std::size_t p = begin; p < end; ++p)
            for (Index first = 0; first < size(p); first += block) {
                const Index last = std::min(size(p), first + block);
                const Index owner = before * ranks / total;
                std::vector<Piece>& slice = made.slices[static_cast<std::size_t>(owner)];
                if (first > 0 && !slice.empty())
                    slice.back().end = last;  // goes on
                else
                    slice.push_back({p, first, last});
                before += last - first;
                for (Index r = owner + 1; r < ranks; ++r)
                    made.starts[static_cast<std::size_t>(r)] = before;
                owners_.push_back(owner);
            }
        for (std::size_t r = 0; r < pieces_.size(); ++r)
            pieces_[r].insert(pieces_[r].end(), made.slices[r].begin(), made.slices[r].end());
        buckets_.push_back(std::move(made));
    }
}

Index Partition::count(Index rank) const {
    Index count = 0;
    for (const Piece& piece : pieces(rank)) count += piece.count();
    return count;
}

}  // namespace abh
