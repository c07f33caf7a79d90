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

constexpr int held = 16;  // elements of a row that a thread holds in registers
constexpr int rows_of_block = block_size / warp;  // if a warp holds a row of up to 512 elements

/// Places that a row takes. With dropout, they begin where four random numbers begin, at most three
/// elements before the row itself.
Index places(Index n) {
    return n % 4 == 0 ? n : n + 3;
}

/// The threads of a block for rows of `n` elements: as many warps as a row takes or, if one warp is
/// enough, as many rows as fill the block. Threads of a row have the same threadIdx.y.
dim3 threads_for(Index n) {
    const Index warps = ceil_div(places(n), held * warp);
    return warps == 1 ? dim3(warp, rows_of_block) : dim3(static_cast<unsigned>(warps * warp));
}

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
__global__ void __launch_bounds__(block_size)
    layer_norm_kernel(Index n_rows, int n, Global<Real> y, Global<Real> normalized,
                      Global<Real> inverse_stddevs, Global<const Real> x, Global<const Real> gamma,
                      Global<const Real> beta, Real eps, Branch branch) {
    threads_at_most(block_size);
    __shared__ Words words;
    const Index r = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y, start = r * n;
    if (r >= n_rows) return;
    const int w = static_cast<int>(threadIdx.x) / warp;
    const int before = branch.kept ? static_cast<int>(start % 4) : 0;
    // the column of element k of this thread; each warp has 512 consecutive ones
    const auto column = [=](int k) { return (w * held + k) * warp + lane() - before; };
    const auto inside = [=](int k) { return column(k) >= 0 && column(k) < n; };

    Real row[held], added[held];
    for (int k = 0; k < held; ++k) {
        row[k] = inside(k) ? Real(x[start + column(k)]) : Real(0);
        added[k] = branch.x && inside(k) ? Real(branch.x[start + column(k)]) : Real(0);
    }
    if (branch.kept)
        for (int k = 0; k < held; k += 4) {
            const int first = (w * held + k) * warp - before;
            if (first >= n) continue;  // the same for all lanes
            const int own = static_cast<int>(threadIdx.y) + w;
            draw(words, own, start + first, branch.stream);
            for (int quarter = 0; quarter < 4; ++quarter) {
                if (!inside(k + quarter)) continue;
                const bool keep = drawn_number(words, own, quarter) >= branch.p;
                branch.kept[start + column(k + quarter)] = keep;
                added[k + quarter] *= branch.factor * static_cast<Real>(keep);
            }
        }

    Real sum = 0, squares = 0;
    for (int k = 0; k < held; ++k) sum += row[k] += added[k];
    const Real mean = row_sum(sum) / static_cast<Real>(n);
    for (int k = 0; k < held; ++k) {
        row[k] -= mean;
        if (inside(k)) squares += row[k] * row[k];
    }
    const Real inverse_stddev = 1 / sqrt(row_sum(squares) / static_cast<Real>(n) + eps);
    for (int k = 0; k < held; ++k) {
        if (!inside(k)) continue;
        const int j = column(k);
        const Real x_hat = row[k] * inverse_stddev;
        if (normalized) normalized[start + j] = x_hat;
        y[start + j] = x_hat * gamma[j] + beta[j];
    }
    if (inverse_stddevs && threadIdx.x == 0) inverse_stddevs[r] = inverse_stddev;
}
// [layer norm: launch]
Tensor normalize(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache,
                 const Branch& branch) {
    const Index n = x.dim(-1), n_rows = x.size() / n;
    Tensor y(x.shape());
    if (cache) cache->normalized = Tensor(x.shape()), cache->inverse_stddev = Tensor({n_rows});
    const dim3 threads = threads_for(n);
    const Grid grid{dim3(static_cast<unsigned>(ceil_div(n_rows, threads.y))), threads};
    launch("layer norm", layer_norm_kernel, grid, n_rows, static_cast<int>(n), y.on_device(),
           cache ? cache->normalized.on_device() : nullptr,
           cache ? cache->inverse_stddev.on_device() : nullptr, x.on_device(),
           norm.gamma.value.on_device(), norm.beta.value.on_device(), norm.options().eps, branch);
    return y;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache) {
    if (!takes_rows_of(x.dim(-1))) return fast::layer_norm(x, norm, cache);
    return normalize(x, norm, cache, {});
}

