#include <cublasLt.h>

#include <map>
#include <mutex>
#include <tuple>

#include "lib/cuda/device.cuh"
#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"

namespace abh::cuda {
// [device: memory]
const bool emulated = false;

void open() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);  // without a driver: an error, not 0
    if (status != cudaSuccess || count < 1)
        throw std::runtime_error(
            fmt::format("no CUDA device: {}", status == cudaSuccess ? "the driver found none"
                                                                    : cudaGetErrorString(status)));
}

std::string name() {
    cudaDeviceProp properties;
    int device = 0;
    check(cudaGetDevice(&device), "current device");
    check(cudaGetDeviceProperties(&properties, device), "device properties");
    return properties.name;
}

void* take(std::size_t bytes) {
    void* block = nullptr;
    check(cudaMalloc(&block, bytes), "memory allocation");
    return block;
}

void give(void* block) noexcept {
    cudaFree(block);
}
// [device: copies]
void copy_bytes(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copy to, from or on the device");
}

void synchronize() {
    check(cudaDeviceSynchronize(), "an earlier kernel");
}
// [device: product]
namespace {

void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw std::runtime_error(fmt::format("cuda: product: {}", cublasLtGetStatusString(status)));
}

constexpr cudaDataType_t real_type = sizeof(Real) == 8 ? CUDA_R_64F : CUDA_R_32F;

/// What the library needs to know of products of the same sizes; made once and kept.
struct Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulAlgo_t algorithm;
    std::size_t workspace = 0;
};

struct Handle {
    static constexpr std::size_t workspace_bytes = 32 << 20;

    cublasLtHandle_t handle = nullptr;
    void* workspace = nullptr;
    std::map<std::tuple<Index, Index, Index, Index, bool, bool, bool>, Plan> plans;

    Handle() {
        check(cublasLtCreate(&handle));
        workspace = take(workspace_bytes);
    }
};

Handle& handle() {
    static Handle* const one = new Handle;  // never deleted, as the driver may end first
    return *one;
}
// [device: product, plan]
/// cuBLAS stores matrices column by column. So our row-major c = op(a) op(b) is, in its terms,
/// c^T = op(b)^T op(a)^T, where the same memory is read as b^T, a^T and c^T.
cublasLtMatrixLayout_t layout(Index rows, Index columns, Index batch) {
    cublasLtMatrixLayout_t result = nullptr;
    check(cublasLtMatrixLayoutCreate(&result, real_type, static_cast<std::uint64_t>(columns),
                                     static_cast<std::uint64_t>(rows), columns));
    const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
        check(cublasLtMatrixLayoutSetAttribute(result, attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{rows * columns});
    return result;
}

Plan make_plan(const Product& p, Index batch) {
    Plan plan;
    const cublasComputeType_t compute = sizeof(Real) == 8 ? CUBLAS_COMPUTE_64F
                                        : tf32()          ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                          : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&plan.operation, compute, real_type));
    const auto factor = [&](const Strided& matrix, Index rows, Index columns,
                            cublasLtMatmulDescAttributes_t attribute) {
        const cublasOperation_t op = matrix.by_columns() ? CUBLAS_OP_T : CUBLAS_OP_N;
        check(cublasLtMatmulDescSetAttribute(plan.operation, attribute, &op, sizeof op));
        return matrix.by_columns() ? layout(columns, rows, batch) : layout(rows, columns, batch);
    };
    plan.a = factor(p.a, p.m, p.k, CUBLASLT_MATMUL_DESC_TRANSB);
    plan.b = factor(p.b, p.k, p.n, CUBLASLT_MATMUL_DESC_TRANSA);
    plan.c = layout(p.m, p.n, batch);

    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t most = Handle::workspace_bytes;
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &most, sizeof most));
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle().handle, plan.operation, plan.b, plan.a, plan.c,
                                         plan.c, preference, 1, &found, &count));
    check(cublasLtMatmulPreferenceDestroy(preference));
    if (count == 0) check(CUBLAS_STATUS_NOT_SUPPORTED);
    plan.algorithm = found.algo;
    plan.workspace = found.workspaceSize;
    return plan;
}

}  // namespace
// [device: product, run]
void multiply(const Product& p, Index batch) {
    if (p.k == 0) {  // the sums have no terms
        const auto bytes = static_cast<std::size_t>(batch * p.m * p.n) * sizeof(Real);
        if (!p.add) check(cudaMemsetAsync(p.c, 0, bytes), "a product with an empty inner axis");
        return;
    }
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    Handle& h = handle();
    const auto key =
        std::make_tuple(batch, p.m, p.n, p.k, p.a.by_columns(), p.b.by_columns(), tf32());
    auto plan = h.plans.find(key);
    if (plan == h.plans.end()) plan = h.plans.emplace(key, make_plan(p, batch)).first;
    const Plan& how = plan->second;
    const Real before = p.add ? Real(1) : Real(0);
    check(cublasLtMatmul(h.handle, how.operation, &p.scale, p.b.data, how.b, p.a.data, how.a,
                         &before, p.c, how.c, p.c, how.c, &how.algorithm, h.workspace,
                         how.workspace, nullptr));
}

}  // namespace abh::cuda
