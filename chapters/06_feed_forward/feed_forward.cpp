#include "chapters/06_feed_forward/feed_forward.hpp"

#include "lib/part.hpp"

namespace abh {
// [feed-forward: construct]
FeedForward::FeedForward(Index d_model, Index d_ff, bool bias, Random& random,
                         Activation activation)
    : first(d_model, d_ff, bias, random),
      second(d_ff, d_model, bias, random),
      activation_(activation) {}

void FeedForward::collect(Parameters& list, const std::string& name) {
    first.collect(list, join_name(name, "linear1"));
    second.collect(list, join_name(name, "linear2"));
}
// [feed-forward: around it]
Tensor FeedForward::forward(const Tensor& x, Cache* cache) const {
    Linear::Cache *of_first = part(cache, &Cache::first), *of_second = part(cache, &Cache::second);
    if (activation_ == Activation::swish) {
        const Tensor a = first.forward(x, of_first);
        if (cache) cache->hidden = a;
        return second.forward(swish(a), of_second);
    }
    // [feed-forward]
    const Tensor hidden = linear_relu(x, first, of_first);  // max(0, x W_1^T + b_1), [B, L, d_ff]
    const Tensor y = second.forward(hidden, of_second);     // hidden W_2^T + b_2, [B, L, d_model]
    // [feed-forward: what is kept]
    if (cache) cache->hidden = hidden;
    return y;
}
// [feed-forward: around its backward]
Tensor FeedForward::backward(const Tensor& dy, const Cache& cache) {
    if (activation_ == Activation::swish)
        return linear_swish_backward(second.backward(dy, cache.second), cache.hidden, first,
                                     cache.first);
    // [feed-forward: backward]
    // forward was:  hidden = relu(first(x)),  y = second(hidden)
    const Tensor dhidden = second.backward(dy, cache.second);  // [B, L, d_ff]
    Tensor dx = linear_relu_backward(dhidden, cache.hidden, first, cache.first);
    // [feed-forward: its gradient]
    return dx;
}

}  // namespace abh
