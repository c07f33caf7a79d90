#include "chapters/06_feed_forward/add_norm.hpp"

namespace abh {
// [construct]
AddNorm::AddNorm(Index d_model, const AddNormOptions& options, Random& random)
    : norm(d_model, options.norm),
      placement_(options.placement),
      dropout_(options.dropout, random),
      dropout_after_norm_(options.dropout_after_norm, random) {}
// [forward]
Tensor AddNorm::before(const Tensor& x, Cache* cache) const {
    return placement_ == NormPlacement::post ? x : norm.forward(x, cache ? &cache->norm : nullptr);
}

Tensor AddNorm::after(const Tensor& x, const Tensor& sublayer, Cache* cache) const {
    const Tensor sum = x + dropout_.forward(sublayer, cache ? &cache->dropout : nullptr);
    const Tensor y =
        placement_ == NormPlacement::post ? norm.forward(sum, cache ? &cache->norm : nullptr) : sum;
    return dropout_after_norm_.forward(y, cache ? &cache->dropout_after_norm : nullptr);
}
// [backward]
// forward was:  sum = x + dropout(s);  post: y = norm(sum),  pre: y = sum;  then dropout of y
// hence:        dsum = post: norm backward of dy,  pre: dy;  a sum gives its gradient to both:
//               dx = dsum,  ds = dropout backward of dsum
AddNorm::Gradients AddNorm::after_backward(const Tensor& dy, const Cache& cache) {
    const Tensor dnorm = dropout_after_norm_.backward(dy, cache.dropout_after_norm);
    const Tensor dsum =
        placement_ == NormPlacement::post ? norm.backward(dnorm, cache.norm) : dnorm;
    return {dsum, dropout_.backward(dsum, cache.dropout)};
}

// forward was:  post: h = x,   pre: h = norm(x)
// hence:        post: dx = dh,  pre: dx = norm backward of dh;  to be added to the other dx
Tensor AddNorm::before_backward(const Tensor& dh, const Cache& cache) {
    return placement_ == NormPlacement::post ? dh : norm.backward(dh, cache.norm);
}

}  // namespace abh
