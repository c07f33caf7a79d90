#include "chapters/12_where_the_time_goes/traps.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "lib/eigen.hpp"
#include "lib/fast/exp.hpp"
#include "lib/fast/matmul.hpp"
#include "lib/random.hpp"

namespace abh {
namespace {
// [numbers]
using Sides = Trap::Sides;

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) {
    return normal(shape, Random(seed).stream());
}
// [memory]
/// 64 MiB written: where the system has yet to give the pages, or where we have been before.
Sides page_ways() {
    constexpr std::size_t n = (std::size_t{1} << 26) / sizeof(Real);
    const auto kept = std::make_shared<std::vector<Real>>(n);
    const auto fresh = [] {
        const auto buffer = std::make_unique_for_overwrite<Real[]>(n);
        std::fill_n(buffer.get(), n, Real(1));
        return Tensor({1}, {buffer[n - 1]});
    };
    const auto again = [=] {
        std::fill(kept->begin(), kept->end(), Real(1));
        return Tensor({1}, {kept->back()});
    };
    return {fresh, again};
}
// [loops]
constexpr Index some = 1 << 15;

/// A mask of bytes. A byte may alias anything, also the pointers that the tensors hold: they are
/// fetched anew for each element, unless they stand in local variables.
Sides mask_ways() {
    const Tensor x = numbers({some});
    const auto mask = [] { return std::make_shared<Mask>(Shape{some}); };  // one for each side
    const auto samples = [](const Mask& kept) {
        Tensor y({some / 512});
        for (Index i = 0; i < y.size(); ++i) y(i) = static_cast<Real>(kept(512 * i));
        return y;
    };
    const auto through_tensors = [=, kept = mask()] {
        for (Index i = 0; i < some; ++i) kept->data()[i] = x.data()[i] >= 0;
        return samples(*kept);
    };
    const auto through_pointers = [=, kept = mask()] {
        const Real* const from = x.data();
        std::uint8_t* const to = kept->data();
        for (Index i = 0; i < some; ++i) to[i] = from[i] >= 0;
        return samples(*kept);
    };
    return {through_tensors, through_pointers};
}

/// A sum in the order of the numbers, each waiting for the one before, or Eigen's in lanes.
Sides sum_ways() {
    const Tensor x = uniform({some}, 0, 1, Random(1).stream());
    const auto in_order = [=] {
        Real sum = 0;
        for (const Real value : x.values()) sum += value;
        return Tensor({1}, {sum});
    };
    return {in_order, [=] { return Tensor({1}, {vector(x).sum()}); }};
}

/// Exponentials one by one, or as vectors.
Sides exp_ways() {
    const Tensor x = uniform({some}, -10, 0, Random(1).stream());
    const auto one_by_one = [=] {
        Tensor y({some});
        std::transform(x.values().begin(), x.values().end(), y.data(),
                       [](Real value) { return std::exp(value); });
        return y;
    };
    const auto many = [=] {
        Tensor y({some});
        exp_and_sum(x.data(), 0, y.data(), some);
        return y;
    };
    return {one_by_one, many};
}
// [columns]
/// Sums of columns, four at a time: where a row is 8,192 bytes long, or 64 more.
Sides column_ways() {
    constexpr Index n_rows = 768, n = 2048, more = 16;
    const Tensor x = numbers({n_rows, n});
    Tensor padded({n_rows, n + more});
    matrix(padded).leftCols(n) = matrix(x);
    const auto sums = [](const Tensor& rows) {
        return [rows] {
            Tensor total({n});
            for (Index j = 0; j < n; j += 4) {
                Eigen::Array<Real, 4, 1> sum = Eigen::Array<Real, 4, 1>::Zero();
                for (Index i = 0; i < n_rows; ++i)
                    sum += Eigen::Map<const Eigen::Array<Real, 4, 1>>(&rows(i, j));
                Eigen::Map<Eigen::Array<Real, 4, 1>>(&total(j)) = sum;
            }
            return total;
        };
    };
    return {sums(x), sums(padded)};
}
// [blocks]
/// `a b^T` on the calling thread.
Tensor on_one_thread(const Tensor& a, const Tensor& b) {
    Tensor c({a.dim(0), b.dim(0)});
    matmul_rows(c.data(), 0, a.dim(0), a, b, {.transpose_b = true}, false);
    return c;
}

/// A product in 48 blocks of 8 rows: each of them arranges the right factor anew.
Sides block_ways() {
    const Tensor a = numbers({384, 512}, 1), b = numbers({512, 512}, 2);
    const auto in_blocks = [=] {
        Tensor c({384, 512});
        for (Index row = 0; row < 384; row += 8)
            matmul_rows(&c(row, 0), row, 8, a, b, {.transpose_b = true}, false);
        return c;
    };
    return {in_blocks, [=] { return on_one_thread(a, b); }};
}

}  // namespace
// [list]
std::vector<Trap> traps() {
    return {
        {"pages", "64 MiB in fresh memory", page_ways},
        {"mask", "bytes written through an object", mask_ways},
        {"sum", "a sum in order", sum_ways},
        {"exp", "exponentials one by one", exp_ways},
        {"columns", "columns of rows of 8192 bytes", column_ways},
        {"blocks", "a product in 48 blocks", block_ways},
    };
}

}  // namespace abh
