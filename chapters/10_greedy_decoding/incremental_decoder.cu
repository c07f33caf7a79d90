#include "chapters/10_greedy_decoding/incremental_decoder.cuh"
#include "lib/exp.cuh"

namespace abh::cuda {
// [cuda: room]
namespace {

/// A thread a number of what stays, neighbours at neighbours. Bytes are the limit.
/// @param n     numbers of a sentence's head: `from_room` rows
/// @param to_n  numbers of the larger room
template <class T>
__global__ void copy_rows_kernel(Index n_elements, Index heads, Index n, Index to_n, Global<T> to,
                                 Global<const T> from, Global<const std::int32_t> sentences) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Index head = i / n % heads, sentence = sentences[i / (heads * n)];
        const Index row = sentence * heads + head;
        to[row * to_n + i % n] = from[row * n + i % n];
    }
}

/// A thread a number of the new rows of keys and values.
__global__ void put_kernel(Index n_elements, Index heads, Index room, Index d, Index at,
                           Global<Real> to_k, Global<Real> to_v, Global<const Real> k,
                           Global<const Real> v, Global<const std::int32_t> sentences) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Index head = i / d % heads, sentence = sentences[i / (heads * d)];
        const Index place = ((sentence * heads + head) * room + at) * d + i % d;
        to_k[place] = k[i];
        to_v[place] = v[i];
    }
}

/// A thread a sentence that goes on.
__global__ void hide_word_kernel(Index n, Index room, Index at, Global<std::uint8_t> hidden,
                                 Global<const std::int32_t> words, std::int32_t word, bool hide,
                                 Global<const std::int32_t> sentences) {
    for (Index i = first_element(); i < n; i += all_threads())
        hidden[sentences[i] * room + at] = hide && words[i] == word;
}

}  // namespace

template <class T>
void copy_rows(BasicTensor<T>& to, const BasicTensor<T>& from, const Ids& sentences) {
    const Index heads = from.dim(1), n = from.dim(2) * from.dim(3), to_n = to.dim(2) * to.dim(3);
    const Index n_elements = sentences.size() * heads * n;
    launch("copy rows", copy_rows_kernel<T>, grid_for(n_elements), n_elements, heads, n, to_n,
           to.on_device(), from.on_device(), sentences.on_device());
}
template void copy_rows(Tensor& to, const Tensor& from, const Ids& sentences);
template void copy_rows(Mask& to, const Mask& from, const Ids& sentences);

void put(KeyValues& rows, const Tensor& k, const Tensor& v, Index at, const Ids& sentences) {
    launch("put rows", put_kernel, grid_for(k.size()), k.size(), k.dim(1), rows.k.dim(2), k.dim(3),
           at, rows.k.on_device(), rows.v.on_device(), k.on_device(), v.on_device(),
           sentences.on_device());
}

void hide_word(Mask& hidden, const Ids& words, std::int32_t word, bool hide, Index at,
               const Ids& sentences) {
    launch("hide word", hide_word_kernel, grid_for(words.size()), words.size(), hidden.dim(2), at,
           hidden.on_device(), words.on_device(), word, hide, sentences.on_device());
}
// [cuda: one query]
namespace {

constexpr int threads = 128, warps = threads / warp;  // of the block of a sentence's head

/// The scores of a query, one warp a key, its threads side by side along the columns; then softmax
/// in place by the whole block.
__device__ void to_weights(Index length, Index d, Real scale, Real fill, Global<const Real> q,
                           Global<const Real> k, Global<const std::uint8_t> hidden,
                           Global<Real> weights) {
    const Index first = static_cast<Index>(threadIdx.x) / warp;
    Real largest = -infinity<Real>(), total = 0;
    for (Index j = first; j < length; j += warps) {
        Real score = 0;
        for (Index c = lane(); c < d; c += warp) score += q[c] * k[j * d + c];
        score = hidden[j] ? fill : scale * warp_sum(score);
        if (lane() == 0) weights[j] = score;
        largest = score > largest ? score : largest;
    }
    largest = block_max(largest);
    for (Index j = threadIdx.x; j < length; j += threads) {
        const Real e = exp_or_zero(weights[j] - largest);
        weights[j] = e;
        total += e;
    }
    const Real share = 1 / block_sum(total);
    for (Index j = threadIdx.x; j < length; j += threads) weights[j] *= share;
    __syncthreads();
}

/// A block a head of a sentence: every key and every value is read once, in whole rows. Bytes are
/// the limit, four operations for each number of a key or value; with few sentences and short ones
/// it is the time of a launch.
__global__ void attend_one_kernel(Index heads, Index length, Index room, Index d, Real scale,
                                  Real fill, Global<Real> y, Global<Real> weights,
                                  Global<const Real> q, Global<const Real> k, Global<const Real> v,
                                  Global<const std::uint8_t> hidden,
                                  Global<const std::int32_t> sentences) {
    __shared__ Shared<Real, warps, warp> share;
    const Index i = blockIdx.x, sentence = sentences[i / heads];
    const Index begin = (sentence * heads + i % heads) * room * d;  // of its keys, and values
    const Global<Real> w = weights + i * length;
    to_weights(length, d, scale, fill, q + i * d, k + begin, hidden + sentence * room, w);

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

void attend_one(Tensor& y, Tensor& weights, const Tensor& q, const KeyValues& kv,
                const Mask& hidden, const Ids& sentences, Real scale, Real fill) {
    const Index heads = q.dim(1), d = q.dim(3);
    launch("attention of one query", attend_one_kernel,
           blocks_of(sentences.size() * heads, threads), heads, weights.dim(2), kv.k.dim(2), d,
           scale, fill, y.on_device(), weights.on_device(), q.on_device(), kv.k.on_device(),
           kv.v.on_device(), hidden.on_device(), sentences.on_device());
}

}  // namespace abh::cuda
