#pragma once

#include <span>
#include <vector>

#include "chapters/13_real_translation/practice/team.hpp"
#include "chapters/14_on_many_machines/data_parallel/gradient_sum.hpp"

namespace abh {
// [shards]
/// Cuts the pairs of a batch into neighbors that have about equally many words to compute.
/// @return  the first pair of each shard, and the number of pairs at the end, `shards + 1` numbers
std::vector<Index> cut_into_shards(const Batch& batch, Index shards, std::int32_t pad);
// [data parallel]
struct DataParallelOptions {
    Index shards = 4;
    bool overlap = true;    ///< send gradients while backward goes on; the bits are the same
    bool bfloat16 = false;  ///< round gradients that are sent; results then depend on the ranks
    Index bucket = Partition::bucket_size;  ///< elements of a parameter that travels by itself
};

/// Training on several ranks, each of which has the whole model and computes a part of each batch.
///
/// The gradient of a step is defined over a fixed number of shards: each is computed by itself, and
/// their sum is a `TreeSum`. A rank computes some neighboring shards. So losses, gradients and
/// weights are the same bits for any number of ranks up to that of the shards.
///
/// Each rank keeps what the optimizer remembers for its own slice of the parameters alone, updates
/// it, and hands it to the others: ZeRO's first stage, Rajbhandari et al. 2020.
class DataParallel : public TeamTrainer {
public:
    /// @param model  is trained; begins with rank 0's weights on every rank; to stay where it is
    /// @throws std::invalid_argument if there are fewer shards than ranks, or an option is out of
    /// its range
    DataParallel(Transformer& model, const TrainingOptions& training, Ranks& ranks,
                 const DataParallelOptions& options);

    /// Forward, loss, backward of a step's batches, which are the same on every rank. @return the
    /// loss
    double forward_backward(std::span<const Batch> batches) override;
    double forward_backward(const Batch& batch) { return forward_backward(std::span(&batch, 1)); }
    /// The norm of the whole gradient; where it is larger than `largest`, which is not 0, all
    /// gradients are multiplied so that it is that.
    double clip(Real largest) override;
    /// Moves the own slice of the weights, and hands it to the others, bucket by bucket.
    void update(Real learning_rate) override;

    /// How the gradients of the last step were summed: known after `clip`, or `update`.
    const GradientSum& sum() const { return sum_; }
    /// The slices that this rank updates, and their gradients.
    const Parameters& slices();
    Optimizer& optimizer() { return trainer_.optimizer(); }
    /// What the optimizers of all ranks remember, put together: as one optimizer of all parameters
    /// has it.
    std::vector<NamedTensor> memory() override;
    /// Makes each optimizer remember its slice of this: tensors as those of `memory`.
    void remember(std::span<const Tensor> memory, Index steps) override;

private:
    std::vector<Batch> shard_of(std::span<const Batch> batches, Index shard) const;
    double sum_in_order(const std::vector<double>& own, std::span<const Index> owners);
    void gather(std::span<const Tensor> whole);

    Transformer& model_;
    Ranks& ranks_;
    DataParallelOptions options_;
    Parameters parameters_;
    Partition partition_;
    std::vector<Parameter> slices_;
    Parameters slices_list_;
    GradientSum sum_;
    Trainer trainer_;
};

}  // namespace abh
