#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chapters/09_training/loop/training.hpp"

namespace abh {
// [steps]
/// The number of target words in all these batches.
Index count_targets(std::span<const Batch> batches);

/// Computes the steps of training, in this process alone or together with others.
class TeamTrainer {
public:
    virtual ~TeamTrainer() = default;
    /// Sets the gradients to those of a step of these batches. @return its loss
    virtual double forward_backward(std::span<const Batch> batches) = 0;
    double forward_backward(const Batch& batch) { return forward_backward(std::span(&batch, 1)); }
    /// Does what `clip_gradients` does, with all gradients of the team.
    virtual double clip(Real largest) = 0;
    /// Moves the weights.
    virtual void update(Real learning_rate) = 0;
    /// What the optimizer remembers about all parameters, in the order of `Optimizer::memory`.
    virtual std::vector<NamedTensor> memory() = 0;
    /// Makes the optimizer remember these tensors, which are like those of `memory`, after `steps`.
    virtual void remember(std::span<const Tensor> memory, Index steps) = 0;
};
// [team]
/// The processes that train together. This team is one process alone; chapter 14 has others.
class Team {
public:
    virtual ~Team() = default;
    /// Whether this process prints and writes files. Only one of the team does.
    virtual bool first() const { return true; }
    /// The first process's number, on all processes.
    virtual double agreed(double number) const { return number; }
    /// f(0), ..., f(n - 1), each computed by one of the processes.
    virtual std::vector<std::string> share_out(Index n,
                                               const std::function<std::string(Index)>& f) const;
    /// How many parts a batch is cut into, each of which is computed by itself.
    virtual Index shards() const { return 1; }
    /// @throws std::runtime_error naming the first difference if the processes' values differ
    /// @param values  a JSON object
    virtual void require_same(const std::string& values) const;
    virtual std::unique_ptr<TeamTrainer> trainer(Transformer& model,
                                                 const TrainingOptions& options) const;
};
/// The team of one process.
const Team& alone();

}  // namespace abh
