#include "chapters/11_on_the_gpu/ladder.cuh"
#include "lib/cuda/fragments.cuh"

namespace abh::cuda {
// [element]
namespace {

/// Each of 16 x 16 threads computes one result.
template <bool along_row>
__global__ void element_kernel(Index n, Index k, Global<Real> c, Global<const Real> a,
                               Global<const Real> b) {
    const Index i = static_cast<Index>(blockIdx.y) * 16 + (along_row ? threadIdx.y : threadIdx.x);
    const Index j = static_cast<Index>(blockIdx.x) * 16 + (along_row ? threadIdx.x : threadIdx.y);
    Real sum = 0;
    for (Index p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
}
// [shared]
/// For each tile along k, every one of 256 threads fetches one element of each factor, and then all
/// of them use the whole tiles. So a thread asks device memory for an element once for 16 uses.
__global__ void shared_kernel(Index n, Index k, Global<Real> c, Global<const Real> a,
                              Global<const Real> b) {
    __shared__ Shared<Real, 16, 16> tile_a, tile_b;
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const Index i = static_cast<Index>(blockIdx.y) * 16 + y;
    const Index j = static_cast<Index>(blockIdx.x) * 16 + x;
    Real sum = 0;
    for (Index first = 0; first < k; first += 16) {
        tile_a[y][x] = a[i * k + first + x];
        tile_b[y][x] = b[(first + y) * n + j];
        __syncthreads();
        for (int p = 0; p < 16; ++p) sum += tile_a[y][p] * tile_b[p][x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}
// [registers]
constexpr int step = 8;  // of the tiles, along k

/// A block computes side x side results, and each of its threads tall x wide of them.
template <int side, int tall, int wide>
__global__ void __launch_bounds__(side / tall * (side / wide))
    register_kernel(Index n, Index k, Global<Real> c, Global<const Real> a, Global<const Real> b) {
    threads_at_most(side / tall * (side / wide));
    constexpr int down = side / tall, across = side / wide, threads = down * across;
    __shared__ Shared<Real, side, step> tile_a;
    __shared__ Shared<Real, step, side> tile_b;
    const int t = static_cast<int>(threadIdx.x), x = t % across, y = t / across;
    const Index row = static_cast<Index>(blockIdx.y) * side;
    const Index column = static_cast<Index>(blockIdx.x) * side;
    Real sums[tall][wide] = {};
    for (Index first = 0; first < k; first += step) {
        for (int i = 0; i < side * step / threads; ++i) {
            const int e = t + threads * i;
            tile_a[e / step][e % step] = a[(row + e / step) * k + first + e % step];
            tile_b[e / side][e % side] = b[(first + e / side) * n + column + e % side];
        }
        __syncthreads();
        for (int p = 0; p < step; ++p) {
            Real left[tall], right[wide];
            for (int i = 0; i < tall; ++i) left[i] = tile_a[y + down * i][p];
            for (int j = 0; j < wide; ++j) right[j] = tile_b[p][x + across * j];
            for (int i = 0; i < tall; ++i)
                for (int j = 0; j < wide; ++j) sums[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < tall; ++i)
        for (int j = 0; j < wide; ++j)
            c[(row + y + down * i) * n + column + x + across * j] = sums[i][j];
}
// [wide]
constexpr int side = 128;  // of a block's results, from here on; it has 256 threads
using Four = Some<Real, 4>;

__global__ void __launch_bounds__(256)
    wide_kernel(Index n, Index k, Global<Real> c, Global<const Real> a, Global<const Real> b) {
    threads_at_most(256);
    alignas(16) __shared__ Shared<Real, step, side + 4> turned_a;
    alignas(16) __shared__ Shared<Real, step, side> tile_b;
    const int t = static_cast<int>(threadIdx.x), x = t % 16, y = t / 16;
    const Index row = static_cast<Index>(blockIdx.y) * side;
    const Index column = static_cast<Index>(blockIdx.x) * side;
    Four sums[8][2] = {};
    for (Index first = 0; first < k; first += step) {
        const Four along_k = some<4>(a + (row + t / 2) * k + first)[t % 2];
        for (int j = 0; j < 4; ++j) turned_a[4 * (t % 2) + j][t / 2] = along_k.v[j];
        some<4>(&tile_b[t / 32][0])[t % 32] = some<4>(b + (first + t / 32) * n + column)[t % 32];
        __syncthreads();
        for (int p = 0; p < step; ++p) {
            Four left[2], right[2];
            for (int h = 0; h < 2; ++h) {
                left[h] = some<4>(&turned_a[p][0])[y + 16 * h];
                right[h] = some<4>(&tile_b[p][0])[x + 16 * h];
            }
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j)
                    sums[i][j / 4].v[j % 4] += left[i / 4].v[i % 4] * right[j / 4].v[j % 4];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        for (int h = 0; h < 2; ++h)
            some<4>(c + (row + 64 * (i / 4) + 4 * y + i % 4) * n + column)[x + 16 * h] = sums[i][h];
}
// [stages]
/// While a block multiplies the tiles of one stage, those of the other arrive.
/// @tparam Sums  what a thread adds up, and how
template <class Sums>
__global__ void __launch_bounds__(256)
    stages_kernel(Index n, Index k, Global<Real> c, Global<const Real> a, Global<const Real> b) {
    threads_at_most(256);
    alignas(16) __shared__ Shared<Real, 2, side, step + 4> tiles_a;
    alignas(16) __shared__ Shared<Real, 2, step, side + 8> tiles_b;
    const int t = static_cast<int>(threadIdx.x);
    const Index row = static_cast<Index>(blockIdx.y) * side;
    const Index column = static_cast<Index>(blockIdx.x) * side;
    const auto begin = [&](int stage, Index first) {
        __pipeline_memcpy_async(&tiles_a[stage][t / 2][4 * (t % 2)],
                                a + ((row + t / 2) * k + first + 4 * (t % 2)), sizeof(Four));
        __pipeline_memcpy_async(&tiles_b[stage][t / 32][4 * (t % 32)],
                                b + ((first + t / 32) * n + column + 4 * (t % 32)), sizeof(Four));
        __pipeline_commit();
    };
    Sums sums;
    begin(0, 0);
    for (Index first = 0; first < k; first += step) {
        const int stage = static_cast<int>(first / step % 2);
        __pipeline_wait_prior(0);  // what this thread has copied is here
        __syncthreads();           // and the rest, and nobody uses the other stage any more
        if (first + step < k) begin(1 - stage, first + step);
        sums.add(tiles_a[stage], tiles_b[stage]);
    }
    sums.store(c + (row * n + column), n);
}
// [stages: registers]
/// A thread has 8 x 8 sums, and takes four numbers along k at once.
struct InRegisters {
    Four sums[8][2] = {};
    int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;

    template <class A, class B>
    __device__ void add(const A& a, const B& b) {
        for (int p = 0; p < step; p += 4) {
            Four left[8], right[2];
            for (int i = 0; i < 8; ++i) left[i] = some<4>(&a[y + 16 * i][p])[0];
            for (int q = 0; q < 4; ++q) {
                for (int h = 0; h < 2; ++h) right[h] = some<4>(&b[p + q][0])[x + 16 * h];
                for (int i = 0; i < 8; ++i)
                    for (int j = 0; j < 8; ++j)
                        sums[i][j / 4].v[j % 4] += left[i].v[q] * right[j / 4].v[j % 4];
            }
        }
    }
    __device__ void store(Global<Real> c, Index n) const {
        for (int i = 0; i < 8; ++i)
            for (int h = 0; h < 2; ++h) some<4>(c + (y + 16 * i) * n)[x + 16 * h] = sums[i][h];
    }
};
// [stages: tensor cores]
/// Each of 8 warps computes 64 x 32 results, as 4 x 4 products of 16 x 8.
struct OnTensorCores {
    FragmentC sums[4][4];
    int row = static_cast<int>(threadIdx.x) / 128 * 64;
    int column = static_cast<int>(threadIdx.x) / warp % 4 * 32;

    template <class A, class B>
    __device__ void add(const A& a, const B& b) {
        const int g = lane() / 4, q = lane() % 4;
        FragmentB<Tf32> right[4];
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h)
                right[j].bits[h] = rounded<Tf32>(b[q + 4 * h][column + 8 * j + g]);
        for (int i = 0; i < 4; ++i) {
            auto left = load_a<Tf32>(&a[row + 16 * i][0], step + 4);
            for (auto& bits : left.bits) bits = rounded<Tf32>(std::bit_cast<float>(bits));
            for (int j = 0; j < 4; ++j) mma(sums[i][j], left, right[j]);
        }
    }
    __device__ void store(Global<Real> c, Index n) const {
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j)
                store_c(sums[i][j], [&](int u, int v, float sum) {
                    c[(row + 16 * i + u) * n + column + 8 * j + v] = sum;
                });
    }
};

}  // namespace
// [launch]
Tensor product(const Tensor& a, const Tensor& b, Rung rung) {
    require(a.rank() == 2 && b.rank() == 2 && a.dim(1) == b.dim(0),
            "product: {} times {}, expected [m, k] and [k, n]", a.shape(), b.shape());
    const Index m = a.dim(0), k = a.dim(1), n = b.dim(1);
    const auto start = [&](auto kernel, int tile, int along_k, dim3 threads) {
        require(m % tile == 0 && n % tile == 0 && k % along_k == 0,
                "product: {} times {}, expected m and n in tiles of {} and k in steps of {}",
                a.shape(), b.shape(), tile, along_k);
        Tensor c({m, n});
        const Grid grid{tiles_of(m, n, tile).blocks, threads};
        launch("product", kernel, grid, n, k, c.on_device(), a.on_device(), b.on_device());
        return c;
    };
    if (rung == Rung::naive) return start(element_kernel<false>, 16, 1, {16, 16});
    if (rung == Rung::coalesced) return start(element_kernel<true>, 16, 1, {16, 16});
    if (rung == Rung::shared) return start(shared_kernel, 16, 16, {16, 16});
    if (rung == Rung::column) return start(register_kernel<64, 8, 1>, 64, step, 512);
    if (rung == Rung::square) return start(register_kernel<128, 8, 8>, 128, step, 256);
    if (rung == Rung::wide) return start(wide_kernel, side, step, 256);
    if (rung == Rung::two_stages) return start(stages_kernel<InRegisters>, side, step, 256);
    return start(stages_kernel<OnTensorCores>, side, step, 256);
}

}  // namespace abh::cuda
