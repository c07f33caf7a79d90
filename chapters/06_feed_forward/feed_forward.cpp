#include "chapters/06_feed_forward/feed_forward.hpp"

#include "lib/part.hpp"

namespace abh {
// [feed-forward]
FeedForward::FeedForward(Index d_model, Index d_ff, bool bias, Random& random,
                         Activation activation)
    : first(d_model, d_ff, bias, random),
      second(d_ff, d_model, bias, random),
      activation_(activation) {}

void FeedForward::collect(Parameters& list, const std::string& name) {
    first.collect(list, join_name(name, "linear1"));
    second.collect(list, join_name(name, "linear2"));
}

Tensor FeedForward::forward(const Tensor& x, Cache* cache) const {
    const bool is_relu = activation_ == Activation::relu;
    const Tensor hidden = is_relu ? linear_relu(x, first, part(cache, &Cache::first))
                                  : first.forward(x, part(cache, &Cache::first));  // [B, L, d_ff]
    if (cache) cache->hidden = hidden;
    const Tensor active = is_relu ? hidden : swish(hidden);
    return second.forward(active, part(cache, &Cache::second));  // [B, L, d_model]
}
// [feed-forward: backward]
// forward was:  y = second(relu(first(x))), or with swish
// hence:        the three backward passes, from last to first
Tensor FeedForward::backward(const Tensor& dy, const Cache& cache) {
    const Tensor dhidden = second.backward(dy, cache.second);  // [B, L, d_ff]
    const auto to_x =
        activation_ == Activation::relu ? linear_relu_backward : linear_swish_backward;
    return to_x(dhidden, cache.hidden, first, cache.first);
}

}  // namespace abh
