#include "chapters/06_feed_forward/experiments.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "chapters/06_feed_forward/feed_forward.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [paths]
double error_of_paths(int terms, const Tensor& x_row, const Tensor& dy_row) {
    using Row = Eigen::ArrayXd;
    const Row x = vector(x_row).cast<double>(), dy = vector(dy_row).cast<double>();
    const auto stddev = [](const Row& at) {
        return std::sqrt((at - at.mean()).square().mean() + 1e-5);
    };
    const Row x_hat = (x - x.mean()) / stddev(x);
    Row dx = dy;
    if (terms >= 2) dx -= dy.mean();
    if (terms >= 3) dx -= x_hat * (dy * x_hat).mean();

    const auto f = [&](const Row& at) { return ((at - at.mean()) * dy).sum() / stddev(at); };
    double worst = 0;
    for (Index i = 0; i < x.size(); ++i) {
        const Row step = 1e-5 * Eigen::VectorXd::Unit(x.size(), i).array();
        const double slope = (f(x + step) - f(x - step)) / 2e-5;
        worst = std::max(worst, std::abs(dx(i) / stddev(x) - slope));
    }
    return worst;
}
// [deep stack]
namespace {

/// Root mean square.
double size(const Tensor& t) {
    return std::sqrt(dot(t, t) / static_cast<double>(t.size()));
}

struct Sublayer {
    AddNorm add_norm;
    FeedForward ff;
    AddNorm::Cache cache = {};
    FeedForward::Cache ff_cache = {};
};

}  // namespace

Tensor by_depth(Index depth, NormPlacement placement, std::uint64_t seed) {
    constexpr Index d_model = 256;
    Random random(seed);
    std::vector<Sublayer> stack;
    for (Index i = 0; i < depth; ++i)
        stack.push_back({AddNorm(d_model, {.placement = placement}, random),
                         FeedForward(d_model, 4 * d_model, false, random)});
    LayerNorm last(d_model);  // with the norm before the sublayers, one more follows the last
    Tensor x = normal({64, d_model}, random.stream()), sizes({3, depth + 1});
    Tensor full = normal(x.shape(), random.stream());
    sizes(0, 0) = static_cast<Real>(size(x));
    for (Index i = 0; i < depth; ++i) {
        auto& [add_norm, ff, cache, ff_cache] = stack[static_cast<std::size_t>(i)];
        const Tensor h = add_norm.before(x, &cache);
        x = add_norm.after(x, ff.forward(h, &ff_cache), &cache);
        sizes(0, i + 1) = static_cast<Real>(size(x));
    }
    LayerNorm::Cache last_cache;
    last.forward(x, &last_cache);
    if (placement == NormPlacement::pre) full = last.backward(full, last_cache);
    Tensor residual = full;
    for (Index i = depth;; --i) {
        sizes(1, i) = static_cast<Real>(size(full));
        sizes(2, i) = static_cast<Real>(size(residual));
        if (i == 0) return sizes;
        auto& [add_norm, ff, cache, ff_cache] = stack[static_cast<std::size_t>(i - 1)];
        residual = add_norm.after_backward(residual, cache).dx;
        const auto [dx, df] = add_norm.after_backward(full, cache);
        full = dx + add_norm.before_backward(ff.backward(df, ff_cache), cache);
    }
}

}  // namespace abh
