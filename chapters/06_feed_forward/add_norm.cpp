#include "chapters/06_feed_forward/add_norm.hpp"

#include "lib/part.hpp"

namespace abh {
namespace plain {
decltype(add_norm) add_norm;
decltype(add_norm_backward) add_norm_backward;
}  // namespace plain
namespace fast {
decltype(add_norm) add_norm;
decltype(add_norm_backward) add_norm_backward;
}  // namespace fast
namespace cuda {
decltype(add_norm) add_norm;
decltype(add_norm_backward) add_norm_backward;
}  // namespace cuda
// [operation]
Tensor add_norm(const Tensor& x, const Tensor& sublayer, const Dropout& dropout,
                const LayerNorm& norm, AddNormCache* cache) {
    require_shape(sublayer.shape(), x.shape(), "add and norm", "sublayer");
    require(x.rank() >= 1 && x.dim(-1) == norm.d_model(),
            "layer norm: x has shape {}, expected [..., {}]", x.shape(), norm.d_model());
    if (cache) cache->norm.way = cache->dropout.way = way();
    return Ways{"add norm", plain::add_norm, fast::add_norm, cuda::add_norm}(x, sublayer, dropout,
                                                                             norm, cache);
}

AddNormGradients add_norm_backward(const Tensor& dy, const Dropout& dropout, LayerNorm& norm,
                                   const AddNormCache& cache) {
    require_shape(dy.shape(), cache.norm.normalized.shape(), "layer norm backward", "dy");
    const ScopedWay scoped(cache.norm.way);
    return Ways{"add norm", plain::add_norm_backward, fast::add_norm_backward,
                cuda::add_norm_backward}(dy, dropout, norm, cache);
}
// [plain: around it]
Tensor plain::add_norm(const Tensor& x, const Tensor& sublayer, const Dropout& dropout,
                       const LayerNorm& norm, AddNormCache* cache) {
    Dropout::Cache* of_dropout = part(cache, &AddNormCache::dropout);
    LayerNorm::Cache* of_norm = part(cache, &AddNormCache::norm);
    // [plain]
    const Tensor sum = x + dropout.forward(sublayer, of_dropout);
    Tensor y = norm.forward(sum, of_norm);
    // [plain: its result]
    return y;
}
// [plain: backward]
// forward was:  sum = x + dropout(f),  y = norm(sum)
// hence:        dsum = norm backward of dy;  a sum gives its gradient to both of its terms:
//               dx = dsum,  df = dropout backward of dsum
AddNormGradients plain::add_norm_backward(const Tensor& dy, const Dropout& dropout, LayerNorm& norm,
                                          const AddNormCache& cache) {
    const Tensor dsum = norm.backward(dy, cache.norm);
    return {dsum, dropout.backward(dsum, cache.dropout)};
}
// [construct]
AddNorm::AddNorm(Index d_model, const AddNormOptions& options, Random& random)
    : norm(d_model, options.norm),
      placement_(options.placement),
      dropout_(options.dropout, random),
      dropout_after_norm_(options.dropout_after_norm, random) {}
// [forward]
Tensor AddNorm::before(const Tensor& x, Cache* cache) const {
    return placement_ == NormPlacement::post ? x : norm.forward(x, part(cache, &Cache::norm));
}

Tensor AddNorm::after(const Tensor& x, const Tensor& sublayer, Cache* cache) const {
    const Tensor y = placement_ == NormPlacement::post
                         ? add_norm(x, sublayer, dropout_, norm, cache)
                         : x + dropout_.forward(sublayer, part(cache, &Cache::dropout));
    return dropout_after_norm_.forward(y, part(cache, &Cache::dropout_after_norm));
}
// [backward]
// forward was:  post: y = norm(x + dropout(f)),  pre: y = x + dropout(f);  then dropout of y
// hence:        the same in reverse; with pre, a sum gives its gradient to both of its terms
AddNorm::Gradients AddNorm::after_backward(const Tensor& dy, const Cache& cache) {
    const Tensor d = dropout_after_norm_.backward(dy, cache.dropout_after_norm);
    if (placement_ == NormPlacement::post) return add_norm_backward(d, dropout_, norm, cache);
    return {d, dropout_.backward(d, cache.dropout)};
}

// forward was:  post: h = x,   pre: h = norm(x)
// hence:        post: dx = dh,  pre: dx = norm backward of dh;  add it to the other dx
Tensor AddNorm::before_backward(const Tensor& dh, const Cache& cache) {
    return placement_ == NormPlacement::post ? dh : norm.backward(dh, cache.norm);
}

}  // namespace abh
