#include "chapters/11_on_the_gpu/variants.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [copy]
namespace {

__global__ void copy_kernel(Index n, Global<Real> y, Global<const Real> x, int together) {
    const Index first = first_element() * together;
    for (Index i = first; i < first + together && i < n; ++i) y[i] = x[i];
}

}  // namespace
// [copy: launch]
Tensor copy(const Tensor& x, int together) {
    require(together >= 1, "copy: {} elements per thread, expected at least 1", together);
    Tensor y(x.shape());
    const Index threads = ceil_div(x.size(), together);
    launch("copy", copy_kernel, blocks_of(ceil_div(threads, block_size)), x.size(), y.on_device(),
           x.on_device(), together);
    return y;
}
// [transpose]
namespace {

constexpr int tile = 32;

__global__ void transpose_kernel(Index m, Index n, Global<Real> y, Global<const Real> x) {
    const Index i = static_cast<Index>(blockIdx.y) * tile + threadIdx.y;
    const Index j = static_cast<Index>(blockIdx.x) * tile + threadIdx.x;
    if (i < m && j < n) y[j * m + i] = x[i * n + j];
}
// [transpose: tile]
/// A block of 32 x 32 threads transposes a tile, so that neighbors also write to neighbors.
template <int width>
__global__ void transpose_tile_kernel(Index m, Index n, Global<Real> y, Global<const Real> x) {
    __shared__ Shared<Real, tile, width> turned;
    const Index row = static_cast<Index>(blockIdx.y) * tile,
                column = static_cast<Index>(blockIdx.x) * tile;
    if (row + threadIdx.y < m && column + threadIdx.x < n)
        turned[threadIdx.y][threadIdx.x] = x[(row + threadIdx.y) * n + column + threadIdx.x];
    __syncthreads();
    if (column + threadIdx.y < n && row + threadIdx.x < m)
        y[(column + threadIdx.y) * m + row + threadIdx.x] = turned[threadIdx.x][threadIdx.y];
}

}  // namespace
// [transpose: launch]
Tensor transpose(const Tensor& x, Turn turn) {
    require(x.rank() == 2, "transpose: x has shape {}, expected [m, n]", x.shape());
    const Index m = x.dim(0), n = x.dim(1);
    Tensor y({n, m});
    const Grid grid = tiles_of(m, n, tile);
    const auto kernel = turn == Turn::on_the_way ? transpose_kernel
                        : turn == Turn::tile     ? transpose_tile_kernel<tile>
                                                 : transpose_tile_kernel<tile + 1>;
    launch("transpose", kernel, grid, m, n, y.on_device(), x.on_device());
    return y;
}
// [sum]
namespace {

/// The sum of a thread's own share: every 256th element, so that neighbors read neighbors.
__device__ Real own_share(Global<const Real> row, Index n) {
    Real sum = 0;
    for (Index j = threadIdx.x; j < n; j += blockDim.x) sum += row[j];
    return sum;
}

__global__ void sum_tree_kernel(Index n, Global<Real> sums, Global<const Real> x) {
    __shared__ Shared<Real, block_size> share;
    share[threadIdx.x] = own_share(x + blockIdx.x * n, n);
    for (unsigned half = block_size / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) share[threadIdx.x] += share[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = share[0];
}
// [sum: warps]
__global__ void sum_warps_kernel(Index n, Global<Real> sums, Global<const Real> x) {
    const Real sum = block_sum(own_share(x + blockIdx.x * n, n));
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

}  // namespace
// [sum: launch]
Tensor row_sums(const Tensor& x, Sum way) {
    require(x.rank() == 2, "row sums: x has shape {}, expected [rows, n]", x.shape());
    Tensor sums({x.dim(0)});
    launch("row sums", way == Sum::tree ? sum_tree_kernel : sum_warps_kernel, blocks_of(x.dim(0)),
           x.dim(1), sums.on_device(), x.on_device());
    return sums;
}
// [softmax]
namespace {

__global__ void softmax_three_kernel(Index n, Global<Real> y, Global<const Real> x) {
    const Global<const Real> row = x + blockIdx.x * n;
    Real largest = -infinity<Real>(), sum = 0;
    for (Index j = threadIdx.x; j < n; j += blockDim.x) {
        const Real v = row[j];
        largest = v > largest ? v : largest;
    }
    largest = block_max(largest);
    for (Index j = threadIdx.x; j < n; j += blockDim.x) sum += exp(row[j] - largest);
    sum = block_sum(sum);
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        y[blockIdx.x * n + j] = exp(row[j] - largest) / sum;
}
// [softmax: online]
/// When a larger number appears, the sum so far is multiplied by exp(old - new).
__global__ void softmax_two_kernel(Index n, Global<Real> y, Global<const Real> x) {
    const Global<const Real> row = x + blockIdx.x * n;
    Real largest = -infinity<Real>(), sum = 0;
    for (Index j = threadIdx.x; j < n; j += blockDim.x) {
        const Real v = row[j];
        if (v > largest) {
            sum *= exp(largest - v);
            largest = v;
        }
        sum += exp(v - largest);
    }
    // threads join by the same rule: each scales its sum to the largest number of all threads
    const Real of_all = block_max(largest);
    sum = block_sum(sum == 0 ? Real(0) : sum * exp(largest - of_all));
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        y[blockIdx.x * n + j] = exp(row[j] - of_all) / sum;
}

}  // namespace
// [softmax: launch]
Tensor softmax(const Tensor& x, Passes passes) {
    require(x.rank() == 2 && x.dim(1) >= 1, "softmax: x has shape {}, expected [rows, n]",
            x.shape());
    Tensor y(x.shape());
    launch("softmax", passes == Passes::three ? softmax_three_kernel : softmax_two_kernel,
           blocks_of(x.dim(0)), x.dim(1), y.on_device(), x.on_device());
    return y;
}

}  // namespace abh::cuda
