#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/cuda/device.cuh"
#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"

namespace abh::cuda {
// [device]
class Gpu final : public Device {
public:
    void open() override;
    std::string name() override;
    bool emulated() const override { return false; }
    bool has_bf16() override;
    void* take(std::size_t bytes) override;
    void give(void* block) noexcept override;
    void copy_bytes(void* to, const void* from, std::size_t bytes) override;
    void send(void* to, const void* from, std::size_t bytes) override;
    void synchronize() override;
    bool multiply(const Product& p, Index batch, const Epilogue& e,
                  const Factors16& factors) override;
    double milliseconds(const std::function<void()>& work) override;
};

Device& device() {
    static Device* const one = new Gpu;  // never deleted, as tensors may end later
    return *one;
}
// [device: memory]
void Gpu::open() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);  // without a driver: an error, not 0
    if (status != cudaSuccess || count < 1)
        throw std::runtime_error(
            fmt::format("no CUDA device: {}", status == cudaSuccess ? "the driver found none"
                                                                    : cudaGetErrorString(status)));
}

static cudaDeviceProp properties() {
    cudaDeviceProp found;
    int device = 0;
    check(cudaGetDevice(&device), "current device");
    check(cudaGetDeviceProperties(&found, device), "device properties");
    return found;
}

std::string Gpu::name() {
    return properties().name;
}

bool Gpu::has_bf16() {
    return properties().major >= 8;
}

void* Gpu::take(std::size_t bytes) {
    void* block = nullptr;
    const cudaError_t status = cudaMalloc(&block, bytes);
    if (status == cudaErrorMemoryAllocation) {
        cudaGetLastError();  // clears the error, as `check` does
        throw OutOfMemory(fmt::format("cuda: out of memory: {} bytes were requested", bytes));
    }
    check(status, "memory allocation");
    return block;
}

void Gpu::give(void* block) noexcept {
    cudaFree(block);
}
// [device: copies]
void Gpu::copy_bytes(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copy to, from or on the device");
}

namespace {

/// Pinned memory, which the device reads by itself while the processor goes on. Its pieces are
/// used in turn, each again as soon as its copy is done. One thread at a time sends: see `Storage`.
struct Staging {
    static constexpr std::size_t pieces = 4, piece_bytes = 256 << 10;

    void* memory = nullptr;
    std::array<cudaEvent_t, pieces> copied;
    std::size_t sent = 0;

    Staging() {
        check(cudaMallocHost(&memory, pieces * piece_bytes), "pinned memory");
        for (cudaEvent_t& event : copied)
            check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    }
};

}  // namespace

void Gpu::send(void* to, const void* from, std::size_t bytes) {
    if (bytes > Staging::piece_bytes) return copy_bytes(to, from, bytes);
    static Staging* const staging = new Staging;  // never deleted, as the driver may end first
    const std::size_t i = staging->sent++ % Staging::pieces;
    void* const piece = static_cast<std::byte*>(staging->memory) + i * Staging::piece_bytes;
    check(cudaEventSynchronize(staging->copied[i]), "copy to the device");
    std::memcpy(piece, from, bytes);
    check(cudaMemcpyAsync(to, piece, bytes, cudaMemcpyHostToDevice), "copy to the device");
    check(cudaEventRecord(staging->copied[i]), "copy to the device");
}

void Gpu::synchronize() {
    check(cudaDeviceSynchronize(), "synchronization");
}
// [device: product]
namespace {

void check(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    cuda::check(cudaDeviceSynchronize(), "product");  // the error may be an earlier kernel's
    throw std::runtime_error(fmt::format("cuda: product: {}", cublasLtGetStatusString(status)));
}

/// Destroys an object of the library by the function that is there for its type.
template <auto destroy>
struct Destroy {
    template <class T>
    void operator()(T* object) const {
        destroy(object);
    }
};
template <class T, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Destroy<destroy>>;

using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class Own, class... P, class... A>
Own make(cublasStatus_t (*create)(typename Own::pointer*, P...), A... arguments) {
    typename Own::pointer made = nullptr;
    check(create(&made, arguments...));
    return Own(made);
}

constexpr cudaDataType_t real_type = sizeof(Real) == 8 ? CUDA_R_64F : CUDA_R_32F;
constexpr std::size_t workspace_bytes = 32 << 20;
// [device: product, plan]
/// The largest power of two, at most 256, that divides an address.
std::uint32_t alignment(const void* address) {
    const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
    return static_cast<std::uint32_t>(bits & -bits);
}

/// What decides how products are computed.
struct Kind {
    Index batch, m, n, k;
    bool a_by_columns, b_by_columns, to_tf32, in_bf16;
    cublasLtEpilogue_t epilogue;
    std::uint32_t align_a, align_b, align_c, align_vector;  ///< bytes

