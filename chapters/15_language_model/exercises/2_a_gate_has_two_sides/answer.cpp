// Exercise 15.2: a gate has two sides.
#include <stdexcept>

#include "chapters/06_feed_forward/swish.hpp"
#include "lib/matmul.hpp"

namespace abh::mine {

/// What `gated_feed_forward_backward` returns.
struct GatedGradients {
    Tensor dx;       ///< [R, d_model]
    Tensor dw_gate;  ///< [d_ff, d_model]
    Tensor dw_up;    ///< [d_ff, d_model]
    Tensor dw_down;  ///< [d_model, d_ff]
};

/// Gradients of `y = (swish(x W_g^T) * (x W_u^T)) W_d^T`.
/// @param dy      gradient of the loss with respect to y, [R, d_model]
/// @param x       [R, d_model]
/// @param w_gate  W_g, [d_ff, d_model]
/// @param w_up    W_u, [d_ff, d_model]
/// @param w_down  W_d, [d_model, d_ff]
GatedGradients gated_feed_forward_backward(const Tensor& dy, const Tensor& x, const Tensor& w_gate,
                                           const Tensor& w_up, const Tensor& w_down) {
    // solution
    const Tensor g = matmul(x, w_gate, {.transpose_b = true});  // [R, d_ff], as all below
    const Tensor u = matmul(x, w_up, {.transpose_b = true}), s = swish(g);
    const Tensor da = matmul(dy, w_down);
    Tensor a(g.shape()), ds(g.shape()), du(g.shape());
    for (Index i = 0; i < g.size(); ++i) {
        a.data()[i] = s.data()[i] * u.data()[i];
        ds.data()[i] = da.data()[i] * u.data()[i];
        du.data()[i] = da.data()[i] * s.data()[i];
    }
    const Tensor dg = swish_backward(ds, g);
    return {matmul(dg, w_gate) + matmul(du, w_up), matmul(dg, x, {.transpose_a = true}),
            matmul(du, x, {.transpose_a = true}), matmul(dy, a, {.transpose_a = true})};
    // stub
    // (void)dy, (void)x, (void)w_gate, (void)w_up, (void)w_down;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
