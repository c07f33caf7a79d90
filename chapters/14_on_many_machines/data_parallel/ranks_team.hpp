#pragma once

#include "chapters/13_real_translation/practice/team.hpp"
#include "chapters/14_on_many_machines/ranks/ranks.hpp"

namespace abh {
// [team]
/// The processes of a run, as chapter 13's training expects them, with `DataParallel`'s steps.
class RanksTeam : public Team {
public:
    /// @param ranks  must outlive this
    RanksTeam(Ranks& ranks, Index shards) : ranks_(ranks), shards_(shards) {}

    bool first() const override { return ranks_.first(); }
    Index shards() const override { return shards_; }
    double agreed(double number) const override;
    /// Rank r computes f(i) for each i with i mod `size` = r.
    std::vector<std::string> share_out(Index n,
                                       const std::function<std::string(Index)>& f) const override;
    void require_same(const std::string& values) const override;
    std::unique_ptr<TeamTrainer> trainer(Transformer& model,
                                         const TrainingOptions& options) const override;

private:
    Ranks& ranks_;
    Index shards_;
};

}  // namespace abh
