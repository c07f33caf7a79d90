// Exercise 14.4: rows between blocks, hidden units within.
#include <stdexcept>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "lib/eigen.hpp"
#include "lib/matmul.hpp"

namespace abh::mine {

/// A rank's part of the block: h of the hidden units, and all of b2.
struct Part {
    Tensor w1;  ///< [h, d]
    Tensor b1;  ///< [h]
    Tensor w2;  ///< [d, h]
    Tensor b2;  ///< [d]
};

/// This rank's hidden units, `ReLU(x w1^T + b1)`.
/// @param x  any rows, [m, d]
/// @return   [m, h]
Tensor hidden(const Tensor& x, const Part& part) {
    Tensor a = matmul(x, part.w1, {.transpose_b = true});
    matrix(a).rowwise() += vector(part.b1).transpose();
    matrix(a) = matrix(a).cwiseMax(0);
    return a;
}

/// @param x  this rank's rows, [rows, d]
/// @return   y, this rank's rows, [rows, d]
Tensor forward(Ranks& ranks, const Tensor& x, const Part& part) {
    // solution
    const Tensor a = hidden(ranks.all_gather(x), part);
    Tensor y = ranks.reduce_scatter(matmul(a, part.w2, {.transpose_b = true}));
    matrix(y).rowwise() += vector(part.b2).transpose();
    return y;
    // stub
    // throw std::logic_error("not written yet");
    // end
}

/// The gradients of x and of the rank's part of the block, in the same shapes.
struct Gradients {
    Tensor dx, dw1, db1, dw2, db2;
};

/// @param dy  gradient of the loss with respect to this rank's rows of y, [rows, d]
/// @param x   this rank's rows, as in forward
Gradients backward(Ranks& ranks, const Tensor& dy, const Tensor& x, const Part& part) {
    // solution
    const Tensor all_dy = ranks.all_gather(dy), all_x = ranks.all_gather(x);
    const Tensor a = hidden(all_x, part);
    Tensor dz = matmul(all_dy, part.w2);
    matrix(dz).array() *= (matrix(a).array() > 0).cast<Real>();
    Tensor db1 = Tensor::zeros(part.b1.shape()), db2 = Tensor::zeros(part.b2.shape());
    add_column_sums(db1, dz);
    add_column_sums(db2, all_dy);
    return {.dx = ranks.reduce_scatter(matmul(dz, part.w1)),
            .dw1 = matmul(dz, all_x, {.transpose_a = true}),
            .db1 = db1,
            .dw2 = matmul(all_dy, a, {.transpose_a = true}),
            .db2 = db2};
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
