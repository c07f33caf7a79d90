// Exercise 06.4: the block that forgets.
#include <cmath>
#include <functional>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"

namespace abh::mine {

/// The backward pass of a block.
/// @param dy      gradient of the loss with respect to the result, [B, L, d_model]
/// @param around  what the forward pass of `add_norm` kept
/// @param inside  what the forward pass of `ff` kept
/// @return        dx, [B, L, d_model]
Tensor block_backward(const Tensor& dy, AddNorm& add_norm, FeedForward& ff,
                      const AddNorm::Cache& around, const FeedForward::Cache& inside) {
    const auto [dx, df] = add_norm.after_backward(dy, around);
    // solution
    return dx + add_norm.before_backward(ff.backward(df, inside), around);
    // stub
    // return add_norm.before_backward(ff.backward(df, inside), around);
    // end
}

/// A function with the parameters of `block_backward`.
using BlockBackward = std::function<Tensor(const Tensor&, AddNorm&, FeedForward&,
                                           const AddNorm::Cache&, const FeedForward::Cache&)>;

/// Your test of a function that should do the same as `block_backward`.
/// @return  true if `f` is right
bool accepts(const BlockBackward& f) {
    // solution
    const auto near = [](const Tensor& a, const Tensor& b) {
        if (!(a.shape() == b.shape())) return false;
        for (Index i = 0; i < a.size(); ++i)
            if (std::abs(a.data()[i] - b.data()[i]) > Real(1e-3)) return false;
        return true;
    };
    Random random(1);
    const Tensor x({1, 1, 3}, {1, 2, 4}), dy({1, 1, 3}, {3, -1, 2});

    FeedForward ff(3, 3, true, random);  // F(h) = -(h + 9)
    for (const NamedParameter& p : parameters_of(ff)) p.parameter->value.fill(0);
    for (Index i = 0; i < 3; ++i) {
        ff.first.weight.value(i, i) = 1;
        ff.second.weight.value(i, i) = -1;
    }
    ff.first.bias.value.fill(9);
    FeedForward::Cache ff_cache;

    // Pre-norm with gamma = 0: F sees beta, whatever x is. y = x + F(beta), so dx = dy.
    AddNorm pre(3, {.placement = NormPlacement::pre}, random);
    AddNorm::Cache pre_cache, post_cache;
    pre.norm.gamma.value.fill(0);
    pre.after(x, ff.forward(pre.before(x, &pre_cache), &ff_cache), &pre_cache);
    if (!near(f(dy, pre, ff, pre_cache, ff_cache), dy)) return false;

    // Post-norm: x + F(x) = -9 for every x above -9, so dx = 0.
    AddNorm post(3, {}, random);
    post.after(x, ff.forward(post.before(x, &post_cache), &ff_cache), &post_cache);
    return near(f(dy, post, ff, post_cache, ff_cache), Tensor::zeros(dy.shape()));
    // stub
    // (void)f;
    // return true;
    // end
}

}  // namespace abh::mine
