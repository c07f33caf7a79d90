#include "chapters/13_real_translation/practice/team.hpp"

#include <algorithm>

#include "chapters/13_real_translation/practice/training_run.hpp"

namespace abh {
// [own steps]
Index count_targets(std::span<const Batch> batches) {
    Index words = 0;
    for (const Batch& batch : batches) words += batch.n_targets;
    return words;
}

namespace {

/// Computes the steps in this process alone.
class OwnTrainer : public TeamTrainer {
public:
    OwnTrainer(Transformer& model, const TrainingOptions& options)
        : parameters_(parameters_of(model)), trainer_(model, options) {}

    // [several batches]
    double forward_backward(std::span<const Batch> batches) override {
        const Index n_targets = count_targets(batches);
        trainer_.begin();
        double loss = 0;
        for (Index part = 0; const Batch& batch : batches)
            loss += trainer_.add_part(batch, n_targets, part++);
        return loss;
    }
    // [own steps: the rest]
    double clip(Real largest) override { return clip_gradients(parameters_, largest); }
    void update(Real learning_rate) override { trainer_.update(learning_rate); }
    std::vector<NamedTensor> memory() override { return trainer_.optimizer().memory(); }
    void remember(std::span<const Tensor> memory, Index steps) override {
        std::vector<NamedTensor> own = this->memory();
        for (std::size_t i = 0; i < own.size(); ++i)
            std::ranges::copy(memory[i].values(), own[i].tensor.values().begin());
        trainer_.optimizer().set_steps(steps);
    }

private:
    Parameters parameters_;
    Trainer trainer_;
};

}  // namespace
// [team]
std::vector<std::string> Team::share_out(Index n,
                                         const std::function<std::string(Index)>& f) const {
    std::vector<std::string> results;
    for (Index i = 0; i < n; ++i) results.push_back(f(i));
    return results;
}

void Team::require_same(const std::string&) const {}

std::unique_ptr<TeamTrainer> Team::trainer(Transformer& model,
                                           const TrainingOptions& options) const {
    return std::make_unique<OwnTrainer>(model, options);
}

const Team& alone() {
    static const Team team;
    return team;
}

}  // namespace abh
