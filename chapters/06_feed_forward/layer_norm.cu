#include "chapters/06_feed_forward/add_norm.hpp"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/random.cuh"
#include "lib/part.hpp"

namespace abh::fast {
decltype(layer_norm) layer_norm;
decltype(layer_norm_backward) layer_norm_backward;
decltype(add_norm) add_norm;
decltype(add_norm_backward) add_norm_backward;
}  // namespace abh::fast
namespace abh::cuda {
// [rows]
namespace {

constexpr int fours = 4, held = 4 * fours;  // elements of a row that a thread holds in registers
using Four = Some<Real, 4>;
constexpr int rows_of_block = block_size / warp;  // if a warp holds a row of up to 512 elements

/// Places that a row takes. With dropout, they begin where four random numbers begin, at most three
/// elements before the row itself, so that a thread owns the four elements of its numbers.
Index places(Index n) {
    return n % 4 == 0 ? n : n + 3;
}

/// The threads of a block for rows of `n` elements: as many warps as a row takes or, if one warp is
/// enough, as many rows as fill the block. Threads of a row have the same threadIdx.y.
dim3 threads_for(Index n) {
    const Index warps = ceil_div(places(n), held * warp);
    return warps == 1 ? dim3(warp, rows_of_block) : dim3(static_cast<unsigned>(warps * warp));
}

/// The elements of a row that a thread owns: fours of neighbors, and neighboring threads own
/// neighboring fours. `whole` if all rows consist of fours that one instruction can move.
template <bool whole>
struct OfRow {
    int n, before = 0;  ///< places before the row

