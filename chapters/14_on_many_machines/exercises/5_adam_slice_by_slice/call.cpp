#include <cmath>
#include <vector>

#include "../on_ranks.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
struct Memory {
    Tensor m, v;
    Index steps = 0;
};
void update(Ranks& ranks, Tensor& w, const Tensor& part, Memory& memory, Real learning_rate,
            Real largest);
}  // namespace abh::mine

using namespace abh;

namespace {

/// Each rank's m, v and weights after all steps, and how many bytes it has sent.
/// @param parts  the parts of the gradients, [steps, ranks, N]
std::vector<Tensor> after(const Tensor& w, const Tensor& parts, Real learning_rate, Real largest) {
    const Index n = parts.dim(1), size = w.size();
    return on_ranks(n, [&](Ranks& ranks) -> std::vector<Tensor> {
        Tensor own = w.clone();
        mine::Memory memory{Tensor::zeros({size / n}), Tensor::zeros({size / n})};
        for (Index step = 0; step < parts.dim(0); ++step) {
            const Index row = step * n + ranks.rank();
            const Tensor part =
                parts.reshape({parts.dim(0) * n, size}).rows(row, row + 1).reshape({size}).clone();
            mine::update(ranks, own, part, memory, learning_rate, largest);
        }
        return {memory.m, memory.v, own, Tensor({1}, {static_cast<Real>(ranks.traffic().bytes)})};
    });
}

std::vector<Tensor> update(const Tensor& w, const Tensor& parts, Real learning_rate, Real largest) {
    std::vector<Tensor> results = after(w, parts, learning_rate, largest);
    results.pop_back();
    return results;
}

/// How much rank 0 sends in a step, as a multiple of the elements that it does not own, rounded.
Index sent(const Tensor& w, const Tensor& parts, Real learning_rate, Real largest) {
    const Index n = parts.dim(1), others = w.size() - w.size() / n;
    const Tensor bytes = after(w, parts, learning_rate, largest).back();
    return static_cast<Index>(
        std::lround(static_cast<double>(bytes(0, 0)) /
                    static_cast<double>(others * static_cast<Index>(sizeof(Real)) * parts.dim(0))));
}

}  // namespace

int main() {
    return judge::serve({{"update", judge::function(update)}, {"sent", judge::function(sent)}});
}
