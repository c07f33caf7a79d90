// Per real: what the tiny translator of the page learns.
#include "chapters/04_scaled_dot_product_attention/learns.hpp"

#include "chapters/03_masks/masks.hpp"
#include "tests/catch.hpp"

using namespace abh;
using namespace abh::example;

TEST_CASE("a table of next words learns good from boy by what one attention sees") {
    const Index after_a = 3, differs = 4;
    const Mask pads = over_heads(padding_mask(said, source));
    Mask blind = pads.clone();
    for (Index row = 0; row < 21; ++row) blind.data()[8 * row + differs] = 1;
    Random random(2);
    TinyTranslator alone(Look::at_nothing, random), translator(Look::by_attention, random);
    for (int step = 0; step < 300; ++step)
        for (TinyTranslator* each : {&alone, &translator})
            each->step(each->forward(pads), Real(1.5));
    const Tensor guessed = alone.forward(pads), known = translator.forward(pads),
                 w = translator.of_attention.weights, unseen = translator.forward(blind);
    for (Index sentence : {0, 2}) {
        const Index right = sentence == 0 ? 4 : 8;  // good, boy
        CHECK(guessed(sentence, after_a, right) < 0.51);
        CHECK(known(sentence, after_a, right) > 0.9);
        CHECK(unseen(0, after_a, right) == unseen(2, after_a, right));
        for (Index j = 0; j < 8; ++j)
            CHECK(w(sentence, 0, after_a, j) <= w(sentence, 0, after_a, differs));
    }
}
