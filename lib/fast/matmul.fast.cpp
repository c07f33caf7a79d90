#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "lib/eigen.hpp"
#include "lib/fast/fewer_bits.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/precision.hpp"

#if defined(ABH_ONEDNN_ALWAYS) || defined(__AVX512F__) || !defined(__FMA__)
#define ABH_LIBRARY_IS_FASTER
#endif
#if defined(ABH_ONEDNN) && defined(ABH_LIBRARY_IS_FASTER) && !defined(ABH_DOUBLE)
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#define ABH_BY_LIBRARY
#endif

namespace abh::fast {
// [sizes]
namespace {

/// Whether packing the operands first pays. If it does not, Eigen multiplies, because it starts
/// sooner.
bool is_large(const Product& p) {
    return p.m * p.n * p.k >= 1 << 18;
}
// [one product]
/// Calls `f` with the matrix as an Eigen map.
template <class F>
void as_eigen(const Strided& matrix, Index rows, Index columns, const F& f) {
    using Rows =
        Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0,
                   Eigen::OuterStride<>>;
    if (matrix.column == 1)
        f(Rows(matrix.data, rows, columns, Eigen::OuterStride<>(matrix.row)));
    else
        f(Rows(matrix.data, columns, rows, Eigen::OuterStride<>(matrix.column)).transpose());
}

void by_eigen(const Product& p) {
    Eigen::Map<MatrixMap::PlainObject, 0, Eigen::OuterStride<>> C(p.c, p.m, p.n,
                                                                  Eigen::OuterStride<>(p.width_c));
    if (!p.add) C.setZero();
    as_eigen(p.a, p.m, p.k, [&](const auto& A) {
        as_eigen(p.b, p.k, p.n, [&](const auto& B) { C.noalias() += p.scale * A * B; });
    });
}
// [one product: by the library]
#ifdef ABH_BY_LIBRARY
constexpr bool with_library = true;

/// On the calling thread alone, because all threads call this.
void large_product(const Product& p) {
    omp_set_num_threads(1);
    // Reading a transposed `a` means walking down its columns. If its rows are long, above all a
    // power of two, the numbers of a column compete for a few places in a cache, so their neighbors
    // are evicted before they are used. So this takes only part of the inner axis at a time.
    const Index depth = p.a.column >= 1024 ? 192 : p.k;
    const auto leading = [](const Strided& matrix, Index rows, Index columns) {
        return matrix.by_columns() ? std::max(matrix.column, rows) : std::max(matrix.row, columns);
    };
    const Index row_a = leading(p.a, p.m, p.k), row_b = leading(p.b, p.k, p.n);
    for (Index first = 0; first < p.k; first += depth) {
        const Product part = p.inner(first, std::min(depth, p.k - first));
        if (dnnl_sgemm(p.a.by_columns() ? 'T' : 'N', p.b.by_columns() ? 'T' : 'N', p.m, p.n, part.k,
                       p.scale, part.a.data, row_a, part.b.data, row_b,
                       p.add || first > 0 ? 1.0f : 0.0f, p.c, p.width_c) != dnnl_success)
            throw std::runtime_error("matmul: oneDNN failed to compute a product");
    }
}
#else
constexpr bool with_library = false;

void large_product(const Product& p) {
    packed_matmul(p);
}
#endif
// [all products]
/// Rows and columns of the blocks into which a result is cut.
struct Block {
    Index rows, columns;
};

/// The size of each of `parts` parts of `n`: a multiple of `unit`. The last may be smaller.
Index part_of(Index n, Index parts, Index unit) {
    return std::max<Index>(1, ceil_div(ceil_div(n, parts), unit)) * unit;
}

/// Cuts the longer side of the result.
Block longer_side(const Product& p, Index parts) {
    const Index part = std::max<Index>(64, part_of(std::max(p.m, p.n), parts, 16));
    return p.m > p.n ? Block{part, p.n} : Block{p.m, part};
}

/// A small product is cut by its sizes alone, so that its bits are the same for any number of
/// threads. The bits of `packed_matmul` do not depend on the cut, but those of a library may.
Block block_of(const Product& p, Index batch) {
    if (!is_large(p)) return longer_side(p, 8);
    if (with_library) return longer_side(p, threads());
    const Index parts =
        threads() / std::gcd(threads(), batch);  // so that all threads get the same number
    const bool as_it_is = !p.a.by_columns();
    // Cut the first side into parts of about 128 rows or columns, or more; then cut the other.
    Index first = std::min(parts, ceil_div(as_it_is ? p.n : p.m, 128));
    while (parts % first != 0) --first;
    const Index by_rows = as_it_is ? parts / first : first;
    return {part_of(p.m, by_rows, 6), part_of(p.n, parts / by_rows, 16)};
}

}  // namespace

void multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions o, bool add) {
    const Product any = product_of(a, b, o, add);
    const Index m = any.m, n = any.n, k = any.k;
    const Index batch = matrices(c.shape());
    if (batch == 1 && is_skinny(any)) return skinny_matmul(any.at(c.data(), a.data(), b.data()));
    const bool in_halves = precision() == Precision::bf16 && batch == 1 && is_worth_rounding(any);
    const std::shared_ptr<const Half> a16 = in_halves ? in_bf16(a) : nullptr;
    const std::shared_ptr<const Half> b16 = in_halves ? in_bf16(b) : nullptr;
    const Block block = in_halves ? Block{part_of(m, threads(), 16), n} : block_of(any, batch);
    const Index by_rows = ceil_div(m, block.rows), by_columns = ceil_div(n, block.columns),
                blocks = batch * by_rows * by_columns;
    const auto one = [&](Index i) {
        const Index p = i / (by_rows * by_columns), row = i / by_columns % by_rows * block.rows,
                    column = i % by_columns * block.columns;
        const Product whole =
            any.at(c.data() + p * m * n, a.data() + p * m * k, b.data() + p * k * n);
        const Product part = whole.block(row, column, std::min(block.rows, m - row),
                                         std::min(block.columns, n - column));
        if (in_halves)
            onednn::multiply(part, a16.get() + (part.a.data - a.data()),
                             b16.get() + (part.b.data - b.data()));
        else
            is_large(any) ? large_product(part) : by_eigen(part);
    };
    if (batch * m * n * k < 1 << 16)  // waking a thread would cost more than the product
        for (Index i = 0; i < blocks; ++i) one(i);
    else
        parallel_for(blocks, one);
}

}  // namespace abh::fast
// [interface]
void abh::product_here(const Product& product) {
    fast::is_large(product) ? fast::large_product(product) : fast::by_eigen(product);
}

bool abh::products_by_library() {
    return fast::with_library;
}
