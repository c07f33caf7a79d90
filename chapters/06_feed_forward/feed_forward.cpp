#include "chapters/06_feed_forward/feed_forward.hpp"

#include "chapters/06_feed_forward/feed_forward.cuh"
#include "lib/eigen.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [relu]
namespace {

constexpr Index grain = 1 << 15;  // elements that a thread takes at a time

}  // namespace

Tensor relu(const Tensor& x) {
    const Timed timed("relu");
    Tensor y(x.shape());
    if (on_cuda()) return cuda::relu(y, x), y;
    parallel_ranges(x.size(), grain, [&](Index begin, Index end) {
        const Index n = end - begin;
        vector(y).segment(begin, n) =
            vector(x).segment(begin, n).unaryExpr([](Real v) { return v < 0 ? Real(0) : v; });
    });
    return y;
}
// [relu: backward]
// forward was:  y = max(x, 0)
// hence:        dx = dy where x > 0, which is where y > 0; at x = 0 we take 0, as PyTorch does
Tensor relu_backward(const Tensor& dy, const Tensor& y) {
    const Timed timed("relu");
    require_shape(dy.shape(), y.shape(), "relu backward", "dy");
    Tensor dx(y.shape());
    if (on_cuda()) return cuda::relu_backward(dx, dy, y), dx;
    parallel_ranges(y.size(), grain, [&](Index begin, Index end) {
        const Index n = end - begin;
        const auto positive = vector(y).segment(begin, n).array() > 0;
        vector(dx).segment(begin, n).array() =
            positive.select(vector(dy).segment(begin, n).array(), Real(0));
    });
    return dx;
}
// [feed-forward]
FeedForward::FeedForward(Index d_model, Index d_ff, bool bias, Random& random)
    : first(d_model, d_ff, bias, random), second(d_ff, d_model, bias, random) {}

void FeedForward::collect(Parameters& list, const std::string& name) {
    first.collect(list, join_name(name, "linear1"));
    second.collect(list, join_name(name, "linear2"));
}

Tensor FeedForward::forward(const Tensor& x, Cache* cache) const {
    const Tensor hidden = first.forward_relu(x, cache ? &cache->first : nullptr);  // [B, L, d_ff]
    if (cache) cache->hidden = hidden;
    return second.forward(hidden, cache ? &cache->second : nullptr);  // [B, L, d_model]
}
// [feed-forward: backward]
// forward was:  y = second(relu(first(x)))
// hence:        the three backward passes from last to first
Tensor FeedForward::backward(const Tensor& dy, const Cache& cache) {
    const Tensor dhidden = second.backward(dy, cache.second);  // [B, L, d_ff]
    return first.backward(relu_backward(dhidden, cache.hidden), cache.first);
}

}  // namespace abh
