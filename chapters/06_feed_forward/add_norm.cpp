#include "chapters/06_feed_forward/add_norm.hpp"

#include <functional>

#include "chapters/06_feed_forward/layer_norm.cuh"
#include "lib/eigen.hpp"
#include "lib/profile.hpp"

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
    if (in_one_pass()) return after_in_one_pass(x, sublayer, cache);
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
    if (in_one_pass()) return after_backward_in_one_pass(dy, cache);
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
// [one pass]
bool AddNorm::in_one_pass() const {
    return placement_ == NormPlacement::post && dropout_after_norm_.p() == 0;
}

Tensor AddNorm::after_in_one_pass(const Tensor& x, const Tensor& sublayer, Cache* cache) const {
    require_shape(sublayer.shape(), x.shape(), "add and norm", "sublayer");
    const bool drops = cache && dropout_.p() > 0;
    Mask kept = drops ? Mask(x.shape()) : Mask();
    if (cache) cache->dropout.kept = kept;
    if (cuda::takes_rows_of(norm.gain.value.dim(0))) {
        const Timed timed("layer norm");
        norm.require_width(x);
        Tensor y(x.shape());
        if (cache) cache->norm = {Tensor(x.shape()), Tensor({rows(x.shape())})};
        cuda::add_norm(y, cache ? &cache->norm : nullptr, kept, x, sublayer, dropout_, norm);
        return y;
    }
    const auto add = [&](Index begin, Index end, Tensor& sum) {
        const Index first = begin * x.dim(-1), n = (end - begin) * x.dim(-1);
        const Real *const from = x.data() + first, *const branch = sublayer.data() + first;
        Real* const to = sum.data() + first;
        if (!drops) {
            for (Index i = 0; i < n; ++i) to[i] = from[i] + branch[i];
            return;
        }
        std::uint8_t* const keep = kept.data() + first;
        dropout_.draw(first, {keep, keep + n});
        const Real factor = dropout_.factor();
        for (Index i = 0; i < n; ++i)
            to[i] = from[i] + branch[i] * (factor * static_cast<Real>(keep[i]));
    };
    return norm.forward_filled(Tensor(x.shape()), cache ? &cache->norm : nullptr, std::cref(add));
}

AddNorm::Gradients AddNorm::after_backward_in_one_pass(const Tensor& dy, const Cache& cache) {
    if (dropout_.p() == 0) {
        const Tensor dsum = norm.backward(dy, cache.norm);
        return {dsum, dsum};
    }
    if (cuda::takes_rows_of(dy.dim(-1))) {
        const Timed timed("layer norm");
        require_shape(dy.shape(), cache.norm.normalized.shape(), "layer norm backward", "dy");
        Gradients d{Tensor(dy.shape()), Tensor(dy.shape())};
        cuda::add_norm_backward(d.dx, d.dsublayer, norm, dy, cache.norm, cache.dropout.kept,
                                dropout_.factor());
        return d;
    }
    Tensor dsublayer(dy.shape());
    const auto drop = [&](Index begin, Index end, Tensor& dsum) {
        const Index first = begin * dy.dim(-1), n = (end - begin) * dy.dim(-1);
        const Real* const from = dsum.data() + first;
        const std::uint8_t* const kept = cache.dropout.kept.data() + first;
        Real* const to = dsublayer.data() + first;
        const Real factor = dropout_.factor();
        for (Index i = 0; i < n; ++i) to[i] = from[i] * (factor * static_cast<Real>(kept[i]));
    };
    const Tensor dsum = norm.backward_used(dy, cache.norm, std::cref(drop));
    return {dsum, dsublayer};
}

}  // namespace abh