    /// The column of the first element of four `f`, and whether element `e` of it is in the row.
    __device__ int column(int f) const {
        return 4 * static_cast<int>(threadIdx.x + static_cast<unsigned>(f) * blockDim.x) - before;
    }
    __device__ bool inside(int f, int e = 0) const {
        const int j = column(f) + (whole ? 0 : e);
        return (whole || j >= 0) && j < n;
    }
    template <class T>
    __device__ Some<T, 4> read(Global<const T> row, int f) const {
        Some<T, 4> u{};
        if constexpr (whole) {
            if (inside(f)) u = some<4>(row)[column(f) / 4];
        } else {
            for (int e = 0; e < 4; ++e)
                if (inside(f, e)) u.v[e] = row[column(f) + e];
        }
        return u;
    }
    template <class T>
    __device__ void write(Global<T> row, int f, const Some<T, 4>& u) const {
        if constexpr (whole) {
            if (inside(f)) some<4>(row)[column(f) / 4] = u;
        } else {
            for (int e = 0; e < 4; ++e)
                if (inside(f, e)) row[column(f) + e] = u.v[e];
        }
    }
};

/// The sum over all threads of a row, the same in each.
__device__ Real row_sum(Real v) {
    return blockDim.x == warp ? warp_sum(v) : block_sum(v);
}

/// Whether a block's registers, which have 4096 places, hold a row of `n` elements. The processor
/// takes wider rows.
bool takes_rows_of(Index n) {
    return places(n) <= held * block_size;
}

}  // namespace
// [layer norm]
namespace {

/// What is added to a row before it is normalized: `x`, unless it is null. If `kept` is not null,
/// dropout draws which elements of `x` are kept and notes it there.
struct Branch {
    Global<const Real> x;
    Global<std::uint8_t> kept;
    StreamState stream;
    Real p, factor;
};

/// One warp per row, or one block if the row takes more than 512 places. The row is read once and
/// stays in registers, 16 elements per thread, from the sum to the result, so the mean is known
/// before the squares are added up. In single precision an element costs 8 bytes, with the cache
/// 12, and in the residual connection with dropout 17: x and branch are read; kept (1), normalized
/// and y are written.
template <bool whole>
__global__ void __launch_bounds__(block_size)
    layer_norm_kernel(Index n_rows, int n, Global<Real> y, Global<Real> normalized,
                      Global<Real> inverse_stddevs, Global<const Real> x, Global<const Real> gamma,
                      Global<const Real> beta, Real eps, Branch branch) {
    threads_at_most(block_size);
    const Index r = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y, start = r * n;
    if (r >= n_rows) return;
    const OfRow<whole> own{n, !whole && branch.kept ? static_cast<int>(start % 4) : 0};

    Four row[fours], added[fours] = {};
    for (int f = 0; f < fours; ++f) row[f] = own.read(x + start, f);
    if (branch.x)
        for (int f = 0; f < fours; ++f) added[f] = own.read(branch.x + start, f);
    if (branch.kept)
        for (int f = 0; f < fours && own.column(f) < n; ++f) {
            const auto words = words_of(branch.stream, (start + own.column(f)) / 4);
            Some<std::uint8_t, 4> keep;
            for (int e = 0; e < 4; ++e) {
                keep.v[e] = number_of(words[static_cast<std::size_t>(e)]) >= branch.p;
                added[f].v[e] *= keep.v[e] ? branch.factor : Real(0);
            }
            own.write(branch.kept + start, f, keep);
        }

    Real sum = 0, squares = 0;
    for (int f = 0; f < fours; ++f)
        for (int e = 0; e < 4; ++e) sum += row[f].v[e] += added[f].v[e];
    const Real mean = row_sum(sum) / static_cast<Real>(n);
    for (int f = 0; f < fours; ++f)
        for (int e = 0; e < 4; ++e) {
            row[f].v[e] -= mean;
            if (own.inside(f, e)) squares += row[f].v[e] * row[f].v[e];
        }
    const Real inverse_stddev = 1 / sqrt(row_sum(squares) / static_cast<Real>(n) + eps);
    for (int f = 0; f < fours; ++f) {
        const Four g = own.read(gamma, f), b = own.read(beta, f);
        Four scaled;
        for (int e = 0; e < 4; ++e) {
            row[f].v[e] *= inverse_stddev;
            scaled.v[e] = row[f].v[e] * g.v[e] + b.v[e];
        }
        if (normalized) own.write(normalized + start, f, row[f]);
        own.write(y + start, f, scaled);
    }
    if (inverse_stddevs && threadIdx.x == 0) inverse_stddevs[r] = inverse_stddev;
}
// [layer norm: launch]
/// Whether all rows of `n` elements consist of fours, if rows begin at these addresses.
template <class... T>
bool in_fours(Index n, const T*... rows) {
    return n % 4 == 0 && (starts_a_four(rows) && ...);
}

Tensor normalize(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache,
                 const Branch& branch, bool branch_in_fours) {
    const Index n = x.dim(-1), n_rows = x.size() / n;
    Tensor y(x.shape());
    if (cache) cache->normalized = Tensor(x.shape()), cache->inverse_stddev = Tensor({n_rows});
    const dim3 threads = threads_for(n);
    const Grid grid{dim3(static_cast<unsigned>(ceil_div(n_rows, threads.y))), threads};
    Real* const normalized = cache ? cache->normalized.on_device() : nullptr;
    const Real *gamma = norm.gamma.value.on_device(), *beta = norm.beta.value.on_device();
    const bool whole = branch_in_fours && in_fours(n, x.on_device(), gamma, beta);
    launch("layer norm", whole ? layer_norm_kernel<true> : layer_norm_kernel<false>, grid, n_rows,
           static_cast<int>(n), y.on_device(), normalized,
           cache ? cache->inverse_stddev.on_device() : nullptr, x.on_device(), gamma, beta,
           norm.options().eps, branch);
    return y;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache) {
    if (!takes_rows_of(x.dim(-1))) return fast::layer_norm(x, norm, cache);
    return normalize(x, norm, cache, {}, true);
}

Tensor add_norm(const Tensor& x, const Tensor& sublayer, const Dropout& dropout,
                const LayerNorm& norm, AddNormCache* cache) {
    if (!takes_rows_of(x.dim(-1))) return fast::add_norm(x, sublayer, dropout, norm, cache);
    Mask kept = cache && dropout.p() > 0 ? Mask(x.shape()) : Mask();
    if (cache) cache->dropout.kept = kept;
    std::uint8_t* const keep = kept.empty() ? nullptr : kept.on_device();
    return normalize(
        x, norm, part(cache, &AddNormCache::norm),
        {sublayer.on_device(), keep, state_of(dropout.stream()), dropout.p(), dropout.factor()},
        in_fours(x.dim(-1), sublayer.on_device()));
}
// [layer norm: backward]
namespace {

constexpr Index rows_of_share = 8;     // about, or more: shares are small beside the rows
constexpr Index most_warps = 1 << 12;  // of a grid, enough for any device
[[maybe_unused]] constexpr int blocks_at_once =
    sizeof(Real) == 4 ? 2 : 1;  // at least, as far as registers go

/// Rows are laid out as in the forward kernel, but a warp or block takes several, one after
/// another, so that a thread can add up its columns' share of dgamma and dbeta in registers. The
/// warps of a block then add their shares in turn. A row is loaded completely before anything is
/// computed from it. In single precision an element costs 12 bytes, because dy and x_hat are read
/// and dx is written, and with dropout 17, because kept (1) is read, too, and dsublayer is
/// written.
template <bool whole>
__global__ void __launch_bounds__(block_size, whole ? blocks_at_once : 1)
    layer_norm_backward_kernel(Index n_rows, int n, Global<Real> dx, Global<Real> dsublayer,
                               Global<Real> shares, Global<const Real> dy, Global<const Real> x_hat,
                               Global<const Real> inverse_stddevs, Global<const Real> gamma,
                               Global<const std::uint8_t> kept, Real factor) {
    threads_at_most(block_size);
    alignas(sizeof(Four)) __shared__ Shared<Real, 2, held * warp> total;
    const int rows = static_cast<int>(blockDim.y);
    const OfRow<whole> own{n};
    Four dgamma[fours] = {}, dbeta[fours] = {};
    for (Index r = static_cast<Index>(blockIdx.x) * rows + threadIdx.y; r < n_rows;
         r += static_cast<Index>(gridDim.x) * rows) {
        const Index start = r * n;
        const Real inverse_stddev = inverse_stddevs[r];
        Four dx_hat[fours], x_hat_row[fours];
        Some<std::uint8_t, 4> keep[fours] = {};
        for (int f = 0; f < fours; ++f) {
            dx_hat[f] = own.read(dy + start, f);
            x_hat_row[f] = own.read(x_hat + start, f);
            if (kept) keep[f] = own.read(kept + start, f);
        }
        Real sum = 0, sum_along = 0;
        for (int f = 0; f < fours; ++f) {
            const Four g = own.read(gamma, f);
            for (int e = 0; e < 4; ++e) {
                dgamma[f].v[e] += dx_hat[f].v[e] * x_hat_row[f].v[e];
                dbeta[f].v[e] += dx_hat[f].v[e];
                dx_hat[f].v[e] *= g.v[e];
                sum += dx_hat[f].v[e];
                sum_along += dx_hat[f].v[e] * x_hat_row[f].v[e];
            }
        }
        const Real mean = row_sum(sum) / static_cast<Real>(n);
        const Real mean_along = row_sum(sum_along) / static_cast<Real>(n);
        for (int f = 0; f < fours; ++f) {
            Four d, dropped;
            for (int e = 0; e < 4; ++e) {
                d.v[e] = (dx_hat[f].v[e] - mean - x_hat_row[f].v[e] * mean_along) * inverse_stddev;
                dropped.v[e] = d.v[e] * (keep[f].v[e] ? factor : Real(0));
            }
            own.write(dx + start, f, d);
            if (dsublayer) own.write(dsublayer + start, f, dropped);
        }
    }
    if (!shares) return;
    const auto add = [](Four& sum, const Four& before) {
        for (int e = 0; e < 4; ++e) sum.v[e] += before.v[e];
    };
    for (int turn = 0; turn < rows; ++turn) {
        for (int f = 0; f < fours; ++f) {
            if (turn != static_cast<int>(threadIdx.y) || own.column(f) >= n) continue;
            const auto of_gamma = some<4>(&total[0][0]), of_beta = some<4>(&total[1][0]);
            const int at = own.column(f) / 4;
            if (turn > 0) add(dgamma[f], of_gamma[at]), add(dbeta[f], of_beta[at]);
            if (turn + 1 < rows) {
                of_gamma[at] = dgamma[f], of_beta[at] = dbeta[f];
            } else {
                const Index share = static_cast<Index>(blockIdx.x) * 2 * n;
                own.write(shares + share, f, dgamma[f]);
                own.write(shares + (share + n), f, dbeta[f]);
            }
        }
        __syncthreads();
    }
}
// [shares]
/// Each block adds up the shares of 32 columns of gamma, or of beta if blockIdx.y is 1. Thread (j,
/// s) takes every 32nd share of column j; then these 32 sums are added, always in the same order.
__global__ void add_shares_kernel(Index n_shares, Index n, Global<Real> dgamma, Global<Real> dbeta,
                                  Global<const Real> shares, bool add_to_dgamma,
                                  bool add_to_dbeta) {
    __shared__ Shared<Real, warp, warp> sums;
    const Index j = static_cast<Index>(blockIdx.x) * warp + threadIdx.x;
    Real sum = 0;
    if (j < n)
        for (Index s = threadIdx.y; s < n_shares; s += warp)
            sum += shares[(2 * s + blockIdx.y) * n + j];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || j >= n) return;
    for (int s = 1; s < warp; ++s) sum += sums[s][threadIdx.x];
    if (blockIdx.y == 0)
        dgamma[j] = add_to_dgamma ? dgamma[j] + sum : sum;
    else
        dbeta[j] = add_to_dbeta ? dbeta[j] + sum : sum;
}

void backward(Tensor& dx, Real* dsublayer, LayerNorm& norm, const Tensor& dy,
              const LayerNorm::Cache& cache, const std::uint8_t* kept, Real factor) {
    const Index n = dy.dim(-1), n_rows = dy.size() / n;
    const dim3 threads = threads_for(n);
    const Index most = most_warps * warp / (threads.x * threads.y);
    const Index n_shares = std::min(most, ceil_div(n_rows, rows_of_share));
    const bool affine = norm.options().affine;
    Tensor shares(affine ? Shape{n_shares, 2, n} : Shape{0});
    const Real *x_hat = cache.normalized.on_device(), *gamma = norm.gamma.value.on_device();
    const bool whole = in_fours(n, dx.on_device(), dsublayer, dy.on_device(), x_hat, gamma, kept);
    launch("layer norm backward",
           whole ? layer_norm_backward_kernel<true> : layer_norm_backward_kernel<false>,
           Grid{dim3(static_cast<unsigned>(n_shares)), threads}, n_rows, static_cast<int>(n),
           dx.on_device(), dsublayer, affine ? shares.on_device() : nullptr, dy.on_device(), x_hat,
           cache.inverse_stddev.on_device(), gamma, kept, factor);
    if (!affine) return;
    const Grid grid{dim3(static_cast<unsigned>(ceil_div(n, warp)), 2), dim3(warp, warp)};
    const auto [dgamma, add_to_dgamma] = norm.gamma.gradient.target();
    const auto [dbeta, add_to_dbeta] = norm.beta.gradient.target();
    launch("layer norm shares", add_shares_kernel, grid, n_shares, n, dgamma.on_device(),
           dbeta.on_device(), shares.on_device(), add_to_dgamma, add_to_dbeta);
}

}  // namespace

Tensor layer_norm_backward(const Tensor& dy, LayerNorm& norm, const LayerNorm::Cache& cache) {
    if (!takes_rows_of(dy.dim(-1))) return fast::layer_norm_backward(dy, norm, cache);
    Tensor dx(dy.shape());
    backward(dx, nullptr, norm, dy, cache, nullptr, 1);
    return dx;
}

AddNormGradients add_norm_backward(const Tensor& dy, const Dropout& dropout, LayerNorm& norm,
                                   const AddNormCache& cache) {
    if (!takes_rows_of(dy.dim(-1))) return fast::add_norm_backward(dy, dropout, norm, cache);
    AddNormGradients d{Tensor(dy.shape()), Tensor(dy.shape())};
    if (dropout.p() == 0) {
        const Tensor dsum = abh::layer_norm_backward(dy, norm, cache.norm);
        return {dsum, dsum};
    }
    backward(d.dx, d.dsublayer.on_device(), norm, dy, cache.norm, cache.dropout.kept.on_device(),
             dropout.factor());
    return d;
}

}  // namespace abh::cuda
