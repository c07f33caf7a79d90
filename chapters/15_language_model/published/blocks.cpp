#include "chapters/15_language_model/published/blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "chapters/15_language_model/published/block_formats.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
Tensor block_product(const Tensor& x, const BlockMatrix& w);
}  // namespace plain
namespace fast {
decltype(plain::block_product) block_product;
}  // namespace fast
// [kinds]
namespace {

constexpr std::array formats{BlockFormat{"F32", 1, 4},
                             BlockFormat{"F16", 1, 2},
                             BlockFormat{"BF16", 1, 2},
                             BlockFormat{"Q8_0", 32, sizeof(Q8_0)},
                             BlockFormat{"Q4_0", 32, sizeof(Q4_0)},
                             BlockFormat{"Q4_1", 32, sizeof(Q4_1)}};

}  // namespace

const BlockFormat& format_of(NumberKind kind) {
    return formats[static_cast<std::size_t>(kind)];
}

std::optional<NumberKind> kind_named(std::string_view name) {
    for (std::size_t i = 0; i < formats.size(); ++i)
        if (formats[i].name == name) return static_cast<NumberKind>(i);
    return {};
}
// [read]
namespace {

template <class T>
void read(const Stored<T>& block, Real* to) {
    *to = block.number();
}

void read(const Q8_0& block, Real* to) {
    const float scale = block.scale.number();
    for (int i = 0; i < 32; ++i) to[i] = block.q[i] * scale;
}

void read(const Q4_0& block, Real* to) {
    const float scale = block.scale.number();
    const auto number = [&](int q) { return static_cast<float>(q - 8) * scale; };
    for (int i = 0; i < 16; ++i) {
        to[i] = number(block.pairs[i] & 15);
        to[i + 16] = number(block.pairs[i] >> 4);
    }
}

// [read: scale and minimum]
void read(const Q4_1& block, Real* to) {
    const float scale = block.scale.number(), minimum = block.minimum.number();
    const auto number = [&](int q) { return static_cast<float>(q) * scale + minimum; };
    for (int i = 0; i < 16; ++i) {
        to[i] = number(block.pairs[i] & 15);
        to[i + 16] = number(block.pairs[i] >> 4);
    }
}
// [read: blocks]
}  // namespace

void read_blocks(NumberKind kind, const std::byte* blocks, std::span<Real> to) {
    with_block(kind, [&]<class Block>(const Block*) {
        const auto* block = reinterpret_cast<const Block*>(blocks);
        for (std::size_t i = 0; i < to.size(); i += numbers_in<Block>) read(*block++, &to[i]);
    });
}
// [round]
namespace {

using Numbers = Eigen::Array<float, 32, 1>;  // of one block

/// Each number over the scale, or 0 for a scale so small that its block stands for zeros. The
/// reference rounds here, before it adds anything, so the compiler must not fuse the two.
Numbers divided(const Numbers& x, float scale) {
    const float factor = std::isfinite(1 / scale) ? 1 / scale : 0;
    return x.unaryExpr([factor](float number) {
        const volatile float product = number * factor;
        return product;
    });
}

/// @throws std::invalid_argument if it would become infinite
Stored<Eigen::half> in_fp16(float number) {
    const auto stored = Stored<Eigen::half>::of(number);
    require(std::isfinite(stored.number()),
            "round_to_blocks: a block's scale or minimum would be {}, beyond fp16", number);
    return stored;
}

template <class T>
void round(const Eigen::Array<float, 1, 1>& x, Stored<T>& block) {
    block = Stored<T>::of(x[0]);
}

void round(const Numbers& x, Q8_0& block) {
    const float scale = std::ranges::max(x.abs().eval()) / 127;
    block.scale = in_fp16(scale);
    const Numbers q = divided(x, scale);
    for (int i = 0; i < 32; ++i) block.q[i] = static_cast<std::int8_t>(std::round(q[i]));
}

// [round: scale and minimum]
/// Drops what follows the point of each number, and puts two into each byte.
void put_pairs(const Numbers& x, std::uint8_t* pairs) {
    const Eigen::Array<int, 32, 1> q = x.cast<int>().min(15);
    for (int i = 0; i < 16; ++i) pairs[i] = static_cast<std::uint8_t>(q[i] | q[i + 16] << 4);
}

void round(const Numbers& x, Q4_1& block) {
    const auto [minimum, maximum] = std::ranges::minmax(x);
    const float scale = (maximum - minimum) / 15;
    block.scale = in_fp16(scale);
    block.minimum = in_fp16(minimum);
    put_pairs(divided(x - minimum, scale) + 0.5f, block.pairs);
}
// [round: blocks]
void round(const Numbers& x, Q4_0& block) {
    const float scale = *std::ranges::max_element(x, {}, [](float v) { return std::abs(v); }) / -8;
    block.scale = in_fp16(scale);
    put_pairs(divided(x, scale) + 8.5f, block.pairs);
}

}  // namespace

