#include "chapters/06_feed_forward/layer_norm.fast.hpp"

namespace abh::fast {
// [layer norm]
Tensor layer_norm(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache) {
    return normalize_rows(x.shape(), norm, cache, [&](Index begin, Index, const Tensor&) {
        return x.data() + begin * x.dim(-1);
    });
}

Tensor layer_norm_backward(const Tensor& dy, LayerNorm& norm, const LayerNorm::Cache& cache) {
    return normalize_rows_backward(dy, norm, cache, [](Index, Index, const Tensor&) {});
}

}  // namespace abh::fast
