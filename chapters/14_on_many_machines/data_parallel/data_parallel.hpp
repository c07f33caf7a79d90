#pragma once

#include <span>
#include <vector>

#include "chapters/13_real_translation/practice/team.hpp"
#include "chapters/14_on_many_machines/data_parallel/gradient_sum.hpp"

namespace abh {
// [shards]
/// Cuts a batch into shards of neighboring pairs, with about the same number of words in each.
/// @return  the first pair of each shard, then the number of pairs: `shards + 1` numbers
std::vector<Index> cut_into_shards(const Batch& batch, Index shards, std::int32_t pad);
// [data parallel]
struct DataParallelOptions {
    Index shards = 4;
    bool overlap = true;        ///< send gradients while backward goes on; the bits are the same
    bool bfloat16 = false;      ///< round what is sent; results then depend on the number of ranks
    Index bucket = large_size;  ///< elements from which a parameter travels alone
};

/// Training on several ranks, each of which has the whole model and computes a part of each batch.
///
/// The gradient of a step is defined over a fixed number of shards: each shard's gradient is
/// computed by itself, and a `TreeSum` adds them. A rank computes some neighboring shards. Losses,
/// gradients and weights therefore have the same bits for any number of ranks up to that of shards.
///
/// Each rank keeps the optimizer's memory of its own slice of the parameters only, updates this
/// slice, and sends it to the others: ZeRO's first stage, Rajbhandari et al. 2020.
class DataParallel : public TeamTrainer {
public:
    /// @param model  is trained, starting from rank 0's weights on every rank; must not move
    /// @throws std::invalid_argument if there are fewer shards than ranks, or if an option is out
    /// of range
    DataParallel(Transformer& model, const TrainingOptions& training, Ranks& ranks,
                 const DataParallelOptions& options);

    /// Does what `forward_backward` of one process does, with batches that are the same on every
    /// rank.
    double forward_backward(std::span<const Batch> batches) override;
    double forward_backward(const Batch& batch) { return forward_backward(std::span(&batch, 1)); }
    /// Scales all gradients so that the norm of the whole gradient is at most `largest`; 0 leaves
    /// them as they are. @return the norm before that
    double clip(Real largest) override;
    /// Updates this rank's slice of the weights, and sends it to the others, bucket by bucket.
    void update(Real learning_rate) override;

    /// How the last step's gradients were summed; known once `clip` or `update` has run.
    const GradientSum& sum() const { return sum_; }
    /// The slices that this rank updates, with their gradients.
    const Parameters& slices();
    Optimizer& optimizer() { return trainer_.optimizer(); }
    /// What the optimizers of all ranks remember, as if one optimizer had all parameters.
    std::vector<NamedTensor> memory() override;
    /// Makes each rank's optimizer remember its slice of these tensors, listed as by `memory`.
    void remember(std::span<const Tensor> memory, Index steps) override;

private:
    /// What one shard has of a batch, and its number among all parts of the step.
    struct Part {
        Batch batch;
        Index number;
    };

    /// Tensors of a bucket, and the row in which the other ranks' slices of them arrive.
    struct Arriving {
        std::vector<Tensor> tensors;
        Tensor row;
        std::unique_ptr<Transfer> transfer;
    };

    std::vector<Part> parts_of_shard(std::span<const Batch> batches, Index shard) const;
    double sum_in_order(const std::vector<double>& own, std::span<const Index> owners);
    Arriving send_slice(const Bucket& bucket, std::span<const Tensor> whole);
    void complete(std::span<Arriving> buckets);

    Transformer& model_;
    Ranks& ranks_;
    DataParallelOptions options_;
    Parameters parameters_;
    std::vector<Bucket> buckets_;
    std::vector<std::vector<Parameter>> slices_;  ///< that this rank updates, by bucket
    Parameters slices_list_;
    GradientSum sum_;
    Trainer trainer_;
};

}  // namespace abh