    auto operator<=>(const Kind&) const = default;
};

/// Where the library reads a factor.
const void* first_of(const Strided& factor, const Half* halves) {
    return halves ? static_cast<const void*>(halves) : factor.data;
}

/// The vector that an epilogue reads or writes.
const Real* vector_of(const Epilogue& e) {
    return e.sums_of_a ? e.sums_of_a : e.bias;
}

/// The library's name for an epilogue.
cublasLtEpilogue_t epilogue_of(const Epilogue& e) {
    if (e.sums_of_a) return CUBLASLT_EPILOGUE_BGRADB;  // its B is our a: see `layout`
    if (e.relu) return e.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    return e.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

Kind kind_of(const Product& p, Index batch, const Epilogue& e, const Factors16& factors) {
    return {batch,
            p.m,
            p.n,
            p.k,
            p.a.by_columns(),
            p.b.by_columns(),
            tf32() && !factors.a,
            factors.a != nullptr,
            epilogue_of(e),
            alignment(first_of(p.a, factors.a)),
            alignment(first_of(p.b, factors.b)),
            alignment(p.c),
            alignment(vector_of(e))};
}

/// How the library computes products of a kind.
struct Plan {
    Operation operation;
    Layout a, b, c;
    bool possible = true;  ///< whether the library has an algorithm that does what ours do
    cublasLtMatmulAlgo_t algorithm;
    std::size_t workspace = 0;
    std::int64_t last_use = 0;
};

/// cuBLAS stores matrices column by column. So our row-major c = op(a) op(b) is, in its terms,
/// c^T = op(b)^T op(a)^T, where the same memory is read as b^T, a^T and c^T.
Layout layout(cudaDataType_t type, Index rows, Index columns, Index batch) {
    Layout result =
        make<Layout>(cublasLtMatrixLayoutCreate, type, static_cast<std::uint64_t>(columns),
                     static_cast<std::uint64_t>(rows), columns);
    const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
        check(cublasLtMatrixLayoutSetAttribute(result.get(), attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{rows * columns});
    return result;
}

void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, auto value) {
    check(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value));
}

/// @param vector  any of this kind's alignment, as the library considers that alone
Plan make_plan(cublasLtHandle_t library, const Kind& of, const Real* vector) {
    Plan plan;
    const cublasComputeType_t compute = sizeof(Real) == 8 ? CUBLAS_COMPUTE_64F
                                        : of.to_tf32      ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                          : CUBLAS_COMPUTE_32F;
    plan.operation = make<Operation>(cublasLtMatmulDescCreate, compute, real_type);
    const auto factor = [&](bool by_columns, Index rows, Index columns,
                            cublasLtMatmulDescAttributes_t attribute) {
        set(plan.operation, attribute, by_columns ? CUBLAS_OP_T : CUBLAS_OP_N);
        const cudaDataType_t type = of.in_bf16 ? CUDA_R_16BF : real_type;
        return by_columns ? layout(type, columns, rows, of.batch)
                          : layout(type, rows, columns, of.batch);
    };
    plan.a = factor(of.a_by_columns, of.m, of.k, CUBLASLT_MATMUL_DESC_TRANSB);
    plan.b = factor(of.b_by_columns, of.k, of.n, CUBLASLT_MATMUL_DESC_TRANSA);
    plan.c = layout(real_type, of.m, of.n, of.batch);
    set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(of.epilogue));
    if (vector) set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);

    const Preference preference = make<Preference>(cublasLtMatmulPreferenceCreate);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value,
                                                   sizeof value));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, of.align_b);  // its first factor is b^T
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, of.align_a);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of.align_c);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of.align_c);
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        library, plan.operation.get(), plan.b.get(), plan.a.get(), plan.c.get(), plan.c.get(),
        preference.get(), 1, &found, &count);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : found.state;
    if (status != CUBLAS_STATUS_SUCCESS && of.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
        plan.possible = false;  // some sizes, types and versions have no algorithm for an epilogue
        return plan;
    }
    check(status);
    plan.algorithm = found.algo;
    plan.workspace = found.workspaceSize;
    return plan;
}
// [device: product, plans]
/// Computes products as planned.
cublasStatus_t run(cublasLtHandle_t library, const Plan& how, const Product& p,
                   const Factors16& factors, void* workspace) {
    const Real before = p.add ? Real(1) : Real(0);
    return cublasLtMatmul(library, how.operation.get(), &p.scale, first_of(p.b, factors.b),
                          how.b.get(), first_of(p.a, factors.a), how.a.get(), &before, p.c,
                          how.c.get(), p.c, how.c.get(), &how.algorithm, workspace, how.workspace,
                          nullptr);
}

