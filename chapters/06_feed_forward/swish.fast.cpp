#include "chapters/06_feed_forward/swish.hpp"

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [swish]
namespace {
constexpr Index grain = 1 << 12;  // elements that a thread takes at a time
}

Tensor swish(const Tensor& x) {
    Tensor y(x.shape());
    parallel_ranges(x.size(), grain, [&](Index begin, Index end) {
        const auto a = vector(x).segment(begin, end - begin).array();
        vector(y).segment(begin, end - begin).array() = a / (1 + (-a).exp());
    });
    return y;
}
// [swish: backward]
Tensor swish_backward(const Tensor& dy, const Tensor& x) {
    Tensor dx(x.shape());
    parallel_ranges(x.size(), grain, [&](Index begin, Index end) {
        Eigen::Array<Real, grain, 1> kept;
        const Index n = end - begin;
        const auto a = vector(x).segment(begin, n).array();
        auto s = kept.head(n);  // on the stack, in the first cache
        s = (1 + (-a).exp()).inverse();
        vector(dx).segment(begin, n).array() =
            vector(dy).segment(begin, n).array() * (s + a * s * (1 - s));
    });
    return dx;
}

}  // namespace abh::fast
