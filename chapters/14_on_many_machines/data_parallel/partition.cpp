#include "chapters/14_on_many_machines/data_parallel/partition.hpp"

#include <algorithm>
#include <utility>

namespace abh {
// [piece]
Tensor piece_of(const Tensor& whole, const Piece& piece) {
    return whole.reshape({whole.size()}).rows(piece.begin, piece.end);
}
// [partition]
namespace {

Bucket bucket_of(const Parameters& parameters, std::vector<std::size_t> which, Index ranks) {
    const auto size = [&](std::size_t p) { return parameters[p].parameter->value.size(); };
    const auto n = static_cast<std::size_t>(ranks);
    Index total = 0, before = 0;  // elements in all, and before the block
    for (const std::size_t p : which) total += size(p);
    Bucket made;
    made.slices.resize(n);
    made.starts.resize(n + 1, total);
    made.starts.front() = 0;
    for (const std::size_t p : which)
        for (Index first = 0; first < size(p); first += block_size) {
            const Index last = std::min(size(p), first + block_size);
            const Index owner = before * ranks / total;
            std::vector<Piece>& slice = made.slices[static_cast<std::size_t>(owner)];
            if (first > 0 && !slice.empty())
                slice.back().end = last;  // the piece continues
            else
                slice.push_back({p, first, last});
            before += last - first;
            for (Index r = owner + 1; r < ranks; ++r)
                made.starts[static_cast<std::size_t>(r)] = before;
            made.owners.push_back(owner);
        }
    made.parameters = std::move(which);
    return made;
}

}  // namespace

std::vector<Bucket> cut_into_buckets(const Parameters& parameters, Index ranks, Index large) {
    require(ranks >= 1, "partition: {} ranks, expected at least 1", ranks);
    std::vector<Bucket> buckets;
    std::vector<std::size_t> small;
    Index collected = 0;
    for (std::size_t p = parameters.size(); p-- > 0;) {
        const Index size = parameters[p].parameter->value.size();
        if (size >= large) {
            buckets.push_back(bucket_of(parameters, {p}, ranks));
            continue;
        }
        small.push_back(p);
        if ((collected += size) < large) continue;
        buckets.push_back(bucket_of(parameters, std::exchange(small, {}), ranks));
        collected = 0;
    }
    if (!small.empty()) buckets.push_back(bucket_of(parameters, small, ranks));
    return buckets;
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