/// The library, and its plans for the latest products.
struct Handle {
    /// A training step needs 9 plans for the length of its sources and 12 for that of its targets.
    /// So the plans of the last 24 steps are kept, if no two of them have a length in common.
    static constexpr std::size_t most_plans = 512;

    Library library = make<Library>(cublasLtCreate);
    void* workspace = device().take(workspace_bytes);
    std::map<Kind, Plan> plans;
    std::int64_t uses = 0;
    std::optional<bool> keeps_nan[2];  ///< see `relu_keeps_nan`

    Plan& plan(const Kind& kind, const Real* vector) {
        auto found = plans.find(kind);
        if (found == plans.end()) {
            Plan made = make_plan(library.get(), kind, vector);
            if (plans.size() == most_plans)
                plans.erase(std::ranges::min_element(
                    plans, {}, [](const auto& entry) { return entry.second.last_use; }));
            found = plans.emplace(kind, std::move(made)).first;
        }
        found->second.last_use = ++uses;
        return found->second;
    }

    /// Whether the library's ReLU keeps NaN, as ours does, which its documentation leaves open: the
    /// device is asked once for each type of factors, for the product of matrices of NaN and of
    /// numbers near 1, either half of which is such a number in bf16, too.
    bool relu_keeps_nan(bool in_bf16) {
        std::optional<bool>& keeps = keeps_nan[in_bf16];
        if (keeps) return *keeps;
        constexpr Index side = 8, size = side * side;
        std::array<Real, 3 * size> numbers{};  // a, b and c
        std::fill_n(numbers.begin(), size, std::bit_cast<float>(0x7fc07fc0u));
        std::fill_n(numbers.begin() + size, size, std::bit_cast<float>(0x3f803f80u));
        auto* const x = static_cast<Real*>(device().take(sizeof numbers));
        device().copy_bytes(x, numbers.data(), sizeof numbers);
        const Strided a = Strided::of(x, side), b = Strided::of(x + size, side);
        const Product p{x + 2 * size, side, a, b, side, side, side};
        Factors16 factors;
        if (in_bf16) factors = {reinterpret_cast<Half*>(x), reinterpret_cast<Half*>(x + size)};
        const Plan how = make_plan(library.get(), kind_of(p, 1, {.relu = true}, factors), nullptr);
        Real result = 0;
        if (how.possible && run(library.get(), how, p, factors, workspace) == CUBLAS_STATUS_SUCCESS)
            device().copy_bytes(&result, p.c, sizeof result);
        device().give(x);
        return *(keeps = std::isnan(result));
    }
};

Handle& handle() {
    static Handle* const one = new Handle;  // never deleted, as the driver may end first
    return *one;
}

}  // namespace
// [device: product, run]
bool Gpu::multiply(const Product& p, Index batch, const Epilogue& e, const Factors16& factors) {
    if (p.k == 0) {  // the sums have no terms
        const auto clear = [](Real* numbers, Index n) {
            check(cudaMemsetAsync(numbers, 0, static_cast<std::size_t>(n) * sizeof(Real)),
                  "a product with an empty inner axis");
        };
        if (!p.add) clear(p.c, batch * p.m * p.n);
        if (e.sums_of_a) clear(e.sums_of_a, p.m);
        return true;
    }
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    try {
        Handle& h = handle();
        const Real* const vector = vector_of(e);
        if (e.relu && !h.relu_keeps_nan(factors.a != nullptr)) return false;
        Plan& how = h.plan(kind_of(p, batch, e, factors), vector);
        if (!how.possible) return false;
        if (vector) set(how.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
        const cublasStatus_t status = run(h.library.get(), how, p, factors, h.workspace);
        if (status == CUBLAS_STATUS_NOT_SUPPORTED && (vector || e.relu))
            return how.possible = false;
        check(status);
        return true;
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(
            fmt::format("{} (m {}, n {}, k {}, batch {})", error.what(), p.m, p.n, p.k, batch));
    }
}
// [device: time]
double Gpu::milliseconds(const std::function<void()>& work) {
    constexpr int calls = 5;
    work();  // warm: the library has made its plan
    cudaEvent_t begin, end;
    for (cudaEvent_t* const event : {&begin, &end}) check(cudaEventCreate(event), "event");
    check(cudaEventRecord(begin), "event");
    for (int i = 0; i < calls; ++i) work();
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), "event");
    float time = 0;
    check(cudaEventElapsedTime(&time, begin, end), "event");
    for (const cudaEvent_t event : {begin, end}) check(cudaEventDestroy(event), "event");
    return time / calls;
}

}  // namespace abh::cuda
