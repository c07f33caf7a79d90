#pragma once

// Stands in for cuBLASLt as cuda_runtime.h, beside it, does for CUDA. Like cuBLASLt, it reads
// matrices by columns and does what the descriptors say. Stricter, it refuses sizes that do not
// fit, memory that is not the device's, and addresses that are less aligned than was promised when
// the algorithm was chosen.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace {

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cudaDataType_t { CUDA_R_32F, CUDA_R_64F, CUDA_R_16BF };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasLtMatrixLayoutAttribute_t {
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};
enum cublasLtMatmulDescAttributes_t {
    CUBLASLT_MATMUL_DESC_TRANSA,
    CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_EPILOGUE,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER
};
enum cublasLtEpilogue_t {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6,
    CUBLASLT_EPILOGUE_BGRADB = 512
};
enum cublasLtMatmulPreferenceAttributes_t {
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
};

namespace stand_in {
using Alignments = std::array<std::uint32_t, 4>;  ///< of A, B, C and D, in bytes

std::vector<Alignments> asked;  ///< for each algorithm that was asked for, what was promised
cublasStatus_t state = CUBLAS_STATUS_SUCCESS;  ///< of the algorithms that are found
bool relu_hides_nan = false;                   ///< as a maximum of 0 and NaN does

template <class T, class... A>
cublasStatus_t create(T** made, A... arguments) {
    *made = new T{arguments...};
    return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t destroy(T* object) {
    delete object;
    return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t set(T& to, const void* value, std::size_t bytes) {
    if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
}  // namespace stand_in

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    std::array<cublasOperation_t, 2> op{CUBLAS_OP_N, CUBLAS_OP_N};  ///< of A and B
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    float* vector = nullptr;  ///< the bias, or its gradient
};
struct cublasLtMatrixLayoutOpaque_t {
    cudaDataType_t type;
    std::uint64_t rows, columns;
    std::int64_t width;  ///< from one column to the next
    std::int32_t batch = 1;
    std::int64_t stride = 0;  ///< from one matrix to the next
};
struct cublasLtMatmulPreferenceOpaque_t {
    stand_in::Alignments alignments{256, 256, 256, 256};
    std::uint64_t workspace = 0;
};
using cublasLtHandle_t = cublasLtContext*;
using cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t*;
struct cublasLtMatmulAlgo_t {
    stand_in::Alignments alignments;
    std::uintptr_t vector_alignment;
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    std::size_t workspaceSize;
    cublasStatus_t state;
};

const char* cublasLtGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED  ? "the functionality requested is not supported"
           : status == CUBLAS_STATUS_ALLOC_FAILED ? "the resource allocation failed"
                                                  : "an unsupported value or parameter was passed";
}
constexpr auto cublasLtCreate = stand_in::create<cublasLtContext>;
constexpr auto cublasLtDestroy = stand_in::destroy<cublasLtContext>;
constexpr auto cublasLtMatmulDescCreate =
    stand_in::create<cublasLtMatmulDescOpaque_t, cublasComputeType_t, cudaDataType_t>;
constexpr auto cublasLtMatmulDescDestroy = stand_in::destroy<cublasLtMatmulDescOpaque_t>;
constexpr auto cublasLtMatrixLayoutCreate =
    stand_in::create<cublasLtMatrixLayoutOpaque_t, cudaDataType_t, std::uint64_t, std::uint64_t,
                     std::int64_t>;
constexpr auto cublasLtMatrixLayoutDestroy = stand_in::destroy<cublasLtMatrixLayoutOpaque_t>;
constexpr auto cublasLtMatmulPreferenceCreate = stand_in::create<cublasLtMatmulPreferenceOpaque_t>;
constexpr auto cublasLtMatmulPreferenceDestroy =
    stand_in::destroy<cublasLtMatmulPreferenceOpaque_t>;
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
    if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE)
        return stand_in::set(operation->epilogue, value, bytes);
    if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
        return stand_in::set(operation->vector, value, bytes);
    return stand_in::set(operation->op[attribute], value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
    return attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
               ? stand_in::set(layout->batch, value, bytes)
               : stand_in::set(layout->stride, value, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
    return attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
               ? stand_in::set(preference->workspace, value, bytes)
               : stand_in::set(preference->alignments[attribute], value, bytes);
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
    stand_in::asked.push_back(preference->alignments);
    const auto vector = reinterpret_cast<std::uintptr_t>(operation->vector);
    *found = {{preference->alignments, vector ? vector & -vector : 256},
              preference->workspace,
              stand_in::state};
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}
/// D = alpha op(A) op(B) + beta C, in floats, and what the epilogue adds to it.
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t) {
    if (stand_in::after_kernels() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (operation->compute == CUBLAS_COMPUTE_64F || operation->scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;

    struct Matrix {
        const void* data;
        cublasLtMatrixLayout_t layout;
        bool transposed = false;

        std::uint64_t rows() const { return transposed ? layout->columns : layout->rows; }
        std::uint64_t columns() const { return transposed ? layout->rows : layout->columns; }
        std::int64_t place(std::int32_t matrix, std::int64_t i, std::int64_t j) const {
            return matrix * layout->stride +
                   (transposed ? j + i * layout->width : i + j * layout->width);
        }
        bool halves() const { return layout->type == CUDA_R_16BF; }
        float at(std::int32_t matrix, std::int64_t i, std::int64_t j) const {
            const std::int64_t p = place(matrix, i, j);
            if (!halves()) return static_cast<const float*>(data)[p];
            return std::bit_cast<float>(
                static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(data)[p]) << 16);
        }
        bool is_there() const {
            const auto last = place(layout->batch - 1, static_cast<std::int64_t>(rows()) - 1,
                                    static_cast<std::int64_t>(columns()) - 1);
            return stand_in::on_device(data,
                                       static_cast<std::size_t>(last + 1) * (halves() ? 2 : 4));
        }
    };
    const Matrix A{a, of_a, operation->op[0] == CUBLAS_OP_T},
        B{b, of_b, operation->op[1] == CUBLAS_OP_T}, C{c, of_c}, D{d, of_d};
    const Matrix* const all[] = {&A, &B, &C, &D};
    for (std::size_t i = 0; i < 4; ++i) {
        const cublasLtMatrixLayout_t layout = all[i]->layout;
        if ((layout->type != CUDA_R_32F && (i >= 2 || !all[i]->halves())) ||
            of_a->type != of_b->type || layout->batch != of_d->batch || !all[i]->is_there() ||
            reinterpret_cast<std::uintptr_t>(all[i]->data) % algorithm->alignments[i] != 0)
            return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (A.rows() != D.rows() || B.columns() != D.columns() || A.columns() != B.rows() ||
        C.rows() != D.rows() || C.columns() != D.columns() ||
        !stand_in::on_device(workspace, workspace_bytes))
        return CUBLAS_STATUS_INVALID_VALUE;

    const bool adds_bias = operation->epilogue & CUBLASLT_EPILOGUE_BIAS,
               cuts = operation->epilogue & CUBLASLT_EPILOGUE_RELU,
               sums_b = operation->epilogue == CUBLASLT_EPILOGUE_BGRADB;
    float* const vector = operation->vector;
    if ((adds_bias || sums_b) &&
        (!stand_in::on_device(vector, (sums_b ? D.columns() : D.rows()) * sizeof(float)) ||
         reinterpret_cast<std::uintptr_t>(vector) %
                 std::min<std::uintptr_t>(algorithm->vector_alignment, 256) !=
             0))
        return CUBLAS_STATUS_INVALID_VALUE;

    const float scale = *static_cast<const float*>(alpha),
                before = *static_cast<const float*>(beta);
    const auto m = static_cast<std::int64_t>(D.rows()), n = static_cast<std::int64_t>(D.columns()),
               k = static_cast<std::int64_t>(A.columns());
    for (std::int32_t matrix = 0; matrix < of_d->batch; ++matrix)
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                float sum = 0;
                for (std::int64_t l = 0; l < k; ++l) sum += A.at(matrix, i, l) * B.at(matrix, l, j);
                const float old = before == 0 ? 0 : before * C.at(matrix, i, j);
                const float result = scale * sum + old + (adds_bias ? vector[i] : 0);
                static_cast<float*>(d)[D.place(matrix, i, j)] =
                    cuts && (stand_in::relu_hides_nan ? !(result > 0) : result < 0) ? 0 : result;
            }
    for (std::int64_t j = 0; sums_b && j < n; ++j) {
        vector[j] = 0;
        for (std::int64_t l = 0; l < k; ++l) vector[j] += B.at(0, l, j);
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
