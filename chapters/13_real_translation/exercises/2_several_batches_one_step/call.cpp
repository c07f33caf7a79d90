#include <functional>
#include <vector>

#include "judge/answer/serve.hpp"
#include "lib/parameter.hpp"

namespace abh::mine {
double accumulate(const Parameters& parameters, const std::function<double(std::size_t)>& backward,
                  const std::vector<Index>& words);
}

using namespace abh;

namespace {

/// The loss, and the gradients of two parameters, which begin with what the last step left.
/// @param a, b  the gradients of the batches' own means, `[K, ...]`
std::vector<Tensor> accumulate(const Tensor& losses, const Ids& words, const Tensor& a,
                               const Tensor& b, const Tensor& left_a, const Tensor& left_b) {
    Parameter p(Tensor::zeros(left_a.shape())), q(Tensor::zeros(left_b.shape()));
    p.grad() += left_a;
    q.grad() += left_b;
    const auto backward = [&](std::size_t k) {
        const Index row = static_cast<Index>(k);
        p.grad() += a.rows(row, row + 1).reshape(left_a.shape());
        q.grad() += b.rows(row, row + 1).reshape(left_b.shape());
        return static_cast<double>(losses(row));
    };
    std::vector<Index> counts(words.values().begin(), words.values().end());
    const double loss = mine::accumulate({{"p", &p}, {"q", &q}}, backward, counts);
    return {Tensor({1}, {static_cast<Real>(loss)}), p.grad(), q.grad()};
}

}  // namespace

int main() {
    return judge::serve({{"accumulate", judge::function(accumulate)}});
}
