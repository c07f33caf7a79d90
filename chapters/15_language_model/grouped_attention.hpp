#pragma once

#include <optional>
#include <string>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"
#include "chapters/15_language_model/rotary.hpp"
#include "lib/linear.hpp"

namespace abh {
// [share]
/// Gives each of `n_heads` query heads a copy of the head of its group: query head h reads head
/// `h * G / n_heads`.
/// @param x  `[B, L, G * d]`, the heads side by side
/// @return   `[B, L, n_heads * d]`
/// @throws std::invalid_argument unless G divides both `n_heads` and the width
Tensor share_heads(const Tensor& x, Index n_groups, Index n_heads);
/// The copies' gradients, added up: `[B, L, n_heads * d]` to `[B, L, G * d]`.
Tensor share_heads_backward(const Tensor& dy, Index n_groups, Index n_heads);
// [options]
struct GroupedAttentionOptions {
    Index d_model = 512;
    Index n_heads = 8;     ///< of queries
    Index n_kv_heads = 8;  ///< of keys and values; divides `n_heads`
    std::optional<RotaryOptions> rotary = RotaryOptions{};
};
// [grouped attention]
/// Causal self-attention, in which several query heads share a head of keys and values, and
/// positions are angles. Without biases. Ainslie et al. 2023.
///
/// With as many heads of keys and values as of queries, and without rotary, this is chapter 5's
/// layer.
class GroupedAttention {
public:
    struct Cache {
        Linear::Cache q, k, v, out;
        AttendHeadsCache attention;
        Packing packing;
    };

    /// @throws std::invalid_argument if the numbers of heads do not fit, or rotary heads are odd
    GroupedAttention(const GroupedAttentionOptions& options, Random& random);

    /// @param x        `[B, L, d_model]`
    /// @param cache    filled for `backward`; leave it out at inference
    /// @param packing  where sentences begin, if `x` is `[1, rows, d_model]` without pads
    /// @param weights  if given, receives the attention weights `[B, H, L, L]`
    /// @return         `[B, L, d_model]`
    Tensor forward(const Tensor& x, Cache* cache = nullptr, const Packing& packing = {},
                   Tensor* weights = nullptr) const;
    /// The next row of a text: keeps its key and value after those of the rows so far, and attends
    /// to all of them. Or the first n rows, each of which attends to itself and those before it.
    /// @param x       `[1, n, d_model]`
    /// @param kv      `[n_kv_heads, 1, room, d_k]`
    /// @param length  number of rows so far; at most room - n, and 0 if n > 1
    /// @return        `[1, n, d_model]`
    Tensor next(const Tensor& x, KeyValues& kv, Index length) const;
    /// No keys and values, with room for so many rows.
    KeyValues room(Index rows) const;
    /// Adds to the gradients of the four maps.
    /// @param dy  gradient of the loss with respect to the result
    /// @return    `dx`, `[B, L, d_model]`
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

private:
    GroupedAttentionOptions options_;

public:
    Linear w_q;       ///< d_model to d_model
    Linear w_k, w_v;  ///< d_model to n_kv_heads * d_k
    Linear w_o;       ///< d_model to d_model
};

}  // namespace abh
