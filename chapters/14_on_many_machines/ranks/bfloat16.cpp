#include "chapters/14_on_many_machines/ranks/bfloat16.hpp"

#include "lib/eigen.hpp"

namespace abh {
// [bfloat16]
using Bfloat16s = Eigen::VectorX<Bfloat16>;

std::vector<Bfloat16> to_bfloat16(const Tensor& x) {
    std::vector<Bfloat16> numbers(static_cast<std::size_t>(x.size()));
    Eigen::Map<Bfloat16s>(numbers.data(), x.size()) = vector(x).cast<Bfloat16>();
    return numbers;
}

void assign(Tensor& x, std::span<const Bfloat16> numbers) {
    vector(x) = Eigen::Map<const Bfloat16s>(numbers.data(), x.size()).cast<Real>();
}

}  // namespace abh
