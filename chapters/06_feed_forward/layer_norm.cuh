#pragma once

#include "chapters/02_positional_encoding/dropout.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"

namespace abh::cuda {
// [layer norm on the device]
/// Whether we compute on the device, and a block's registers hold a row of `n` elements: up to 4096
/// of them. Wider rows are left to the processor.
bool takes_rows_of(Index n);

/// `y = norm(x)`. @param cache  its tensors are there, to be written; or null
void layer_norm(Tensor& y, LayerNorm::Cache* cache, const Tensor& x, const LayerNorm& norm);
/// `y = norm(x + dropout(sublayer))`. @param kept  to be drawn; empty: nothing is dropped
void add_norm(Tensor& y, LayerNorm::Cache* cache, Mask& kept, const Tensor& x,
              const Tensor& sublayer, const Dropout& dropout, const LayerNorm& norm);

/// Gradients of `layer_norm`: writes `dx`, adds to those of the norm's gain and shift.
void layer_norm_backward(Tensor& dx, LayerNorm& norm, const Tensor& dy,
                         const LayerNorm::Cache& cache);
/// Gradients of `add_norm`: `dsublayer = dx * kept * factor`, too.
void add_norm_backward(Tensor& dx, Tensor& dsublayer, LayerNorm& norm, const Tensor& dy,
                       const LayerNorm::Cache& cache, const Mask& kept, Real factor);

}  // namespace abh::cuda
