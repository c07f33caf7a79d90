#include "lib/fast/gradient.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/matmul.hpp"

namespace abh {
// [some rows]
namespace {

using fast::Update;

/// The two factors of a gradient `dy^T x`.
struct Factors {
    Tensor dy;  ///< [rows, d_out]
    Tensor x;   ///< [rows, d_in]
};

/// Gives `H` rows of the gradient, from `row` on, to `update`, in strips of columns. While a strip
/// is being computed, the numbers that `update` touches there are prefetched.
template <int H>
void update_rows(std::span<const Factors> products, const Update& update, Index row) {
    constexpr Index width = 256;
    std::array<Real, H * width> strip;  // [H, width]
    const Index d_in = products.front().x.dim(1), d_out = products.front().dy.dim(1);
    for (Index first = 0; first < d_in; first += width) {
        const Index end = std::min(d_in, first + width);
        Index j = first;
        for (; j + lanes <= end; j += lanes) {
            for (const Tensor& t : update.touched)
                for (int h = 0; h < H; ++h) __builtin_prefetch(t.data() + (row + h) * d_in + j, 1);
            Lanes sum[H];
            for (Lanes& s : sum) s.setZero();
            for (const Factors& f : products) {
                const Real *dy = f.dy.data() + row, *x = f.x.data() + j;
                for (Index r = 0; r < f.x.dim(0); ++r, dy += d_out, x += d_in) {
                    const Lanes numbers = ConstLanesMap(x);
#pragma GCC unroll 8
                    for (int h = 0; h < H; ++h) sum[h] += dy[h] * numbers;
                }
            }
            for (int h = 0; h < H; ++h) LanesMap(strip.data() + h * width + j - first) = sum[h];
        }
        for (; j < end; ++j)
            for (int h = 0; h < H; ++h) {
                Real sum = 0;
                for (const Factors& f : products)
                    for (Index r = 0; r < f.x.dim(0); ++r) sum += f.dy(r, row + h) * f.x(r, j);
                strip[static_cast<std::size_t>(h * width + j - first)] = sum;
            }
        for (int h = 0; h < H; ++h)
            update.step((row + h) * d_in + first,
                        std::span(strip).subspan(static_cast<std::size_t>(h * width),
                                                 static_cast<std::size_t>(end - first)));
    }
}
// [by products]
/// Gives the sum of these products, the gradient, to `update`, part by part.
void update_by_products(std::span<const Factors> products, const Update& update) {
    const Index d_out = products.front().dy.dim(1);
    parallel_ranges(d_out, 64, [&](Index row, Index end) {
        constexpr int height = 8;
        for (; row + height <= end; row += height) update_rows<height>(products, update, row);
        for (; row < end; ++row) update_rows<1>(products, update, row);
    });
}
// [gradient]
/// The factors of the products that are still waiting.
struct Products : Gradient::Waiting {
    std::vector<Factors> factors;

    bool empty() const override { return factors.empty(); }
    void clear() override { factors.clear(); }
    void add_to(Tensor& sum, bool is_zero) const override {
        for (const Factors& f : factors) {
            if (is_zero)
                sum = matmul(f.dy, f.x, {.transpose_a = true});  // [d_out, d_in]
            else
                add_matmul(sum, f.dy, f.x, {.transpose_a = true});
            is_zero = false;
        }
    }
};

}  // namespace

void fast::add_product(Gradient& gradient, const Tensor& dy, const Tensor& x) {
    require(dy.rank() == 2 && x.rank() == 2 && dy.dim(0) == x.dim(0) &&
                gradient.shape() == Shape{dy.dim(1), x.dim(1)},
            "gradient: {}^T {} does not fit a value of shape {}", dy.shape(), x.shape(),
            gradient.shape());
    std::unique_ptr<Gradient::Waiting>& waiting = gradient.waiting();
    if (!waiting) waiting = std::make_unique<Products>();
    std::vector<Factors>& factors = static_cast<Products&>(*waiting).factors;
    factors.push_back({dy, x});
    Index rows = 0;
    for (const Factors& f : factors) rows += f.x.dim(0);
    if (!worth_keeping(rows, dy.dim(1), x.dim(1))) gradient.tensor();
}

void fast::update(Gradient& gradient, const Update& update) {
    const auto* products = dynamic_cast<Products*>(gradient.state().waiting.get());
    if (gradient.state().is_zero && products && !products->empty())
        return update_by_products(products->factors, update);
    constexpr Index size = 1 << 15;  // so that a part and what it updates fit into a core's cache
    const Tensor& g = gradient.tensor();
    parallel_ranges(g.size(), size, [&](Index begin, Index end) {
        update.step(begin, g.values().subspan(static_cast<std::size_t>(begin),
                                              static_cast<std::size_t>(end - begin)));
    });
}

}  // namespace abh
