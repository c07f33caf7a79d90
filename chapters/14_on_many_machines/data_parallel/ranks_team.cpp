#include "chapters/14_on_many_machines/data_parallel/ranks_team.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "chapters/13_real_translation/practice/run_state.hpp"
#include "chapters/14_on_many_machines/data_parallel/data_parallel.hpp"
#include "lib/io/files.hpp"
#include "lib/precision.hpp"

namespace abh {
// [steps]
std::unique_ptr<TeamTrainer> RanksTeam::trainer(Transformer& model,
                                                const TrainingOptions& options) const {
    return std::make_unique<DataParallel>(
        model, options, ranks_,
        DataParallelOptions{.shards = shards_, .bfloat16 = precision() == Precision::bf16});
}
// [agreed]
double RanksTeam::agreed(double number) const {
    const std::string own = first() ? to_bytes(std::vector{number}) : "";
    return from_bytes<double>(ranks_.all_gather(own).front()).front();
}
// [share out]
std::vector<std::string> RanksTeam::share_out(Index n,
                                              const std::function<std::string(Index)>& f) const {
    std::vector<std::string> results(static_cast<std::size_t>(n));
    for (Index i = ranks_.rank(); i < n; i += ranks_.size())
        results[static_cast<std::size_t>(i)] = f(i);
    for (Index i = 0; i < n; i += ranks_.size()) {
        const Index own = i + ranks_.rank();
        const auto round = ranks_.all_gather(own < n ? results[static_cast<std::size_t>(own)] : "");
        for (Index r = 0; r < ranks_.size() && i + r < n; ++r)
            results[static_cast<std::size_t>(i + r)] = round[static_cast<std::size_t>(r)];
    }
    return results;
}
// [require same]
void RanksTeam::require_same(const std::string& values) const {
    nlohmann::json own = nlohmann::json::parse(values);
    own["program"] = checksum(read_file("/proc/self/exe"));
    const std::vector<std::string> all = ranks_.all_gather(own.dump());
    for (std::size_t r = 1; r < all.size(); ++r)
        if (const auto other = first_difference(all[r], all.front())) {
            if (!first()) ranks_.barrier();  // until the first has reported it and ends all
            throw std::runtime_error(fmt::format("{} is {} on rank {}, and {} on rank 0",
                                                 other->name, other->now, r, other->before));
        }
}

}  // namespace abh
