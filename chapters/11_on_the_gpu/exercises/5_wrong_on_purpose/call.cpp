#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "judge/answer/serve.hpp"
#include "lib/cuda/kernel.cuh"
#include "lib/tensor.hpp"

namespace abh::mine {
Tensor normalize(const Tensor& x);
bool accepts(const std::function<Tensor(const Tensor&)>& f);
}  // namespace abh::mine

namespace {

using namespace abh;
using namespace abh::cuda;

enum class Fault { none, race, leaves, one_each, first_row };

/// Joins the sums of the warps without a barrier beforehand, as the stub does.
__device__ Real total_with_race(Real v) {
    __shared__ Shared<Real, warp> of_warp;
    v = warp_sum(v);
    if (lane() == 0) of_warp[threadIdx.x / warp] = v;
    __syncthreads();
    return warp_sum(lane() < static_cast<int>(blockDim.x) / warp ? Real(of_warp[lane()]) : Real(0));
}

__global__ void kernel_with(Index n, Global<Real> y, Global<const Real> x, Fault fault) {
    if (fault == Fault::leaves && threadIdx.x >= n) return;
    const auto total = [=](Real v) {
        return fault == Fault::race ? total_with_race(v) : block_sum(v);
    };
    const Index row = blockIdx.x, last = fault == Fault::one_each ? std::min<Index>(n, 256) : n;
    const Index from = fault == Fault::first_row ? 0 : row;
    Real sum = 0, squares = 0;
    for (Index j = threadIdx.x; j < last; j += blockDim.x) sum += x[from * n + j];
    const Real mean = total(sum) / static_cast<Real>(n);
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        squares += (x[row * n + j] - mean) * (x[row * n + j] - mean);
    const Real variance = total(squares) / static_cast<Real>(n);
    const Real deviation = sqrt(variance + Real(1e-5));
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        y[row * n + j] = (x[row * n + j] - mean) / deviation;
}

Tensor normalize_with(Fault fault, const Tensor& x) {
    Tensor y(x.shape());
    launch("normalize", kernel_with, blocks_of(x.dim(0)), x.dim(1), y.on_device(), x.on_device(),
           fault);
    return y;
}

/// What the reader's test says about the reader's own function, or about another one.
bool accepts(const std::string& which) {
    const std::map<std::string, Fault> faults{{"right", Fault::none},
                                              {"race", Fault::race},
                                              {"leaves", Fault::leaves},
                                              {"one_each", Fault::one_each},
                                              {"first_row", Fault::first_row}};
    const bool own = which == "own";
    const Fault fault = own ? Fault::none : faults.at(which);
    return mine::accepts(
        [&](const Tensor& x) { return own ? mine::normalize(x) : normalize_with(fault, x); });
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"normalize", function(mine::normalize)}, {"accepts", function(accepts)}});
}
