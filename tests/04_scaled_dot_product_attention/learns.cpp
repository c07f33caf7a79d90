// Per real: what the small reader of the page learns.
#include "chapters/04_scaled_dot_product_attention/learns.hpp"

#include "chapters/03_masks/masks.hpp"
#include "tests/catch.hpp"

using namespace abh;
using namespace abh::example;

namespace {
constexpr Index after_a = 3, good = 4, boy = 8, differs = 4;

Tensor trained(Reader& reader, const Mask& mask) {
    for (int step = 0; step < 300; ++step) reader.step(reader.forward(mask), Real(1.5));
    return reader.forward(mask);
}
}  // namespace

TEST_CASE("a table of next words learns good from boy by one attention, and not without it") {
    const Mask pads = over_heads(padding_mask(said, source));
    for (std::uint64_t seed : {1, 2, 3}) {
        Random random(seed);
        Reader alone(Look::at_nothing, random), reader(Look::by_attention, random);
        const Tensor guessed = trained(alone, pads), known = trained(reader, pads);
        for (Index sentence : {0, 2}) {
            const Index right = sentence == 0 ? good : boy;
            CHECK(guessed(sentence, after_a, right) < 0.51);
            CHECK(known(sentence, after_a, right) > 0.9);
            for (Index j = 0; j < 7; ++j) {
                const Tensor& w = reader.of_attention.weights;
                CHECK(w(sentence, 0, after_a, j) <= w(sentence, 0, after_a, differs));
            }
        }
    }
}

TEST_CASE("a reader that cannot see 好 or 男 says the same in both sentences") {
    Mask mask = over_heads(padding_mask(said, source));
    for (Index b = 0; b < 3; ++b)
        for (Index i = 0; i < 7; ++i) mask(b, 0, i, differs) = 1;
    Random random(1);
    Reader reader(Look::by_attention, random);
    const Tensor p = trained(reader, mask);
    for (Index word : {good, boy}) CHECK(p(0, after_a, word) == p(2, after_a, word));
}
