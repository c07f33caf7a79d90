#pragma once

#include <Eigen/Core>
#include <memory>
#include <span>
#include <vector>

#include "chapters/14_on_many_machines/data_parallel/gradient_watch.hpp"
#include "chapters/14_on_many_machines/data_parallel/partition.hpp"
#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"

namespace abh {
// [bfloat16]
/// The upper half of a `float`: its sign, its exponent, and 7 of the 23 bits of its fraction.
using Bfloat16 = Eigen::bfloat16;

/// The elements of x, each rounded to nearest: it changes by a factor of 1 - 2^-8 to 1 + 2^-8.
std::vector<Bfloat16> to_bfloat16(const Tensor& x);
/// Sets the elements of x to these numbers, one for each.
void assign(Tensor& x, std::span<const Bfloat16> numbers);

// [trip]
/// When a bucket's gradients left, and when those of the other ranks were seen to have arrived, in
/// milliseconds from the start of the first shard. They may have come up to one layer's backward
/// earlier than they were seen.
struct Trip {
    double left = 0, arrived = 0;
};
// [gradient sum]
/// Sums the gradients of all shards over all ranks, and gives each rank the sum for its slice.
///
/// Each bucket is summed separately. It goes out as soon as its gradients are complete in the last
/// of this rank's shards, while backward continues with the layers below. (In the first shard of
/// all, whose gradients are complete is not known before backward is over.)
class GradientSum {
public:
    /// @param parameters  of the model
    /// @param buckets     of these; must outlive this, as must `ranks` and `slices`
    /// @param slices      receive the sums: for each bucket, this rank's pieces as parameters
    /// @param bfloat16    whether to round messages to half as many bytes
    /// @throws std::invalid_argument if there are fewer shards than ranks
    GradientSum(const Parameters& parameters, std::span<const Bucket> buckets, Ranks& ranks,
                std::span<std::vector<Parameter>> slices, Index shards, bool bfloat16 = false);
    GradientSum(const GradientSum&) = delete;
    GradientSum& operator=(const GradientSum&) = delete;

    /// The rank that computes each shard.
    const std::vector<Index>& owners() const { return owners_; }
    /// Begins the sum of a step. @return the shards that this rank is to compute
    Parts begin();
    /// Begins a shard, whose gradients go out while its last backward is still running.
    /// @param backwards  how many backwards complete its gradients; 0: they go out at the end
    void begin_shard(Index shard, Index backwards);
    /// Call it when all of the shard's gradients are complete.
    void end_shard();
    /// Waits for the other ranks' gradients of a bucket and sums them, unless that has been done.
    /// @return the bucket's slices
    std::vector<Parameter>& finish(std::size_t bucket);
    /// The last step's buckets, in the order in which they left.
    const std::vector<Trip>& trips() const { return trips_; }
    /// When this rank had computed its last shard, in the milliseconds of `Trip`.
    double computed() const { return computed_; }

private:
    /// Rounded numbers on their way to a tensor.
    struct Arrival {
        Tensor to;
        std::vector<Bfloat16> numbers;
    };
    /// The parts of one bucket's sum.
    struct Sum {
        TreeSum own;                                ///< over this rank's shards, the whole row
        std::vector<std::vector<Tensor>> received;  ///< [rank][node]: this rank's slice
        std::vector<std::vector<Bfloat16>> sent;    ///< for bfloat16 only, as is the next
        std::vector<Arrival> arrivals;
        std::vector<std::unique_ptr<Transfer>> transfers;
        bool finished = false;
    };

    void turned();
    void add(std::size_t bucket);
    void send(std::size_t bucket);
    Message leaving(Sum& sum, const Tensor& x) const;
    Room coming(Sum& sum, Tensor& x) const;
    void look();
    double now() const;

    Parameters parameters_;
    std::span<const Bucket> buckets_;
    Ranks& ranks_;
    std::span<std::vector<Parameter>> slices_;
    bool bfloat16_;
    Parts own_;  ///< this rank's shards
    std::vector<Index> owners_;
    std::vector<std::vector<Parts>> nodes_;  ///< of the tree, those that each rank has

    GradientWatch watch_;
    Index shard_ = 0;  ///< being computed
    std::vector<Sum> sums_;
    std::size_t next_ = 0;  ///< the bucket whose gradients are added next
    double start_ = 0;      ///< of the step, in ms by `steady_ms`
    std::vector<Trip> trips_;
    double computed_ = 0;
};

}  // namespace abh
