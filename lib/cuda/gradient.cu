#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "lib/cuda/gradient.cuh"
#include "lib/cuda/list.cuh"

namespace abh::cuda {
// [column sums]
namespace {

/// The sums of some parts of the rows, which are still to be added up.
struct ColumnSums : Gradient::Waiting {
    Tensor of_parts;  ///< [parts, n]; the same memory as long as `parts` is the same
    bool any = false;

    bool empty() const override { return !any; }
    void clear() override { any = false; }
    void add_to(Tensor& sum, bool is_zero) const override {
        if (is_zero) sum = Tensor::zeros({of_parts.dim(1)});
        abh::add_column_sums(sum, of_parts);
    }
};

}  // namespace

void add_column_sums(Gradient& gradient, const Tensor& x) {
    const Index n = x.dim(-1), parts = parts_of_columns(rows(x.shape()), n);
    if (parts == 1) {
        const auto [sum, add] = gradient.target();
        Tensor whole = sum.reshape({1, n});
        return column_sums(whole, x, add);
    }
    std::unique_ptr<Gradient::Waiting>& waiting = gradient.waiting();
    if (!waiting) waiting = std::make_unique<ColumnSums>();
    auto& sums = dynamic_cast<ColumnSums&>(*waiting);
    if (sums.of_parts.dim(0) != parts) {
        if (sums.any) gradient.tensor();
        sums.of_parts = Tensor({parts, n});
    }
    column_sums(sums.of_parts, x, std::exchange(sums.any, true));
}
// [complete]
namespace {

/// What waits for one gradient.
struct Parts {
    Real* sum;
    const Real* of_parts;
    Index parts, n;
    bool add;

    bool operator==(const Parts&) const = default;
};

/// One thread per column adds up its parts, always in the same order.
__global__ void add_parts_kernel(Global<const Listed<Parts>> list, Index length) {
    const Chunk<Parts> chunk = chunk_of(list, length, blockIdx.x);
    const auto [to, from, parts, n, add] = chunk.tensors;
    const auto sum = in_device_memory(to);
    const auto of_parts = in_device_memory(from);
    for (Index j = chunk.begin + threadIdx.x; j < chunk.end; j += blockDim.x) {
        Real total = add ? Real(sum[j]) : Real(0);
        for (Index part = 0; part < parts; ++part) total += of_parts[part * n + j];
        sum[j] = total;
    }
}

}  // namespace

void complete(const Parameters& list) {
    List<Parts> waiting;
    for (const NamedParameter& p : list) {
        Gradient& gradient = p.parameter->gradient;
        auto* const sums = dynamic_cast<ColumnSums*>(gradient.state().waiting.get());
        if (!sums || sums->empty()) continue;
        sums->clear();
        const auto [sum, add] = gradient.target();
        const Tensor& of_parts = sums->of_parts;
        waiting.add(sum.size(), sum.on_device(), of_parts.on_device(), of_parts.dim(0), sum.size(),
                    add);
    }
    launch_list("add parts", add_parts_kernel, waiting);
}
// [norm]
namespace {

/// Adds up the squares of all elements in double precision. Block b takes the chunks b,
/// b + gridDim.x, ... and makes one part of the sum; the processor adds the parts.
__global__ void squares_kernel(Global<const Listed<const Real*>> list, Index length, Index chunks,
                               Global<double> parts) {
    double sum = 0;
    for (Index c = blockIdx.x; c < chunks; c += gridDim.x) {
        const Chunk<const Real*> chunk = chunk_of(list, length, c);
        const auto dw = in_device_memory(chunk.tensors);
        for_elements(chunk, [&]<int n>(Index i) {
            const Some<Real, n> g = some<n>(dw)[i];
            for (const double v : g.v) sum += v * v;
        });
    }
    sum = block_sum_of_doubles(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void scale_list_kernel(Global<const Listed<Real*>> list, Index length, Real factor) {
    const Chunk<Real*> chunk = chunk_of(list, length, blockIdx.x);
    const auto dw = in_device_memory(chunk.tensors);
    for_elements(chunk, [&]<int n>(Index i) {
        Some<Real, n> g = some<n>(dw)[i];
        for (Real& v : g.v) v *= factor;
        some<n>(dw)[i] = g;
    });
}

}  // namespace

double grad_norm(const Parameters& parameters) {
    constexpr Index most_parts = 1024;
    complete(parameters);
    List<const Real*> list;
    for (const NamedParameter& p : parameters)
        list.add(p.parameter->value.size(), std::as_const(p.parameter->grad()).on_device());
    if (list.chunks() == 0) return 0;
    BasicTensor<double> parts({std::min(list.chunks(), most_parts)});
    launch("squares", squares_kernel, blocks_of(parts.size()), list.on_device(), list.length(),
           list.chunks(), parts.on_device());
    double sum = 0;
    for (const double part : std::as_const(parts).values()) sum += part;
    return std::sqrt(sum);
}

void scale_grad(const Parameters& parameters, Real factor) {
    complete(parameters);
    List<Real*> list;
    for (const NamedParameter& p : parameters)
        list.add(p.parameter->value.size(), p.parameter->grad().on_device());
    launch_list("scale list", scale_list_kernel, list, factor);
}

}  // namespace abh::cuda
