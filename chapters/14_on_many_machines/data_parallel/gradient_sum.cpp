#include "chapters/14_on_many_machines/data_parallel/gradient_sum.hpp"

#include <algorithm>
#include <utility>

#include "lib/eigen.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [bfloat16]
using Bfloat16s = Eigen::VectorX<Bfloat16>;

std::vector<Bfloat16> to_bfloat16(const Tensor& x) {
    std::vector<Bfloat16> numbers(static_cast<std::size_t>(x.size()));
    Eigen::Map<Bfloat16s>(numbers.data(), x.size()) = vector(x).cast<Bfloat16>();
    return numbers;
}

void assign(Tensor& x, std::span<const Bfloat16> numbers) {
    vector(x) = Eigen::Map<const Bfloat16s>(numbers.data(), x.size()).cast<Real>();
}

// [construct]
GradientSum::GradientSum(const Parameters& parameters, std::span<const Bucket> buckets,
                         Ranks& ranks, std::span<std::vector<Parameter>> slices, Index shards,
                         bool bfloat16)
    : parameters_(parameters),
      buckets_(buckets),
      ranks_(ranks),
      slices_(slices),
      bfloat16_(bfloat16),
      own_(parts_of(ranks.rank(), ranks.size(), shards)),
      watch_(parameters, [this] { turned(); }) {
    require(shards >= ranks.size(),
            "data parallel: {} shards for {} ranks, expected at least one each", shards,
            ranks.size());
    for (Index r = 0; r < ranks.size(); ++r) {
        const Parts parts = parts_of(r, ranks.size(), shards);
        nodes_.push_back(TreeSum::nodes_of(parts));
        owners_.insert(owners_.end(), static_cast<std::size_t>(parts.count()), r);
    }
}

// [turned]
/// Called in backward when it is another layer's turn. Adds the buckets that are complete, in their
/// order, which is the same on all ranks.
void GradientSum::turned() {
    const auto complete = [&](std::size_t p) { return watch_.complete(p); };
    while (next_ < buckets_.size() && std::ranges::all_of(buckets_[next_].parameters, complete))
        add(next_++);
    look();
}
// [one bucket]
/// Adds this shard's gradients of a bucket to the sum; after the last shard, sends the sum.
void GradientSum::add(std::size_t bucket) {
    const Bucket& of = buckets_[bucket];
    std::vector<Tensor> gradients;  // a separate set of tensors for each shard
    for (const std::size_t p : of.parameters) gradients.push_back(parameters_[p].parameter->grad());
    sums_[bucket].own.add({shard_, shard_ + 1}, row_of(of, gradients));
    if (shard_ + 1 == own_.end) send(bucket);
}

/// Sends each rank its slice of this rank's nodes, and makes room for what comes in return.
void GradientSum::send(std::size_t bucket) {
    const Bucket& of = buckets_[bucket];
    Sum& sum = sums_[bucket];
    const Index size = ranks_.size(), me = ranks_.rank();
    const auto slice = [&](const TreeSum::Node& node, Index r) {
        return node.sum.rows(of.start(r), of.start(r + 1));
    };
    std::size_t rounds = 0;
    for (const std::vector<Parts>& nodes : nodes_) rounds = std::max(rounds, nodes.size());
    sum.received.resize(nodes_.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<Message> to(nodes_.size());
        std::vector<Room> from(nodes_.size());
        for (Index r = 0; r < size; ++r) {
            const auto at = static_cast<std::size_t>(r);
            if (r != me && round < sum.own.nodes().size())
                to[at] = leaving(sum, slice(sum.own.nodes()[round], r));
            if (round >= nodes_[at].size()) continue;
            sum.received[at].push_back(r == me ? slice(sum.own.nodes()[round], me)
                                               : Tensor({of.count(me)}));
            if (r != me) from[at] = coming(sum, sum.received[at].back());
        }
        sum.transfers.push_back(ranks_.exchange("gradients", to, from));
    }
    trips_.push_back({.left = now()});
}
// [rounded]
Message GradientSum::leaving(Sum& sum, const Tensor& x) const {
    if (!bfloat16_) return message_of(x);
    return std::as_bytes(std::span(sum.sent.emplace_back(to_bfloat16(x))));
}

Room GradientSum::coming(Sum& sum, Tensor& x) const {
    if (!bfloat16_) return room_of(x);
    sum.arrivals.push_back({x, std::vector<Bfloat16>(static_cast<std::size_t>(x.size()))});
    return std::as_writable_bytes(std::span(sum.arrivals.back().numbers));
}
// [step]
Parts GradientSum::begin() {
    start_ = steady_ms();
    sums_.clear();
    sums_.resize(buckets_.size());
    trips_.clear();
    return own_;
}

void GradientSum::begin_shard(Index shard, Index backwards) {
    shard_ = shard;
    next_ = 0;
    watch_.begin(backwards);
}

void GradientSum::end_shard() {
    computed_ = now();
    watch_.end();
    while (next_ < sums_.size()) add(next_++);
}
// [look]
/// Checks the messages under way, which also keeps them moving.
void GradientSum::look() {
    const auto here = [](const auto& transfer) { return !transfer || transfer->complete(); };
    for (std::size_t b = 0; b < trips_.size(); ++b)
        if (trips_[b].arrived == 0 && std::ranges::all_of(sums_[b].transfers, here))
            trips_[b].arrived = now();
}

double GradientSum::now() const {
    return steady_ms() - start_;
}
// [finish]
std::vector<Parameter>& GradientSum::finish(std::size_t bucket) {
    std::vector<Parameter>& slices = slices_[bucket];
    if (sums_.empty() || sums_[bucket].finished) return slices;
    look();
    Sum& of = sums_[bucket];
    for (const auto& transfer : of.transfers) ranks_.wait(transfer);
    for (Arrival& arrival : of.arrivals) assign(arrival.to, arrival.numbers);
    if (trips_[bucket].arrived == 0) trips_[bucket].arrived = now();
    TreeSum sum;
    for (std::size_t r = 0; r < nodes_.size(); ++r)
        for (std::size_t i = 0; i < nodes_[r].size(); ++i) sum.add(nodes_[r][i], of.received[r][i]);
    const Tensor total = sum.total();  // [count]
    Index at = 0;
    for (Parameter& slice : slices) {
        const Index count = slice.value.size();
        slice.gradient.zero();
        // makes a copy, because Eigen rounds some sums by where in memory they begin, and the next
        // backward adds to this gradient
        slice.gradient.add(total.rows(at, at + count).reshape(slice.value.shape()));
        at += count;
    }
    of = {};  // frees its memory
    of.finished = true;
    return slices;
}

}  // namespace abh
