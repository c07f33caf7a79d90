#include "chapters/06_feed_forward/experiments.hpp"

#include <cmath>
#include <vector>

#include "chapters/06_feed_forward/feed_forward.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [phrases]
Tensor learn_phrases(Index d_ff, std::uint64_t seed) {
    const ScopedWay scoped(Way::plain);  // for so few numbers, threads are not worth their start
    Random random(seed);
    FeedForward layer(2, d_ff, true, random);
    const Parameters parameters = parameters_of(layer);
    const Tensor x({1, 4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), wanted({4}, {0, 1, 1, 0});
    Tensor said({4}), dy = Tensor::zeros(x.shape());  // of the second column, nothing is wanted
    for (int step = 0; step <= 1000; ++step) {
        FeedForward::Cache cache;
        vector(said) = matrix(layer.forward(x, &cache)).col(0);
        matrix(dy).col(0) = (vector(said) - vector(wanted)) / 2;  // of the mean squared error
        zero_grad(parameters);
        layer.backward(dy, cache);
        for (const auto& [name, parameter] : parameters)
            vector(parameter->value) -= Real(0.1) * vector(parameter->grad());
    }
    return said;
}
// [deep stack]
namespace {

/// Root mean square; in double, since squares of rows that have nearly died are 0 in float.
double size(const Tensor& t) {
    return std::sqrt(vector(t).cast<double>().squaredNorm() / static_cast<double>(t.size()));
}

/// The mean cosine of two different rows.
double likeness(const Tensor& t) {
    const Eigen::MatrixXd units = matrix(t).cast<double>().rowwise().normalized();
    const double n = static_cast<double>(units.rows());
    return (units.colwise().sum().squaredNorm() - n) / (n * (n - 1));
}

struct Sublayer {
    Around around;
    LayerNorm norm;
    FeedForward ff;
    LayerNorm::Cache normed = {};
    FeedForward::Cache inside = {};

    Tensor forward(const Tensor& x) {
        const Tensor h = around.norm == NormAt::before ? norm.forward(x, &normed) : x;
        const Tensor f = ff.forward(h, &inside), y = around.adds ? x + f : f;
        return around.norm == NormAt::after ? norm.forward(y, &normed) : y;
    }
    /// Gradients with respect to the sum, and to the sublayer's input.
    Tensor to_sum(const Tensor& dy) {
        return around.norm == NormAt::after ? norm.backward(dy, normed) : dy;
    }
    Tensor through(const Tensor& dsum) {
        const Tensor dh = ff.backward(dsum, inside);
        return around.norm == NormAt::before ? norm.backward(dh, normed) : dh;
    }
};

}  // namespace

Tensor by_depth(Index depth, const Around& around, std::uint64_t seed) {
    constexpr Index d_model = 256;
    Random random(seed);
    std::vector<Sublayer> stack;
    for (Index i = 0; i < depth; ++i) {
        FeedForward ff(d_model, 4 * d_model, false, random);
        ff.first.weight.value *= around.larger;
        ff.second.weight.value *= around.larger;
        stack.push_back({around, LayerNorm(d_model), std::move(ff)});
    }
    LayerNorm last(d_model);  // with the norm before the sublayers, one more follows the last
    Tensor x = normal({64, d_model}, random.stream()), found({4, depth + 1});
    Tensor full = normal(x.shape(), random.stream());
    for (Index i = 0;; ++i) {
        found(0, i) = static_cast<Real>(size(x));
        found(3, i) = static_cast<Real>(likeness(x));
        if (i == depth) break;
        x = stack[static_cast<std::size_t>(i)].forward(x);
    }
    LayerNorm::Cache last_cache;
    last.forward(x, &last_cache);
    if (around.norm == NormAt::before) full = last.backward(full, last_cache);
    Tensor residual = around.adds ? full : Tensor::zeros(x.shape());
    for (Index i = depth;; --i) {
        found(1, i) = static_cast<Real>(size(full));
        found(2, i) = static_cast<Real>(size(residual));
        if (i == 0) return found;
        Sublayer& sublayer = stack[static_cast<std::size_t>(i - 1)];
        residual = sublayer.to_sum(residual);
        const Tensor dsum = sublayer.to_sum(full), dx = sublayer.through(dsum);
        full = around.adds ? dsum + dx : dx;
    }
}

}  // namespace abh
