#include <cublas_v2.h>

#include <mutex>

#include "lib/cuda/counts.hpp"
#include "lib/cuda/device.cuh"
#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"

namespace abh::cuda {
// [device: memory]
const bool emulated = false;

void open() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);  // without a driver an error, not a 0
    if (status != cudaSuccess || count < 1)
        throw std::runtime_error(
            fmt::format("no CUDA device: {}", status == cudaSuccess ? "the driver finds none"
                                                                    : cudaGetErrorString(status)));
}

std::string name() {
    cudaDeviceProp properties;
    int device = 0;
    check(cudaGetDevice(&device), "the current device");
    check(cudaGetDeviceProperties(&properties, device), "device properties");
    return properties.name;
}

void* take(std::size_t bytes) {
    void* block = nullptr;
    check(cudaMalloc(&block, bytes), "memory");
    return block;
}

void give(void* block, std::size_t) noexcept {
    cudaFree(block);
}

bool count_kernels(bool) {
    return false;
}

std::vector<KernelCount> kernel_counts() {
    return {};
}
// [device: copies]
void copy_to_device(void* device, const void* host, std::size_t bytes) {
    check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
}

void copy_to_host(void* host, const void* device, std::size_t bytes) {
    check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}

void copy_on_device(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copy on the device");
}

void synchronize() {
    check(cudaDeviceSynchronize(), "the kernels before");
}
// [device: product]
namespace {

void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw std::runtime_error(fmt::format("cuda: product: {}", cublasGetStatusString(status)));
}

cublasHandle_t create_handle() {
    cublasHandle_t handle = nullptr;
    check(cublasCreate(&handle));
    return handle;
}

}  // namespace

/// cuBLAS counts along columns: our row-major c = op(a) op(b) is its c^T = op(b)^T op(a)^T, in
/// which the same memory is read as b^T, a^T and c^T.
void multiply(const Product& p, Index batch) {
    if (p.k == 0) {  // a sum of nothing
        const auto bytes = static_cast<std::size_t>(batch * p.m * p.n) * sizeof(Real);
        if (!p.add) check(cudaMemsetAsync(p.c, 0, bytes), "a product of no columns");
        return;
    }
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    static const cublasHandle_t handle = create_handle();  // lives as long as the driver
    constexpr cudaDataType_t type = sizeof(Real) == 8 ? CUDA_R_64F : CUDA_R_32F;
    const cublasComputeType_t compute = sizeof(Real) == 8 ? CUBLAS_COMPUTE_64F
                                        : tf32()          ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                          : CUBLAS_COMPUTE_32F;
    const auto op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const Real before = p.add ? Real(1) : Real(0);
    check(cublasGemmStridedBatchedEx_64(
        handle, op(p.b.by_columns()), op(p.a.by_columns()), p.n, p.m, p.k, &p.scale, p.b.data, type,
        p.b.by_columns() ? p.k : p.n, p.k * p.n, p.a.data, type, p.a.by_columns() ? p.m : p.k,
        p.m * p.k, &before, p.c, type, p.n, p.m * p.n, batch, compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace abh::cuda
