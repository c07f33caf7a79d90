// Exercise 11.5: a kernel that is wrong on purpose. Repair it, and write the test that it should
// have had.
#include <cmath>
#include <functional>
#include <stdexcept>

#include "lib/cuda/kernel.cuh"
#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {

constexpr Real eps = Real(1e-5);

namespace {

using namespace cuda;

/// The sum over all threads of a block of whole warps; every thread gets it.
__device__ Real total(Real v) {
    __shared__ Shared<Real, warp> of_warp;
    v = warp_sum(v);
    const int warps = static_cast<int>(blockDim.x) / warp;
    // solution
    __syncthreads();  // the last total may still be read
    // stub
    // end
    if (lane() == 0) of_warp[threadIdx.x / warp] = v;
    __syncthreads();
    return warp_sum(lane() < warps ? Real(of_warp[lane()]) : Real(0));
}

/// Each block normalizes a row of `x`, [n_rows, n]: first its mean, then its deviation, then `y`.
__global__ void normalize_kernel(Index n, Global<Real> y, Global<const Real> x) {
    // solution
    const Index row = blockIdx.x;
    // stub
    // const Index row = blockIdx.x;
    // if (threadIdx.x >= n) return;  // no element for this thread
    // end
    Real sum = 0, squares = 0;
    for (Index j = threadIdx.x; j < n; j += blockDim.x) sum += x[row * n + j];
    const Real mean = total(sum) / static_cast<Real>(n);
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        squares += (x[row * n + j] - mean) * (x[row * n + j] - mean);
    const Real deviation = sqrt(total(squares) / static_cast<Real>(n) + eps);
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        y[row * n + j] = (x[row * n + j] - mean) / deviation;
}

}  // namespace

/// @param x  [rows, n]
/// @return   each row minus its mean, divided by the square root of its variance + eps
Tensor normalize(const Tensor& x) {
    Tensor y(x.shape());
    launch("normalize", normalize_kernel, blocks_of(x.dim(0)), x.dim(1), y.on_device(),
           x.on_device());
    return y;
}

/// Your test: whether `f` does what `normalize` promises. If the emulator finds a fault, `f` throws
/// std::runtime_error.
bool accepts(const std::function<Tensor(const Tensor&)>& f) {
    // solution
    for (const Index n : {1, 7, 255, 256, 257, 1000}) {
        const Tensor x = normal({3, n}, Random(static_cast<std::uint64_t>(n)).stream());
        Tensor y;
        try {
            y = f(x);
        } catch (const std::runtime_error&) {
            return false;
        }
        for (Index r = 0; r < 3; ++r) {
            Real mean = 0, variance = 0;
            for (Index j = 0; j < n; ++j) mean += x(r, j) / static_cast<Real>(n);
            for (Index j = 0; j < n; ++j)
                variance += (x(r, j) - mean) * (x(r, j) - mean) / static_cast<Real>(n);
            for (Index j = 0; j < n; ++j)
                if (!(std::abs(y(r, j) - (x(r, j) - mean) / std::sqrt(variance + eps)) < 1e-5))
                    return false;
        }
    }
    return true;
    // stub
    // const Tensor x({1, 4}, {1, 2, 3, 4});
    // return f(x).shape() == x.shape();
    // end
}

}  // namespace abh::mine