Tensor add_norm(const Tensor& x, const Tensor& sublayer, const Dropout& dropout,
                const LayerNorm& norm, AddNormCache* cache) {
    if (!takes_rows_of(x.dim(-1))) return fast::add_norm(x, sublayer, dropout, norm, cache);
    Mask kept = cache && dropout.p() > 0 ? Mask(x.shape()) : Mask();
    if (cache) cache->dropout.kept = kept;
    return normalize(x, norm, part(cache, &AddNormCache::norm),
                     {sublayer.on_device(), kept.empty() ? nullptr : kept.on_device(),
                      state_of(dropout.stream()), dropout.p(), dropout.factor()});
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
__global__ void __launch_bounds__(block_size, blocks_at_once)
    layer_norm_backward_kernel(Index n_rows, int n, Global<Real> dx, Global<Real> dsublayer,
                               Global<Real> shares, Global<const Real> dy, Global<const Real> x_hat,
                               Global<const Real> inverse_stddevs, Global<const Real> gamma,
                               Global<const std::uint8_t> kept, Real factor) {
    threads_at_most(block_size);
    __shared__ Shared<Real, 2, held * warp> total;
    const int w = static_cast<int>(threadIdx.x) / warp, rows = static_cast<int>(blockDim.y);
    const auto column = [=](int k) { return (w * held + k) * warp + lane(); };
    Real dgamma[held], dbeta[held];
    for (int k = 0; k < held; ++k) dgamma[k] = dbeta[k] = 0;
    for (Index r = static_cast<Index>(blockIdx.x) * rows + threadIdx.y; r < n_rows;
         r += static_cast<Index>(gridDim.x) * rows) {
        const Index start = r * n;
        const Real inverse_stddev = inverse_stddevs[r];
        Real dx_hat[held], x_hat_row[held], sum = 0, sum_along = 0;
        unsigned kept_bits = 0;
        for (int k = 0; k < held; ++k) {
            const bool inside = column(k) < n;
            dx_hat[k] = inside ? Real(dy[start + column(k)]) : Real(0);
            x_hat_row[k] = inside ? Real(x_hat[start + column(k)]) : Real(0);
            if (kept && inside) kept_bits |= static_cast<unsigned>(kept[start + column(k)]) << k;
        }
        for (int k = 0; k < held; ++k) {
            dgamma[k] += dx_hat[k] * x_hat_row[k];
            dbeta[k] += dx_hat[k];
            if (column(k) < n) dx_hat[k] *= gamma[column(k)];
            sum += dx_hat[k];
            sum_along += dx_hat[k] * x_hat_row[k];
        }
        const Real mean = row_sum(sum) / static_cast<Real>(n);
        const Real mean_along = row_sum(sum_along) / static_cast<Real>(n);
        for (int k = 0; k < held; ++k) {
            if (column(k) >= n) continue;
            const Index i = start + column(k);
            const Real d = (dx_hat[k] - mean - x_hat_row[k] * mean_along) * inverse_stddev;
            dx[i] = d;
            if (dsublayer) dsublayer[i] = d * (factor * static_cast<Real>(kept_bits >> k & 1));
        }
    }
    if (!shares) return;
    for (int turn = 0; turn < rows; ++turn) {
        for (int k = 0; k < held; ++k) {
            const int j = column(k);
            if (turn != static_cast<int>(threadIdx.y) || j >= n) continue;
            if (turn > 0) dgamma[k] += total[0][j], dbeta[k] += total[1][j];
            if (turn + 1 < rows) {
                total[0][j] = dgamma[k], total[1][j] = dbeta[k];
            } else {
                const Index share = static_cast<Index>(blockIdx.x) * 2 * n;
                shares[share + j] = dgamma[k], shares[share + n + j] = dbeta[k];
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
    launch("layer norm backward", layer_norm_backward_kernel,
           Grid{dim3(static_cast<unsigned>(n_shares)), threads}, n_rows, static_cast<int>(n),
           dx.on_device(), dsublayer, affine ? shares.on_device() : nullptr, dy.on_device(),
           cache.normalized.on_device(), cache.inverse_stddev.on_device(),
           norm.gamma.value.on_device(), kept, factor);
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
