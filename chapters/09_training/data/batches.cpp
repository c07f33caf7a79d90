#include "chapters/09_training/data/batches.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace abh {
// [batches]
Batches::Batches(std::span<const SentencePair> pairs, Index size, bool bucket_by_length)
    : pairs_(pairs),
      size_(std::min(size, static_cast<Index>(pairs.size()))),
      bucket_by_length_(bucket_by_length) {
    require(!pairs.empty(), "batches: there is no pair");
    require(size >= 1, "batches: {} pairs per batch, expected at least 1", size);
    order_.resize(pairs.size());
    rank_.resize(pairs.size());
    batches_.resize((pairs.size() - 1) / static_cast<std::size_t>(size_) + 1);
    begin();
}

void Batches::begin() {
    std::iota(order_.begin(), order_.end(), Index{0});
    std::iota(batches_.begin(), batches_.end(), Index{0});
}

void Batches::draw(const Stream& of_pairs, const Stream& of_batches) {
    begin();
    shuffle(order_, of_pairs);
    if (!bucket_by_length_) return;
    for (std::size_t i = 0; i < order_.size(); ++i)
        rank_[static_cast<std::size_t>(order_[i])] = static_cast<Index>(i);
    const auto key = [&](Index number) {
        const std::size_t i = static_cast<std::size_t>(number);
        return std::tuple(pairs_[i].target.size(), pairs_[i].source.size(), rank_[i]);
    };
    constexpr Index drawn = 64;  // batches of random pairs are sorted by length together
    const Index n = static_cast<Index>(order_.size());
    for (Index first = 0; first < n; first += drawn * size_)
        std::sort(order_.begin() + first, order_.begin() + std::min(n, first + drawn * size_),
                  [&](Index a, Index b) { return key(a) < key(b); });
    shuffle(batches_, of_batches);
}

std::span<const Index> Batches::operator[](Index i) const {
    const Index first = batches_[static_cast<std::size_t>(i)] * size_;
    const Index count = std::min(size_, static_cast<Index>(order_.size()) - first);
    return std::span(order_).subspan(static_cast<std::size_t>(first),
                                     static_cast<std::size_t>(count));
}
// [pads]
double share_of_pads(std::span<const SentencePair> pairs, const Batches& batches) {
    std::size_t words = 0, places = 0;
    for (Index i = 0; i < batches.count(); ++i) {
        std::size_t source = 0, target = 0;  // longest of the batch
        for (Index number : batches[i]) {
            const SentencePair& pair = pairs[static_cast<std::size_t>(number)];
            words += pair.source.size() + pair.target.size() + 1;  // the start symbol
            source = std::max(source, pair.source.size());
            target = std::max(target, pair.target.size() + 1);
        }
        places += batches[i].size() * (source + target);
    }
    return 1 - static_cast<double>(words) / static_cast<double>(places);
}

}  // namespace abh
