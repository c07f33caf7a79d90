#include "chapters/10_greedy_decoding/key_values.hpp"
#include "lib/cuda/exp.cuh"

namespace abh::cuda {
// [room]
namespace {

/// A thread a number of what stays, neighbours at neighbours. Bytes are the limit.
/// @param n     numbers of a head at a place: all its rows
/// @param to_n  numbers of the larger room
__global__ void copy_rows_kernel(Index n_elements, Index heads, Index n, Index to_n,
                                 Global<Real> to, Global<const Real> from,
                                 Global<const std::int32_t> places) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Index head = i / n % heads, place = places[i / (heads * n)];
        const Index row = place * heads + head;
        to[row * to_n + i % n] = from[row * n + i % n];
    }
}

/// A thread a number of the new rows of keys and values.
__global__ void append_kernel(Index n_elements, Index heads, Index room, Index d, Index at,
                              Global<Real> to_k, Global<Real> to_v, Global<const Real> k,
                              Global<const Real> v, Global<const std::int32_t> places) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Index head = i / d % heads, place = places[i / (heads * d)];
        const Index to = ((place * heads + head) * room + at) * d + i % d;
        to_k[to] = k[i];
        to_v[to] = v[i];
    }
}

}  // namespace

Tensor double_room(const Tensor& rows, const Ids& places) {
    Tensor larger(rows.shape().with(2, 2 * rows.dim(2)));
    const Index heads = rows.dim(1), n = rows.dim(2) * rows.dim(3);
    const Index n_elements = places.size() * heads * n;
    launch("double room", copy_rows_kernel, grid_for(n_elements), n_elements, heads, n, 2 * n,
           larger.on_device(), rows.on_device(), places.on_device());
    return larger;
}

void append(KeyValues& kv, const Tensor& k, const Tensor& v, Index at, const Ids& places) {
    launch("append", append_kernel, grid_for(k.size()), k.size(), k.dim(1), kv.k.dim(2), k.dim(3),
           at, kv.k.on_device(), kv.v.on_device(), k.on_device(), v.on_device(),
           places.on_device());
}
// [copies]
namespace {

/// A thread a number of a key and of its value. Bytes are the limit: each is read and written once.
/// @param n       numbers of a head at a place: all its rows
/// @param n_kept  numbers of those rows that are there
__global__ void copy_places_kernel(Index n_elements, Index heads, Index n, Index n_kept,
                                   Global<Real> k, Global<Real> v, Global<const std::int32_t> from,
                                   Global<const std::int32_t> to) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Index head = i / n_kept % heads, pair = i / (heads * n_kept);
        const Index source = (from[pair] * heads + head) * n + i % n_kept;
        const Index copy = (to[pair] * heads + head) * n + i % n_kept;
        k[copy] = k[source];
        v[copy] = v[source];
    }
}

}  // namespace

void copy_places(KeyValues& kv, Index length, const Ids& from, const Ids& to) {
    const Index heads = kv.k.dim(1), d = kv.k.dim(3);
    const Index n_elements = to.size() * heads * length * d;
    launch("copy places", copy_places_kernel, grid_for(n_elements), n_elements, heads,
           kv.k.dim(2) * d, length * d, kv.k.on_device(), kv.v.on_device(), from.on_device(),
           to.on_device());
}
// [one query]
namespace {

constexpr int threads = 128, warps = threads / warp;  // of the block of a query's head

/// The scores of a query, one warp a key, its threads side by side along the columns; then softmax
/// in place by the whole block.
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

/// A block a head of a query: every key and every value is read once, in whole rows. Bytes are
/// the limit, two operations for each number of a key or value; with few sentences and short ones
/// it is the time of a launch.
__global__ void attend_cached_kernel(Index heads, Index length, Index room, Index d, Real scale,
                                     Real fill, Global<Real> y, Global<Real> weights,
                                     Global<const Real> q, Global<const Real> k,
                                     Global<const Real> v, Global<const std::uint8_t> hidden,
                                     Global<const std::int32_t> places) {
    __shared__ Shared<Real, warps, warp> share;
    const Index i = blockIdx.x, place = places[i / heads];
    const Index begin = (place * heads + i % heads) * room * d;  // of its keys, and values
    const Global<Real> w = weights + i * length;
    to_weights(length, d, scale, fill, q + i * d, k + begin, hidden + place * room, w);

    const int mine = static_cast<int>(threadIdx.x) / warp;  // every fourth value is this warp's
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
                     const Ids& places, const AttentionOptions& options) {
    const Index heads = q.dim(1), d = q.dim(3);
    Tensor y(q.shape()), weights({q.dim(0), heads, length});
    launch("attention of one query", attend_cached_kernel,
           blocks_of(places.size() * heads, threads), heads, length, kv.k.dim(2), d,
           scale_of(options, d), fill_of(options, d), y.on_device(), weights.on_device(),
           q.on_device(), kv.k.on_device(), kv.v.on_device(), hidden.on_device(),
           places.on_device());
    return y;
}

}  // namespace abh::cuda
