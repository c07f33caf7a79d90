#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "lib/cuda/exp.cuh"

namespace abh::cuda {
// [softmax]
namespace {

/// Up to `some` rows of a warp. Lane l takes elements l, l + 32, ... of each. Within these rows, 32
/// bits are enough, which saves registers.
template <int some>
struct OwnRows {
    int n, rows, left;  ///< left: of a row, from this lane's first element on
    Index begin;

    __device__ OwnRows(Index n_rows, int width) : n(width), left(width - lane()) {
        const Index first = first_element() / warp * some;
        rows = n_rows - first < some ? static_cast<int>(n_rows - first) : some;
        begin = first * n + lane();
    }
    __device__ bool has(int e) const { return e * warp < left; }
    __device__ bool has(int r, int e) const { return r < rows && has(e); }
    __device__ Index at(int r, int e) const { return begin + (r * n + e * warp); }
};

/// A row stays in registers from its only read to its only write. These bytes are the limit. A
/// single short row would leave the memory idle, so the loads of all `some` rows are issued before
/// the first row is used.
template <int per_lane, int some>
__global__ void softmax_kernel(Index n_rows, int n, Global<Real> y, Global<const Real> x) {
    const OwnRows<some> own(n_rows, n);
    Real v[some][per_lane];
    for (int r = 0; r < some; ++r)
        for (int e = 0; e < per_lane; ++e)
            v[r][e] = own.has(r, e) ? Real(x[own.at(r, e)]) : -infinity<Real>();
    for (int r = 0; r < some; ++r) {
        Real largest = -infinity<Real>(), sum = 0;
        for (int e = 0; e < per_lane; ++e) largest = v[r][e] > largest ? v[r][e] : largest;
        largest = warp_max(largest);
        for (int e = 0; e < per_lane; ++e) {
            v[r][e] = own.has(e) ? exp_or_zero(v[r][e] - largest) : Real(0);
            sum += v[r][e];
        }
        const Real inverse = 1 / warp_sum(sum);  // the sum is >= 1
        for (int e = 0; e < per_lane; ++e)
            if (own.has(r, e)) y[own.at(r, e)] = v[r][e] * inverse;
    }
}
// [softmax: long rows]
/// A block takes a row that is too long for a warp's registers, and reads it twice. The first time,
/// each thread keeps the largest score that it has met and the sum of exp(score - largest), which
/// is scaled down when the largest grows.
__global__ void long_softmax_kernel(Index n, Global<Real> y, Global<const Real> x) {
    const Index row = static_cast<Index>(blockIdx.x) * n;
    Real own_largest = lowest, own_sum = 0;
    for_row(n, [&](const SomeOfRow& some) {
        Real scores[SomeOfRow::count];
        some.read(scores, x + row, -infinity<Real>());
        const Real before = own_largest;
        for (const Real score : scores) own_largest = score > own_largest ? score : own_largest;
        own_sum *= exp_or_zero(before - own_largest);
        for (const Real score : scores) own_sum += exp_or_zero(score - own_largest);
    });
    const Real largest = block_max(own_largest);
    const Real inverse = 1 / block_sum(own_sum * exp_or_zero(own_largest - largest));
    for_row(n, [&, w = y + row](const SomeOfRow& some) {
        Real scores[SomeOfRow::count];
        some.read(scores, x + row, lowest);
        for (int e = 0; e < some.count; ++e)
            if (some.has(e)) w[some.at(e)] = exp_or_zero(scores[e] - largest) * inverse;
    });
}
// [softmax: launch]
constexpr Index longest = 1024;  // elements of a row that a warp keeps: 32 per lane

/// Calls `f` with two types that hold the number of elements per lane and of rows per warp, for
/// rows of `n <= longest` elements.
template <class F>
void for_row_length(Index n, const F& f) {
    using std::integral_constant;
    const auto with = [&]<int per_lane, int some>() {
        f(integral_constant<int, per_lane>(), integral_constant<int, some>());
    };
    if (n <= 32)
        with.template operator()<1, 4>();
    else if (n <= 64)
        with.template operator()<2, 4>();
    else if (n <= 128)
        with.template operator()<4, 2>();
    else if (n <= 256)
        with.template operator()<8, 1>();
    else if (n <= 512)
        with.template operator()<16, 1>();
    else
        with.template operator()<32, 1>();
}

/// Blocks for `n_rows` rows, `some` per warp.
Grid warps_for(Index n_rows, int some) {
    return blocks_of(ceil_div(n_rows, block_size / warp * some));
}

}  // namespace

Tensor softmax(const Tensor& x) {
    const Index n = x.dim(-1), n_rows = x.size() / n;
    Tensor y(x.shape());
    if (n > longest) {
        launch("softmax", long_softmax_kernel, blocks_of(n_rows), n, y.on_device(), x.on_device());
        return y;
    }
    for_row_length(n, [&](auto per_lane, auto some) {
        launch("softmax", softmax_kernel<per_lane(), some()>, warps_for(n_rows, some()), n_rows,
               static_cast<int>(n), y.on_device(), x.on_device());
    });
    return y;
}
// [softmax: backward]
// dx = y * (dy - <dy, y>), row by row
namespace {

/// Works like `softmax_kernel`. The limit is two reads and one write per element.
template <int per_lane, int some>
__global__ void softmax_backward_kernel(Index n_rows, int n, Global<Real> dx, Global<const Real> dy,
                                        Global<const Real> y) {
    const OwnRows<some> own(n_rows, n);
    Real w[some][per_lane], dw[some][per_lane];
    for (int r = 0; r < some; ++r)
        for (int e = 0; e < per_lane; ++e) {
            w[r][e] = own.has(r, e) ? Real(y[own.at(r, e)]) : Real(0);
            dw[r][e] = own.has(r, e) ? Real(dy[own.at(r, e)]) : Real(0);
        }
    for (int r = 0; r < some; ++r) {
        Real sum = 0;
        for (int e = 0; e < per_lane; ++e) sum += dw[r][e] * w[r][e];
        sum = warp_sum(sum);
        for (int e = 0; e < per_lane; ++e)
            if (own.has(r, e)) dx[own.at(r, e)] = w[r][e] * (dw[r][e] - sum);
    }
}

/// One block per row, which it reads twice.
__global__ void long_softmax_backward_kernel(Index n, Global<Real> dx, Global<const Real> dy,
                                             Global<const Real> y) {
    const Index row = static_cast<Index>(blockIdx.x) * n;
    Real sum = 0;
    for_row(n, [&](const SomeOfRow& some) {
        Real w[SomeOfRow::count], dw[SomeOfRow::count];
        some.read(w, y + row, 0);
        some.read(dw, dy + row, 0);
        for (int e = 0; e < some.count; ++e) sum += dw[e] * w[e];
    });
    sum = block_sum(sum);
    for_row(n, [&, to = dx + row](const SomeOfRow& some) {
        Real w[SomeOfRow::count], dw[SomeOfRow::count];
        some.read(w, y + row, 0);
        some.read(dw, dy + row, 0);
        for (int e = 0; e < some.count; ++e)
            if (some.has(e)) to[some.at(e)] = w[e] * (dw[e] - sum);
    });
}

}  // namespace

Tensor softmax_backward(const Tensor& dy, const Tensor& y) {
    Tensor dx(y.shape());
    if (y.empty()) return dx;
    const Index n = y.dim(-1), n_rows = y.size() / n;
    if (n > longest) {
        launch("softmax backward", long_softmax_backward_kernel, blocks_of(n_rows), n,
               dx.on_device(), dy.on_device(), y.on_device());
        return dx;
    }
    for_row_length(n, [&](auto per_lane, auto some) {
        launch("softmax backward", softmax_backward_kernel<per_lane(), some()>,
               warps_for(n_rows, some()), n_rows, static_cast<int>(n), dx.on_device(),
               dy.on_device(), y.on_device());
    });
    return dx;
}

}  // namespace abh::cuda
