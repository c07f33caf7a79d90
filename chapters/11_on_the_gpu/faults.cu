#include "chapters/11_on_the_gpu/faults.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [faulty kernels]
namespace {

constexpr Index n = 70;

__global__ void missing_barrier(Global<Real> y, Global<const Real> x) {
    __shared__ Shared<Real, 64> tile;
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void divergent_barrier(Global<Real> y, Global<const Real> x) {
    if (threadIdx.x < n - 64) {
        y[threadIdx.x] = x[64 + threadIdx.x];
        __syncthreads();
    }
}

__global__ void out_of_bounds(Global<Real> y, Global<const Real> x) {
    const Index i = first_element();
    y[i] = x[i];
}

__global__ void unwritten(Global<Real> y, Global<const Real>) {
    if (first_element() < n) y[first_element()] += 1;
}

}  // namespace
// [run the faulty kernels]
std::vector<std::string> messages_of_faults() {
    require(device().emulated(),
            "faults: undefined behavior on {}; run these kernels on the emulator instead",
            device().name());
    std::vector<std::string> messages;
    for (const auto& [kernel, blocks] : {std::pair(&missing_barrier, 1),
                                         {&divergent_barrier, 1},
                                         {&out_of_bounds, 2},
                                         {&unwritten, 2}}) {
        Tensor y({n});
        const Tensor x = Tensor::full({n}, 1);
        try {
            launch("faulty", kernel, blocks_of(blocks, 64), y.on_device(), x.on_device());
            messages.push_back("the emulator found no fault");
        } catch (const std::runtime_error& error) {
            messages.push_back(error.what());
        }
    }
    return messages;
}

}  // namespace abh::cuda
