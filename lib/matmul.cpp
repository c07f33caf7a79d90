#include "lib/matmul.hpp"

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(multiply) multiply;
}
namespace fast {
decltype(multiply) multiply;
}
namespace cuda {
decltype(abh::multiply) multiply;
}
// [shapes]
namespace {

/// The shape of the product. @throws std::invalid_argument if the operands do not fit
Shape shape_of(const Tensor& a, const Tensor& b, const MatmulOptions& o) {
    const auto check = [&](bool condition, const char* why) {
        require(condition, "matmul: {}{} times {}{}: {}", a.shape(), o.transpose_a ? "^T" : "",
                b.shape(), o.transpose_b ? "^T" : "", why);
    };
    check(a.rank() >= 2 && a.rank() == b.rank(), "ranks differ or are below 2");
    for (int axis = 0; axis < a.rank() - 2; ++axis)
        check(a.dim(axis) == b.dim(axis), "leading axes differ");
    const Index m = a.dim(o.transpose_a ? -1 : -2), k = a.dim(o.transpose_a ? -2 : -1);
    check(k == b.dim(o.transpose_b ? -1 : -2), "inner sizes differ");
    return a.shape().with(-2, m).with(-1, b.dim(o.transpose_b ? -2 : -1));
}

}  // namespace
// [plain]
void plain::multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions o, bool add) {
    if (!add) c.fill(0);
    for (Index p = 0; p < matrices(c.shape()); ++p) {
        const auto A = matrix(a, p), B = matrix(b, p);
        auto C = matrix(c, p);
        if (o.transpose_a && o.transpose_b)
            C += o.scale * A.transpose() * B.transpose();
        else if (o.transpose_a)
            C += o.scale * A.transpose() * B;
        else if (o.transpose_b)
            C += o.scale * A * B.transpose();
        else
            C += o.scale * A * B;
    }
}
// [backward]
// forward was:  c = scale A B,  A = op(a), B = op(b)
// hence:        dA = scale dc B^T,  dB = scale A^T dc,  and da = op(dA), db = op(dB)
MatmulGradients matmul_backward(const Tensor& dc, const Tensor& a, const Tensor& b,
                                MatmulOptions o) {
    require_shape(dc.shape(), shape_of(a, b, o), "matmul_backward", "dc");
    const bool ta = o.transpose_a, tb = o.transpose_b;
    return {ta ? matmul(b, dc, {tb, true, o.scale}) : matmul(dc, b, {false, !tb, o.scale}),
            tb ? matmul(dc, a, {true, ta, o.scale}) : matmul(a, dc, {!ta, false, o.scale})};
}
// [matmul]
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options) {
    Tensor c(shape_of(a, b, options));
    multiply(c, a, b, options, false);
    return c;
}

void multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions options, bool add) {
    require_shape(c.shape(), shape_of(a, b, options), "matmul", "result");
    if (!c.empty())
        Ways{"matmul", plain::multiply, fast::multiply, cuda::multiply}(c, a, b, options, add);
}

}  // namespace abh
