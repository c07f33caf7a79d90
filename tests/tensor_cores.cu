// A product on tensor cores. The emulator's tests run it, and CUDA's compiler must accept it.
#include "lib/cuda/fragments.cuh"

namespace abh::cuda {

/// What lanes do wrong.
enum class Lanes { right, swapped, missing, elsewhere };

/// One warp adds A [16, k] B [k, 8] to zeros.
template <class T>
__global__ void tensor_product_kernel(Global<Real> c, Global<const Real> a, Global<const Real> b,
                                      Index k, Lanes lanes) {
    FragmentC sums;
    for (Index first = 0; first < k; first += depth<T>) {
        auto left = load_a<T>([&](int row, int column) { return a[row * k + first + column]; });
        const auto right =
            load_b<T>([&](int row, int column) { return b[(first + row) * 8 + column]; });
        if (lanes == Lanes::swapped) left.bits[0] = __shfl_xor_sync(0xffffffffu, left.bits[0], 1);
        if (lanes == Lanes::missing && lane() >= 16) return;
        if (lanes == Lanes::elsewhere && lane() == 5)
            mma(sums, left, right);
        else
            mma(sums, left, right);
    }
    store_c(sums, [&](int row, int column, float sum) { c[row * 8 + column] = sum; });
}

template <class T>
void tensor_product(Tensor& c, const Tensor& a, const Tensor& b, Lanes lanes) {
    launch("tensor product", tensor_product_kernel<T>, blocks_of(1, warp), c.on_device(),
           a.on_device(), b.on_device(), a.shape()[1], lanes);
}

template void tensor_product<Tf32>(Tensor&, const Tensor&, const Tensor&, Lanes);
template void tensor_product<Bf16>(Tensor&, const Tensor&, const Tensor&, Lanes);

}  // namespace abh::cuda
