// Exercise 06.1: the gradients of feed-forward.
#include <stdexcept>

#include "lib/matmul.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {

/// What `feed_forward_backward` returns.
struct FeedForwardGradients {
    Tensor dx;    ///< [R, d_model]
    Tensor dw_1;  ///< [d_ff, d_model]
    Tensor db_1;  ///< [d_ff]
    Tensor dw_2;  ///< [d_model, d_ff]
    Tensor db_2;  ///< [d_model]
};

/// Gradients of `y = relu(x W_1^T + b_1) W_2^T + b_2`.
/// @param dy      gradient of the loss with respect to y, [R, d_model]
/// @param x       [R, d_model]
/// @param a_plus  relu(x W_1^T + b_1), [R, d_ff]
/// @param w_1     [d_ff, d_model]
/// @param w_2     [d_model, d_ff]
FeedForwardGradients feed_forward_backward(const Tensor& dy, const Tensor& x, const Tensor& a_plus,
                                           const Tensor& w_1, const Tensor& w_2) {
    // solution
    const Tensor da_plus = matmul(dy, w_2);  // [R, d_ff]
    Tensor da = da_plus.clone();
    for (Index i = 0; i < da.size(); ++i)
        if (!(a_plus.data()[i] > 0)) da.data()[i] = 0;
    Tensor db_1 = Tensor::zeros({da.dim(1)}), db_2 = Tensor::zeros({dy.dim(1)});
    for (Index r = 0; r < dy.dim(0); ++r) {
        for (Index j = 0; j < da.dim(1); ++j) db_1(j) += da(r, j);
        for (Index j = 0; j < dy.dim(1); ++j) db_2(j) += dy(r, j);
    }
    const Tensor dw_1 = matmul(da, x, {.transpose_a = true});
    const Tensor dw_2 = matmul(dy, a_plus, {.transpose_a = true});
    return {matmul(da, w_1), dw_1, db_1, dw_2, db_2};
    // stub
    // (void)dy, (void)x, (void)a_plus, (void)w_1, (void)w_2;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
