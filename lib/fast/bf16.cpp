#include <bit>
#include <memory>

#include "lib/fast/fewer_bits.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/precision.hpp"

namespace abh {
namespace {
// [round]
/// Adds half of the last bit that is kept, or a little less if that bit is 0, so that a number in
/// the middle goes to the even one; then drops the lower half. A NaN stays one.
Half rounded_half(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t up = bits + 0x7fff + (bits >> 16 & 1);
    return static_cast<Half>((x == x ? up : bits | 1u << 22) >> 16);
}
// [kept]
/// All elements of a storage in bf16.
struct Halves : Storage::Kept {
    explicit Halves(Index n) : block(memory::take(static_cast<std::size_t>(n) * sizeof(Half))) {}
    ~Halves() override { memory::give(block); }
    Half* data() const { return static_cast<Half*>(block.data); }

    memory::Block block;
};

}  // namespace

std::shared_ptr<const Half> in_bf16(const Tensor& x) {
    Storage& storage = *x.storage();
    auto halves = std::dynamic_pointer_cast<Halves>(storage.kept());
    if (!halves) {
        const Real* const from = x.data() - x.first();
        const Index n = static_cast<Index>(storage.bytes() / sizeof(Real));
        halves = std::make_shared<Halves>(n);
        parallel_ranges(n, 1 << 15, [&, to = halves->data()](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) to[i] = rounded_half(static_cast<float>(from[i]));
        });
        storage.keep(halves);
    }
    return {halves, halves->data() + x.first()};
}
// [product]
bool is_worth_rounding(const Product& p) {
    constexpr Index few = 64;
    return has_bf16() && p.m > few && p.n > few && p.k >= few && p.m * p.n * p.k >= 1 << 21 &&
           p.scale == 1;
}

}  // namespace abh
