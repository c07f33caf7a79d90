#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "chapters/14_on_many_machines/data_parallel/partition.hpp"
#include "chapters/14_on_many_machines/ranks/bfloat16.hpp"
#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"

namespace abh {
// [trip]
/// When a bucket's gradients left, and when those of the other ranks were there: milliseconds after
/// the first shard began. They may have come up to a layer's backward earlier than they were seen.
struct Trip {
    double left = 0, arrived = 0;
};
// [gradient sum]
/// Sums the gradients of all shards over all ranks, and leaves each rank the sum of its slice.
///
/// Each bucket is a sum of its own. It goes out as soon as its gradients are complete in the last
/// of this rank's shards, while backward goes on with the layers below.
class GradientSum {
public:
    /// @param parameters  of the model
    /// @param partition   of these; outlives this, as do `ranks` and `slices`
    /// @param slices      receive the sums: the parameters of this rank's pieces, in their order
    /// @param bfloat16    whether messages are rounded to half their bytes
    /// @throws std::invalid_argument if there are fewer shards than ranks
    GradientSum(const Parameters& parameters, const Partition& partition, Ranks& ranks,
                std::span<Parameter> slices, Index shards, bool bfloat16 = false);
    ~GradientSum();
    GradientSum(const GradientSum&) = delete;
    GradientSum& operator=(const GradientSum&) = delete;

    /// The rank of each shard.
    const std::vector<Index>& owners() const { return owners_; }
    /// Begins the sum of a step. @return the shards that this rank is to compute
    Parts begin();
    /// Begins a shard, whose gradients go out while its last backward goes on.
    /// @param backwards  how many complete its gradients; 0: they go out at the end
    void begin_shard(Index shard, Index backwards);
    /// All of the shard's gradients are complete.
    void end_shard();
    /// Waits for the other ranks' gradients of a bucket, unless that was done, and sums them up.
    /// @return the bucket's slices
    std::span<Parameter> finish(std::size_t bucket);
    /// Of the buckets of the last step, in the order in which they left.
    const std::vector<Trip>& trips() const { return trips_; }
    /// When this rank had computed its last shard, as `Trip` counts.
    double computed() const { return computed_; }

private:
    /// Rounded numbers on their way to a tensor.
    struct Arrival {
        Tensor to;
        std::vector<Bfloat16> numbers;
    };
    /// What one bucket's sum consists of.
    struct Sum {
        TreeSum own;                                ///< over the shards of this rank: the whole row
        std::vector<std::vector<Tensor>> received;  ///< of each rank, its nodes: this rank's slice
        std::vector<std::vector<Bfloat16>> sent;    ///< with bfloat16, as is the next
        std::vector<Arrival> arrivals;
        std::vector<std::unique_ptr<Transfer>> transfers;
        bool finished = false;
    };

    void listen(bool on);
    void added(std::size_t parameter);
    void add(std::size_t bucket);
    void send(std::size_t bucket);
    Message leaving(Sum& sum, const Tensor& x) const;
    Room coming(Sum& sum, Tensor& x) const;
    void look();
    double now() const;

    Parameters parameters_;
    const Partition& partition_;
    Ranks& ranks_;
    std::span<Parameter> slices_;
    bool bfloat16_;
    Parts own_;                                ///< this rank's shards
    std::vector<std::size_t> first_slice_{0};  ///< of each bucket; their number
    std::vector<Index> owners_;
    std::vector<std::vector<Parts>> nodes_;  ///< of the tree, that each rank has

    bool listening_ = false;    ///< to the gradients
    Index shard_ = 0;           ///< that is computed
    Index backwards_ = 0;       ///< of the shard
    std::vector<Index> added_;  ///< how many of them have completed each gradient
    std::vector<Sum> sums_;
    std::size_t next_ = 0;  ///< the bucket whose gradients are added next
    std::chrono::steady_clock::time_point start_;
    std::vector<Trip> trips_;
    double computed_ = 0;
};

}  // namespace abh
