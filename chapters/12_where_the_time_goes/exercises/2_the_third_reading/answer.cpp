// Exercise 12.2: backward and update in one reading of the weights.
#include <stdexcept>

#include "lib/eigen.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {

/// One step of SGD with momentum for the weights of a linear map `y = x W^T`, together with its
/// backward pass.
/// @param w         the weights, [d_out, d_in]; updated: w -= rate * v
/// @param v         the running gradient, the same shape; updated first: v = momentum * v + dW
/// @param x         the map's input, [rows, d_in]
/// @param dy        gradient of the loss with respect to the map's result, [rows, d_out]
/// @return          gradient with respect to `x`, from the weights before the update, [rows, d_in]
Tensor backward_and_update(Tensor& w, Tensor& v, const Tensor& x, const Tensor& dy, Real momentum,
                           Real rate) {
    Tensor dx(x.shape());  // its elements are not initialized
    // `matrix(t)` shows a tensor's memory as an Eigen matrix: matrix(w).row(o) is row o.
    auto W = matrix(w), V = matrix(v), dX = matrix(dx);
    const auto X = matrix(x), dY = matrix(dy);
    // solution
    dX.setZero();
    for (Index o = 0; o < W.rows(); ++o) {  // while row o is in the cache
        V.row(o) *= momentum;
        for (Index r = 0; r < X.rows(); ++r) {
            dX.row(r) += dY(r, o) * W.row(o);
            V.row(o) += dY(r, o) * X.row(r);
        }
        W.row(o) -= rate * V.row(o);
    }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return dx;
}

}  // namespace abh::mine
