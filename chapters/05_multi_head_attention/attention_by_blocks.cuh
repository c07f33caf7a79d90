#pragma once

#include "chapters/05_multi_head_attention/attention_by_blocks.hpp"

namespace abh::cuda {
// [by blocks on the device]
/// Columns of a head whose rows, some queries' and some keys', fit into the memory that the threads
/// of a block share.
constexpr Index widest_head = sizeof(Real) == 4 ? 128 : 64;

/// What attention_by_blocks.cpp computes on the processor; it has checked all shapes.
/// @param largest, total  `[B, H, Lq]`, written
void attention_by_blocks(Tensor& y, Tensor& largest, Tensor& total, const Tensor& q,
                         const Tensor& k, const Tensor& v, Index n_heads, const Mask& mask,
                         const AttentionOptions& options);
/// @param d  of the shapes of q, k and v, written
void attention_by_blocks_backward(AttentionGradients& d, const Tensor& dcontext,
                                  const BlockAttentionCache& cache);

}  // namespace abh::cuda
