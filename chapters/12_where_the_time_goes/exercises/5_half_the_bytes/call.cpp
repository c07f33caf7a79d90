#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/answer/serve.hpp"
#include "lib/random.hpp"

namespace abh::mine {
using Half = std::uint16_t;
Half to_half(float weight);
void product(std::span<const float> x, std::span<const Half> w, std::span<float> y, Index rows,
             Index d_in, Index d_out);
}  // namespace abh::mine

namespace {

using namespace abh;
using mine::Half;

Ids to_halves(const Tensor& weights) {
    Ids halves(weights.shape());
    for (std::size_t i = 0; i < weights.values().size(); ++i)
        halves.values()[i] = mine::to_half(static_cast<float>(weights.values()[i]));
    return halves;
}

/// @param w  [d_out, d_in], each element the upper 16 bits of a float
Tensor product(const Tensor& x, const std::vector<Half>& w, Index d_out) {
    const std::vector<float> from(x.values().begin(), x.values().end());
    std::vector<float> to(static_cast<std::size_t>(x.dim(0) * d_out), -1);
    mine::product(from, w, to, x.dim(0), x.dim(1), d_out);
    Tensor y({x.dim(0), d_out});
    std::copy(to.begin(), to.end(), y.values().begin());
    return y;
}

Tensor small_product(const Tensor& x, const Ids& halves) {
    return product(x, {halves.values().begin(), halves.values().end()}, halves.dim(0));
}

/// A product with weights [2048, 2048] that are cut off to 16 bits, and kept from call to call.
Tensor large_product(const Tensor& x) {
    constexpr Index d = 2048;
    static const std::vector<Half> w = [] {
        const Tensor weights = normal({d, d}, Random(1).stream());
        std::vector<Half> halves;
        for (const Real v : weights.values())
            halves.push_back(
                static_cast<Half>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16));
        return halves;
    }();
    return product(x, w, d);
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"to_half", function(to_halves)},
                  {"product", function(small_product)},
                  {"large_product", function(large_product)}});
}
