#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chapters/09_training/training.hpp"

namespace abh {
// [steps]
/// What a step of training computes, in this process or together with others.
class TeamTrainer {
public:
    virtual ~TeamTrainer() = default;
    /// Forward, loss, backward of a step's batches. @return the loss
    virtual double forward_backward(std::span<const Batch> batches) = 0;
    /// As `clip_gradients`, of all gradients.
    virtual double clip(Real largest) = 0;
    /// Moves the weights.
    virtual void update(Real learning_rate) = 0;
    /// What the optimizer remembers of all parameters, in the order of `memory` of an `Optimizer`.
    virtual std::vector<NamedTensor> memory() = 0;
    /// Makes the optimizer remember this: tensors as those of `memory`, after so many steps.
    virtual void remember(std::span<const Tensor> memory, Index steps) = 0;
};
// [team]
/// The processes that train together. This one is alone; chapter 14 has others.
class Team {
public:
    virtual ~Team() = default;
    /// Whether this process prints and writes files: one does.
    virtual bool first() const { return true; }
    /// The first process's number, on all.
    virtual double agreed(double number) const { return number; }
    /// f(0), ..., f(n - 1), each computed by one of the processes.
    virtual std::vector<std::string> share_out(Index n,
                                               const std::function<std::string(Index)>& f) const;
    /// Into how many parts a batch is cut, each of which is computed by itself.
    virtual Index shards() const { return 1; }
    /// Whether gradients are rounded to bfloat16 on their way between processes.
    virtual bool bfloat16() const { return false; }
    /// @throws std::runtime_error naming the first difference if the processes do not have the same
    /// @param values  a JSON object
    virtual void require_same(const std::string& values) const;
    virtual std::unique_ptr<TeamTrainer> trainer(Transformer& model,
                                                 const TrainingOptions& options) const;
};
/// One process.
const Team& alone();

}  // namespace abh
