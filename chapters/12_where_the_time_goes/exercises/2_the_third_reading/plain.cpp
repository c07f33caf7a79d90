// Exercise 12.2: three readings of the weights, as in the plain way.
#include "lib/eigen.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {

Tensor backward_and_update(Tensor& w, Tensor& v, const Tensor& x, const Tensor& dy, Real momentum,
                           Real rate) {
    static Tensor dw(w.shape());  // kept, because fresh memory would be slower still
    if (dw.shape() != w.shape()) dw = Tensor(w.shape());
    Tensor dx(x.shape());
    auto W = matrix(w), V = matrix(v), dX = matrix(dx), dW = matrix(dw);
    const auto X = matrix(x), dY = matrix(dy);
    dX.setZero();
    for (Index o = 0; o < W.rows(); ++o)
        for (Index r = 0; r < X.rows(); ++r) dX.row(r) += dY(r, o) * W.row(o);
    dW.setZero();
    for (Index o = 0; o < W.rows(); ++o)
        for (Index r = 0; r < X.rows(); ++r) dW.row(o) += dY(r, o) * X.row(r);
    V = momentum * V + dW;
    W -= rate * V;
    return dx;
}

}  // namespace abh::mine
