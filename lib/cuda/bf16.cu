#include "lib/cuda/bf16.cuh"

namespace abh::cuda {
// [bf16]
namespace {

/// All elements of a storage in bf16.
struct Halves : Storage::Kept {
    explicit Halves(Index n) : numbers({n}) {}
    BasicTensor<Half> numbers;
};

/// Bytes are the limit: six for one rounding.
__global__ void round_kernel(Elements all, Global<Half> y, Global<const Real> x) {
    for_elements(all, [&]<int n>(Index i) {
        const Some<Real, n> u = some<n>(x)[i];
        Some<Half, n> v;
        for (int e = 0; e < n; ++e) v.v[e] = half_of(u.v[e]);
        some<n>(y)[i] = v;
    });
}

}  // namespace

std::shared_ptr<const Half> in_bf16(const Tensor& x) {
    Storage& storage = *x.storage();
    auto halves = std::dynamic_pointer_cast<Halves>(storage.kept());
    if (!halves) {
        const Index n = static_cast<Index>(storage.bytes() / sizeof(Real));
        halves = std::make_shared<Halves>(n);
        const Real* const from = x.on_device() - x.first();
        launch_elements("round", round_kernel, n, true, halves->numbers.on_device(), from);
        storage.keep(halves);
    }
    return {halves, std::as_const(halves->numbers).on_device() + x.first()};
}

Factors16 factors16(const Tensor& a, const Tensor& b) {
    if (precision() != Precision::bf16) return {};
    return {in_bf16(a).get(), in_bf16(b).get()};  // which `a` and `b` keep
}

WithHalves to_write_with_halves(Tensor& x) {
    const auto halves = std::dynamic_pointer_cast<Halves>(x.storage()->kept());
    Real* const numbers = x.on_device();  // drops what is kept
    if (!halves) return {numbers, nullptr};
    x.storage()->keep(halves);
    return {numbers, halves->numbers.on_device() + x.first()};
}

}  // namespace abh::cuda
