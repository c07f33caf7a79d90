#pragma once

// What a kernel that attends is given, and which part of it a block works on. Include it in *.cu
// only.
#include <algorithm>
#include <initializer_list>

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/attention_tiles.cuh"
#include "lib/cuda/exp.cuh"

namespace abh::cuda {
// [problem]
/// The arguments that all kernels share.
struct Problem {
    int n_heads, n_queries, n_keys, d_model, d_k;  ///< n_queries, n_keys: of the longest sentences
    bool in_pieces;  ///< whether the rows of all heads consist of pieces of 16 bytes
    Real scale, fill;
    Global<const std::int32_t> query_offsets, key_offsets;  ///< null where nothing is packed
    bool causal;
    Global<const std::uint8_t> pads;   ///< [B, Lk], or null
    Global<const std::uint8_t> extra;  ///< any other mask, or null
    MaskSteps step;                    ///< in `extra`

    /// Whether any of the keys up to the last one may be hidden from this query or a later one.
    __device__ bool may_hide(int first_query, int last_key) const {
        return pads || extra || (causal && last_key > first_query);
    }
};

/// Where the rows of a sentence begin, and how many there are.
struct Sentence {
    int begin, count;

    __device__ Sentence(Global<const std::int32_t> offsets, int b, int longest)
        : begin(offsets ? offsets[b] : b * longest),
          count(offsets ? offsets[b + 1] - begin : longest) {}
};

/// Which parts come first. Blocks begin in the order of their index, so those that see most should:
/// where the future is hidden, the last queries of all heads, and the first keys.
enum class Order { by_head, first_first, last_first };

/// The part of the problem that a block works on: `rows` queries or keys of one head.
struct Part {
    int first;              ///< its first row, counted within the sentence
    int n_queries, n_keys;  ///< of its sentence
    Index rows;             ///< where this head's queries begin in `Rows`
    Index queries, keys;    ///< where this head's columns begin
    Index pads, extra;

    __device__ Part(const Problem& p, int n_rows, int rows_of_block, Order order = Order::by_head) {
        const int parts = (n_rows + rows_of_block - 1) / rows_of_block;
        const int block = static_cast<int>(blockIdx.x), heads = static_cast<int>(gridDim.x) / parts;
        const bool by_head = order == Order::by_head;
        const int head = by_head ? block / parts : block % heads;
        const int nth = by_head ? block % parts : block / heads;
        first = (order == Order::last_first && p.causal ? parts - 1 - nth : nth) * rows_of_block;
        rows = static_cast<Index>(head) * p.n_queries;
        const int b = head / p.n_heads, h = head % p.n_heads;
        const Sentence from(p.query_offsets, b, p.n_queries), to(p.key_offsets, b, p.n_keys);
        n_queries = from.count;
        n_keys = to.count;
        queries = static_cast<Index>(from.begin) * p.d_model + h * p.d_k;
        keys = static_cast<Index>(to.begin) * p.d_model + h * p.d_k;
        pads = static_cast<Index>(b) * p.n_keys;
        extra = b * p.step.sentence + h * p.step.head;
    }
};
// [rows]
/// What backward knows of each query, [B, H, Lq].
struct Rows {
    Global<const Real> row_max, row_sum, dot;  ///< dot: <dy_i, y_i>
};

/// The three numbers of one query.
struct Row {
    Real row_max, inverse, dot;

    Row() = default;
    __device__ Row(const Rows& rows, Index at)
        : row_max(rows.row_max[at]), inverse(1 / rows.row_sum[at]), dot(rows.dot[at]) {}
    /// `w = exp(s - row_max) / row_sum`
    __device__ Real weight(Real s) const { return exp_or_zero(s - row_max) * inverse; }
    __device__ Real quick_weight(Real s) const { return quick_exp(s - row_max) * inverse; }
};
// [hidden]
/// The scores of thread (x, y) in a tile: see `dot_rows`.
struct Spread {
    __device__ static int query(int i) { return own_y() + i * down; }
    __device__ static int key(int j) { return own_x() + j * across; }
};

/// Which of this thread's R x C scores are hidden, one bit each.
/// @tparam L  says which they are: `query(i)` and `key(j)`, counted from the tile's first
template <int R, int C, class L = Spread>
struct Hidden {
    static_assert(R * C <= 32);
    unsigned bits = 0;
    bool all = true;  ///< whether all that exist are hidden

