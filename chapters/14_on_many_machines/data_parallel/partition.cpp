#include "chapters/14_on_many_machines/data_parallel/partition.hpp"

#include <algorithm>
#include <utility>

namespace abh {
// [piece]
Tensor piece_of(const Tensor& whole, const Piece& piece) {
    return whole.reshape({whole.size()}).rows(piece.begin, piece.end);
}
// [partition]
Partition::Partition(const Parameters& parameters, Index ranks, Index bucket)
    : pieces_(static_cast<std::size_t>(ranks)) {
    require(ranks >= 1, "partition: {} ranks, expected at least 1", ranks);
    std::vector<std::size_t> small;
    Index collected = 0;
    for (std::size_t p = parameters.size(); p-- > 0;) {
        const Index size = parameters[p].parameter->value.size();
        if (size >= bucket) {
            add_bucket(parameters, {p});
            continue;
        }
        small.push_back(p);
        if ((collected += size) < bucket) continue;
        add_bucket(parameters, std::exchange(small, {}));
        collected = 0;
    }
    if (!small.empty()) add_bucket(parameters, small);
}

void Partition::add_bucket(const Parameters& parameters, std::vector<std::size_t> which) {
    const auto ranks = static_cast<Index>(pieces_.size());
    const auto size = [&](std::size_t p) { return parameters[p].parameter->value.size(); };
    Index total = 0, before = 0;  // elements in all, and before the block
    for (const std::size_t p : which) total += size(p);
    Bucket made;
    made.slices.resize(pieces_.size());
    made.starts.resize(pieces_.size() + 1, total);
    for (const std::size_t p : which)
        for (Index first = 0; first < size(p); first += block) {
            const Index last = std::min(size(p), first + block);
            const Index owner = before * ranks / total;
            std::vector<Piece>& slice = made.slices[static_cast<std::size_t>(owner)];
            if (first > 0 && !slice.empty())
                slice.back().end = last;  // the piece continues
            else
                slice.push_back({p, first, last});
            before += last - first;
            for (Index r = owner + 1; r < ranks; ++r)
                made.starts[static_cast<std::size_t>(r)] = before;
            owners_.push_back(owner);
        }
    for (std::size_t r = 0; r < pieces_.size(); ++r)
        pieces_[r].insert(pieces_[r].end(), made.slices[r].begin(), made.slices[r].end());
    made.parameters = std::move(which);
    buckets_.push_back(std::move(made));
}

// [row]
Tensor row_of(const Bucket& bucket, std::span<const Tensor> tensors) {
    if (tensors.size() == 1) return tensors.front().reshape({bucket.size()});
    Tensor row({bucket.size()});
    auto to = row.values().begin();
    for (const Tensor& tensor : tensors)
        to = std::copy(tensor.values().begin(), tensor.values().end(), to);
    return row;
}

void put_back(const Tensor& row, std::span<Tensor> tensors) {
    if (tensors.size() == 1) return;
    auto from = row.values().begin();
    for (Tensor& tensor : tensors) {
        std::copy_n(from, tensor.size(), tensor.values().begin());
        from += tensor.size();
    }
}

}  // namespace abh
