// The three loops in the order of the equation.
#include "lib/tensor.hpp"

namespace abh::mine {

Tensor product(const Tensor& a_, const Tensor& b_) {
    const Index m = a_.dim(0), k = a_.dim(1), n = b_.dim(1);
    Tensor c_({m, n});
    const Real* const a = a_.data();
    const Real* const b = b_.data();
    Real* const c = c_.data();
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
            Real sum = 0;
            for (Index p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
    return c_;
}

}  // namespace abh::mine
