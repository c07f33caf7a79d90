#include <algorithm>

#include "lib/cuda/gradient.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [arithmetic]
namespace {

__global__ void add_kernel(Elements all, Global<Real> sum, Global<const Real> a,
                           Global<const Real> b) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> u = some<n>(a)[i];
        const Some<Real, n> v = some<n>(b)[i];
        for (int e = 0; e < n; ++e) u.v[e] += v.v[e];
        some<n>(sum)[i] = u;
    });
}

}  // namespace

void add(Tensor& sum, const Tensor& a, const Tensor& b) {
    const Real *const from_a = a.on_device(), *const from_b = b.on_device();
    launch_elements("add", add_kernel, sum.size(), true, sum.on_device(), from_a, from_b);
}
// [arithmetic: scale and fill]
namespace {

__global__ void scale_kernel(Elements all, Global<Real> y, Real factor) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> u = some<n>(y)[i];
        for (Real& v : u.v) v *= factor;
        some<n>(y)[i] = u;
    });
}

template <class T>
__global__ void fill_kernel(Elements all, Global<T> x, T value) {
    for_elements(all, [&]<int n>(Index i) {
        Some<T, n> u;
        for (T& v : u.v) v = value;
        some<n>(x)[i] = u;
    });
}

}  // namespace

void scale(Tensor& y, Real factor) {
    launch_elements("scale", scale_kernel, y.size(), true, y.on_device(), factor);
}

template <class T>
void fill(BasicTensor<T>& x, T value) {
    launch_elements("fill", fill_kernel<T>, x.size(), true, x.on_device(), value);
}
template void fill(Tensor& x, Real value);
template void fill(Ids& x, std::int32_t value);
template void fill(Mask& x, std::uint8_t value);
// [sums]
namespace {

constexpr int columns = 32, shares = 8;  // per block; a warp reads one piece of a row

/// Each block sums 32 columns of its part of the rows, and row blockIdx.y of `sums` gets the
/// result. Thread (j, s) adds up every eighth row of column j, beginning with row s; then one
/// thread adds the eight shares of the column, always in the same order.
__global__ void column_sums_kernel(Index n_rows, Index n, Global<Real> sums, Global<const Real> x,
                                   bool add) {
    __shared__ Shared<Real, shares, columns> share;
    const Index j = static_cast<Index>(blockIdx.x) * columns + threadIdx.x;
    const Index of_part = ceil_div(n_rows, gridDim.y), begin = blockIdx.y * of_part;
    const Index end = begin + of_part < n_rows ? begin + of_part : n_rows;
    Real sum = 0;
    if (j < n)
        for (Index r = begin + threadIdx.y; r < end; r += shares) sum += x[r * n + j];
    share[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || j >= n) return;
    for (int s = 1; s < shares; ++s) sum += share[s][threadIdx.x];
    const Index to = blockIdx.y * n + j;
    sums[to] = add ? sums[to] + sum : sum;
}

}  // namespace

Index parts_of_columns(Index n_rows, Index n) {
    constexpr Index enough_blocks = 256, rows_of_part = 64;
    return std::max<Index>(
        1, std::min(ceil_div(n_rows, rows_of_part), ceil_div(enough_blocks, ceil_div(n, columns))));
}

void column_sums(Tensor& sums, const Tensor& x, bool add) {
    const Index parts = sums.dim(0), n = sums.dim(1);
    const Grid grid{dim3(static_cast<unsigned>(ceil_div(n, columns)), static_cast<unsigned>(parts)),
                    dim3(columns, shares)};
    launch("column sums", column_sums_kernel, grid, x.size() / n, n, sums.on_device(),
           x.on_device(), add);
}

void add_column_sums(Tensor& sums, const Tensor& x) {
    const Index n = sums.size();
    if (n == 0) return;
    const Index parts = parts_of_columns(rows(x.shape()), n);
    Tensor whole = sums.reshape({1, n});
    if (parts == 1) return column_sums(whole, x, true);
    Tensor of_parts({parts, n});
    column_sums(of_parts, x, false);
    column_sums(whole, of_parts, true);
}
// [transpose]
namespace {

constexpr int tile = 32, tile_rows = 8;  // a block moves a tile of 32 x 32 with 32 x 8 threads

/// Reads rows and writes rows, because the tile is transposed in shared memory. The extra column
/// puts the elements of a column into different banks. Blocks are counted along x alone, because
/// only x may exceed 65,535: tiles across a matrix, then down, then those of the next matrix.
__global__ void transpose_kernel(Index m, Index n, Global<Real> y, Global<const Real> x) {
    __shared__ Shared<Real, tile, tile + 1> turned;
    const Index block = static_cast<Index>(blockIdx.x), across = ceil_div(n, tile),
                down = ceil_div(m, tile);
    const Index row = block / across % down * tile, column = block % across * tile;
    const Index matrix = block / (across * down) * m * n;
    for (int i = static_cast<int>(threadIdx.y); i < tile; i += tile_rows)
        if (row + i < m && column + threadIdx.x < n)
            turned[i][threadIdx.x] = x[matrix + (row + i) * n + column + threadIdx.x];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.y); i < tile; i += tile_rows)
        if (column + i < n && row + threadIdx.x < m)
            y[matrix + (column + i) * m + row + threadIdx.x] = turned[threadIdx.x][i];
}

}  // namespace

Tensor transpose(const Tensor& x) {
    const Index m = x.dim(-2), n = x.dim(-1);
    Tensor y(x.shape().with(-2, n).with(-1, m));
    if (x.empty()) return y;
    const auto blocks =
        static_cast<unsigned>(matrices(x.shape()) * ceil_div(m, tile) * ceil_div(n, tile));
    const Grid grid{dim3(blocks), dim3(tile, tile_rows)};
    launch("transpose", transpose_kernel, grid, m, n, y.on_device(), x.on_device());
    return y;
}

}  // namespace abh::cuda