std::vector<std::byte> round_to_blocks(NumberKind kind, std::span<const Real> numbers) {
    const auto& [name, step, bytes] = format_of(kind);
    const auto n = static_cast<Index>(numbers.size());
    require(n % step == 0, "round_to_blocks: {} numbers do not fill whole blocks of {}, {} each", n,
            name, step);
    std::vector<std::byte> blocks(static_cast<std::size_t>(n / step * bytes));
    with_block(kind, [&]<class Block>(const Block*) {
        constexpr int count = numbers_in<Block>;
        auto* block = reinterpret_cast<Block*>(blocks.data());
        for (Index i = 0; i < n; i += count, ++block) {
            const Eigen::Map<const Eigen::Array<Real, count, 1>> some(numbers.data() + i);
            require(count == 1 || some.isFinite().all(),
                    "round_to_blocks: a block of {} cannot hold infinity or NaN", name);
            round(some.template cast<float>(), *block);
        }
    });
    return blocks;
}
// [block matrix]
BlockMatrix::BlockMatrix(NumberKind kind, Index rows, Index columns, const std::byte* blocks,
                         std::shared_ptr<const void> owner)
    : kind_(kind), rows_(rows), columns_(columns), blocks_(blocks), owner_(std::move(owner)) {
    const auto& [name, step, bytes] = format_of(kind);
    require(columns % step == 0,
            "block matrix: rows of {} numbers are not whole blocks of {}, {} each", columns, name,
            step);
}

Index BlockMatrix::bytes_in_row() const {
    return columns_ / format_of(kind_).numbers * format_of(kind_).bytes;
}

Tensor BlockMatrix::read_rows(Index begin, Index end) const {
    if (begin < 0 || begin > end || end > rows_)
        throw std::out_of_range(
            fmt::format("block matrix: no rows {} to {} in {}", begin, end, rows_));
    Tensor numbers({end - begin, columns_});
    read_blocks(kind_, row(begin), numbers.values());
    return numbers;
}

BlockMatrix rounded_matrix(const Tensor& w, NumberKind kind) {
    require(w.rank() == 2, "rounded matrix: w has shape {}, expected [rows, columns]", w.shape());
    const auto blocks =
        std::make_shared<const std::vector<std::byte>>(round_to_blocks(kind, w.values()));
    return {kind, w.dim(0), w.dim(1), blocks->data(), blocks};
}
// [product: plain]
Tensor plain::block_product(const Tensor& x, const BlockMatrix& w) {
    Tensor y(x.shape().with(-1, w.d_out()));
    for (Index i = 0; i < w.d_out(); ++i)
        matrix(y).col(i) = matrix(x) * vector(w.read_rows(i, i + 1));
    return y;
}
// [product]
Tensor BlockMatrix::multiply(const Tensor& x) const {
    require(x.rank() >= 1 && x.dim(-1) == columns_,
            "block product: x has shape {}, expected [..., {}]", x.shape(), columns_);
    return Ways{"block product", plain::block_product, fast::block_product}(x, *this);
}

}  // namespace abh
