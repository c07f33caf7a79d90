// Exercise 11.4: a matrix product from registers, on the emulated device.
#include <stdexcept>

#include "lib/cuda/kernel.cuh"
#include "lib/tensor.hpp"

namespace abh::mine {
namespace {

using namespace cuda;

constexpr int side = 16;     // of a block: 16 x 16 threads
constexpr int some = 4;      // a thread computes 4 x 4 results
constexpr int tile = 64;     // a block computes 64 x 64 results
constexpr int depth = side;  // of a step along k

/// `c = a b` for `a` of shape [m, k] and `b` of shape [k, n].
__global__ void product_kernel(Index m, Index n, Index k, Global<Real> c, Global<const Real> a,
                               Global<const Real> b) {
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const Index row = static_cast<Index>(blockIdx.y) * tile,
                column = static_cast<Index>(blockIdx.x) * tile;
    // solution
    __shared__ Shared<Real, tile, depth + 1> tile_a;  // so that its rows start in different banks
    __shared__ Shared<Real, depth, tile> tile_b;
    Real sum[some][some] = {};
    for (Index first = 0; first < k; first += depth) {
        for (int e = 0; e < some; ++e) {
            const Index i = row + y + e * side, j = column + x + e * side;
            const bool in_a = i < m && first + x < k, in_b = first + y < k && j < n;
            tile_a[y + e * side][x] = in_a ? Real(a[i * k + first + x]) : Real(0);
            tile_b[y][x + e * side] = in_b ? Real(b[(first + y) * n + j]) : Real(0);
        }
        __syncthreads();
        for (int p = 0; p < depth; ++p) {
            Real from_a[some], from_b[some];
            for (int e = 0; e < some; ++e) {
                from_a[e] = tile_a[y + e * side][p];
                from_b[e] = tile_b[p][x + e * side];
            }
            for (int r = 0; r < some; ++r)
                for (int s = 0; s < some; ++s) sum[r][s] += from_a[r] * from_b[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < some; ++r)
        for (int s = 0; s < some; ++s) {
            const Index i = row + y + r * side, j = column + x + s * side;
            if (i < m && j < n) c[i * n + j] = sum[r][s];
        }
    // stub
    // throw std::logic_error("not written yet");  // with x, y, row, column, m, n, k, c, a and b
    // end
}

}  // namespace

/// @param a  [m, k]
/// @param b  [k, n]
/// @return   their product, [m, n]
Tensor product(const Tensor& a, const Tensor& b) {
    const Index m = a.dim(0), k = a.dim(1), n = b.dim(1);
    Tensor c({m, n});
    const auto tiles = [](Index size) { return static_cast<unsigned>((size + tile - 1) / tile); };
    launch("product", product_kernel, Grid{dim3(tiles(n), tiles(m)), dim3(side, side)}, m, n, k,
           c.on_device(), a.on_device(), b.on_device());
    return c;
}

}  // namespace abh::mine
