#include "chapters/10_greedy_decoding/key_values.hpp"
#include "lib/cuda/exp.cuh"

namespace abh::cuda {
// [rows]
namespace {

/// One thread per number of the new keys, which also copies that number of the new values.
__global__ void append_kernel(Index n_elements, Index room, Index d, Index length,
                              Global<Real> to_k, Global<Real> to_v, Global<const Real> k,
                              Global<const Real> v) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Index to = (i / d * room + length) * d + i % d;
        to_k[to] = k[i];
        to_v[to] = v[i];
    }
}

/// One thread per number of a key, which also copies that number of its value. Bytes are the limit:
/// each number is read once and written once.
/// @param n             numbers that a head holds
/// @param to_n, from_n  numbers that a head has room for, in the result and in the source
__global__ void gather_kernel(Index n_elements, Index heads, Index n, Index to_n, Index from_n,
                              Global<Real> to_k, Global<Real> to_v, Global<const Real> k,
                              Global<const Real> v, Global<const std::int32_t> rows) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Index head = i / n, from_head = rows[head / heads] * heads + head % heads;
        const Index to = head * to_n + i % n, from = from_head * from_n + i % n;
        to_k[to] = k[from];
        to_v[to] = v[from];
    }
}

}  // namespace

void append(KeyValues& kv, Index length, const Tensor& k, const Tensor& v) {
    launch("append", append_kernel, grid_for(k.size()), k.size(), kv.k.dim(2), k.dim(3), length,
           kv.k.on_device(), kv.v.on_device(), k.on_device(), v.on_device());
}

KeyValues gather(const KeyValues& kv, Index length, const Ids& rows, Index room) {
    const Index heads = kv.k.dim(1), d = kv.k.dim(3);
    const Shape shape = kv.k.shape().with(0, rows.size()).with(2, room);
    KeyValues y{Tensor(shape), Tensor(shape)};
    const Index n_elements = rows.size() * heads * length * d;
    launch("gather", gather_kernel, grid_for(n_elements), n_elements, heads, length * d, room * d,
           kv.k.dim(2) * d, y.k.on_device(), y.v.on_device(), kv.k.on_device(), kv.v.on_device(),
           rows.on_device());
    return y;
}
// [one query]
namespace {

constexpr int threads = 128, warps = threads / warp;  // of a block, which takes one head of a query

/// Computes the scores of a query with one warp per key, its threads side by side along the
/// columns, and then their softmax in place with the whole block.
__device__ void to_weights(Index length, Index d, Real scale, Real fill, Global<const Real> q,
                           Global<const Real> k, Global<const std::uint8_t> hidden,
                           Global<Real> weights) {
    const Index first = static_cast<Index>(threadIdx.x) / warp;
    Real row_max = -infinity<Real>(), row_sum = 0;
    for (Index j = first; j < length; j += warps) {
        Real score = 0;
        for (Index c = lane(); c < d; c += warp) score += q[c] * k[j * d + c];
        score = hidden[j] ? fill : scale * warp_sum(score);
        if (lane() == 0) weights[j] = score;
        row_max = score > row_max ? score : row_max;
    }
    row_max = block_max(row_max);
    for (Index j = threadIdx.x; j < length; j += threads) {
        const Real e = exp_or_zero(weights[j] - row_max);
        weights[j] = e;
        row_sum += e;
    }
    const Real share = 1 / block_sum(row_sum);
    for (Index j = threadIdx.x; j < length; j += threads) weights[j] *= share;
    __syncthreads();
}

/// One block per head of a query. It reads every key and every value once, each warp 32 neighboring
/// numbers at a time. Bytes are the limit, with two operations for each number of a key or value;
/// if sentences are few and short, the time of a launch is.
__global__ void attend_cached_kernel(Index heads, Index length, Index room, Index d, Real scale,
                                     Real fill, Global<Real> y, Global<Real> weights,
                                     Global<const Real> q, Global<const Real> k,
                                     Global<const Real> v, Global<const std::uint8_t> hidden,
                                     Global<const std::int32_t> rows) {
    __shared__ Shared<Real, warps, warp> share;
    const Index i = blockIdx.x, row = rows[i / heads];
    const Index begin = (row * heads + i % heads) * room * d;  // of its keys and of its values
    const Global<Real> w = weights + i * length;
    to_weights(length, d, scale, fill, q + i * d, k + begin, hidden + row * room, w);

    const int mine = static_cast<int>(threadIdx.x) / warp;  // this warp takes every fourth value
    for (Index column = 0; column < d; column += warp) {
        const Index c = column + lane();
        Real sum = 0;
        if (c < d)
            for (Index j = mine; j < length; j += warps) sum += w[j] * v[begin + j * d + c];
        share[mine][lane()] = sum;
        __syncthreads();
        if (mine == 0 && c < d) {
            for (int other = 1; other < warps; ++other) sum += share[other][lane()];
            y[i * d + c] = sum;
        }
        __syncthreads();
    }
}

}  // namespace

Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& rows, const AttentionOptions& options) {
    const Index heads = q.dim(1), d = q.dim(3);
    Tensor y(q.shape()), weights({q.dim(0), heads, length});
    launch("attention of one query", attend_cached_kernel, blocks_of(rows.size() * heads, threads),
           heads, length, kv.k.dim(2), d, scale_of(options, d), fill_of(options, d), y.on_device(),
           weights.on_device(), q.on_device(), kv.k.on_device(), kv.v.on_device(),
           hidden.on_device(), rows.on_device());
    return y;
}

}  // namespace abh::cuda
