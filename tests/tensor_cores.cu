// A product on tensor cores. The emulator's tests run it, and CUDA's compiler must accept it.
#include "lib/cuda/fragments.cuh"

namespace abh::cuda {

/// What lanes do wrong.
enum class Lanes { right, swapped, missing, elsewhere };

/// What memory holds of a number.
template <class T>
using Number = std::conditional_t<T::together == 1, float, std::uint16_t>;

template <class T>
__device__ Number<T> number(float x) {
    if constexpr (T::together == 1)
        return std::bit_cast<float>(rounded<T>(x));
    else
        return static_cast<std::uint16_t>(rounded<T>(x) >> 16);
}

/// This lane's parts of A and B by way of shared memory. B's halves are turned; words cannot be.
/// @param a  gives the number in a row and column, as `b` does
template <class T, class A, class B>
__device__ void load(FragmentA<T>& left, FragmentB<T>& right, const A& a, const B& b) {
    constexpr int k = depth<T>;
    alignas(16) __shared__ Shared<Number<T>, 16, k> tile_a;
    alignas(16) __shared__ Shared<Number<T>, k, 8> tile_b;
    __syncwarp();  // the tiles before may still be read
    for (int e = lane(); e < 16 * k; e += warp)
        tile_a[e / k][e % k] = number<T>(static_cast<float>(a(e / k, e % k)));
    for (int e = lane(); e < k * 8; e += warp)
        tile_b[e / 8][e % 8] = number<T>(static_cast<float>(b(e / 8, e % 8)));
    __syncwarp();
    left = load_a<T>(&tile_a[0][0], k);
    if constexpr (T::together == 1) {
        for (int h = 0; h < 2; ++h)
            right.bits[h] =
                std::bit_cast<std::uint32_t>(float(tile_b[lane() % 4 + 4 * h][lane() / 4]));
    } else {
        std::uint32_t twice[4];
        load_matrices<true>(twice, &tile_b[lane() % 16][0]);
        right = {{twice[0], twice[1]}};
    }
}

/// One warp adds A [16, k] B [k, 8] to zeros.
template <class T>
__global__ void tensor_product_kernel(Global<Real> c, Global<const Real> a, Global<const Real> b,
                                      Index k, Lanes lanes) {
    FragmentC sums;
    for (Index first = 0; first < k; first += depth<T>) {
        FragmentA<T> left;
        FragmentB<T> right;
        load(
            left, right, [&](int row, int column) { return a[row * k + first + column]; },
            [&](int row, int column) { return b[(first + row) * 8 + column]; });
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