    __device__ Hidden(const Problem& p, const Part& part, int query, int key) {
        const int last_q = part.n_queries - 1, last_k = part.n_keys - 1;
        for (int j = 0; j < C; ++j) {
            const int k = key + L::key(j), own_k = k < last_k ? k : last_k;
            const bool pad = p.pads && p.pads[part.pads + own_k] != 0;
            for (int i = 0; i < R; ++i) {
                const int q = query + L::query(i), own_q = q < last_q ? q : last_q;
                const Index at = part.extra + own_q * p.step.query + own_k * p.step.key;
                const bool hidden = pad || (p.causal && k > q) || (p.extra && p.extra[at] != 0);
                bits |= static_cast<unsigned>(hidden) << (i * C + j);
                all = all && (hidden || q > last_q || k > last_k);
            }
        }
    }
    __device__ Hidden() : all(false) {}
    __device__ bool operator()(int i, int j) const { return (bits >> (i * C + j) & 1) != 0; }
};

/// Whether `v` is true for any thread of the block.
__device__ inline bool any_of_block(bool v) {
    return block_max(v ? Real(1) : Real(0)) > 0;
}
// [launch]
/// @param scores   the shape of the scores, `[B, H, Lq, Lk]`
/// @param tensors  whose rows the kernels copy
template <class T>
Problem problem_of(const Shape& scores, Index d_model, const AttentionMask& mask,
                   const AttentionOptions& o, std::initializer_list<const T*> tensors) {
    const Index d_k = d_model / scores[1];
    Problem p{};
    p.n_heads = static_cast<int>(scores[1]);
    p.n_queries = static_cast<int>(scores[2]);
    p.n_keys = static_cast<int>(scores[3]);
    p.d_model = static_cast<int>(d_model);
    p.d_k = static_cast<int>(d_k);
    constexpr std::size_t piece = 16;
    const auto starts_one = [](const T* x) {
        return reinterpret_cast<std::uintptr_t>(x) % piece == 0;
    };
    p.in_pieces = d_k % static_cast<Index>(piece / sizeof(T)) == 0 &&
                  std::ranges::all_of(tensors, starts_one);
    p.scale = scale_of(o, d_k);
    p.fill = fill_of(o, d_k);
    p.causal = mask.causal;
    if (mask.packed()) {
        p.query_offsets = mask.queries.offsets.on_device();
        p.key_offsets = mask.keys.offsets.on_device();
    }
    if (!mask.pads.empty()) p.pads = mask.pads.on_device();
    if (mask.extra.empty()) return p;
    p.extra = mask.extra.on_device();
    p.step = steps_of(mask.extra);
    return p;
}

/// Calls `f` with the template arguments of the kernels, as types: the narrowest width that holds
/// the head's columns, and whether all queries and keys fit into small tiles.
template <class F>
void for_sizes(const Problem& p, const F& f) {
    const auto for_width = [&](auto all_short) {
        if (p.d_k <= 32) return f(std::integral_constant<int, 32>(), all_short);
        if (p.d_k <= 64) return f(std::integral_constant<int, 64>(), all_short);
        if constexpr (widest_head >= 128) f(std::integral_constant<int, 128>(), all_short);
    };
    if (p.n_queries <= longest_short && p.n_keys <= longest_short)
        for_width(std::true_type());
    else
        for_width(std::false_type());
}

/// One block for every `rows` of the `n_rows` queries or keys of each head.
inline Grid grid_of(Index heads, Index n_rows, int rows, std::size_t shared_bytes,
                    int threads_of_block = threads) {
    Grid grid = blocks_of(heads * ceil_div(n_rows, rows), threads_of_block);
    grid.shared_bytes = shared_bytes;
    return grid;
}
// [in bf16]
/// Fills the result, the maxima and the sums of `all`, on tensor cores.
void attend_in_bf16(const Shape& scores, const BlockwiseCache& all);
/// Fills the gradients.
void attend_backward_in_bf16(const Shape& scores, const BlockwiseCache& all, const Tensor& dy,
                             const Rows& rows, AttentionGradients& d);

}  // namespace abh::cuda
