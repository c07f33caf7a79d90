// Per real: a first model that learns.
#include "chapters/01_embedding/next_words.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace abh;

TEST_CASE("a table of next words learns how often each word follows, and no more") {
    for (std::uint64_t seed : {1, 2, 3}) {
        NextWords model{Random(seed)};
        Real loss = 0;
        for (int step = 0; step < 1000; ++step) loss = model.step(1);
        // of 15 places, 3 after *have* cost 3 ln 3 - 2 ln 2 at best, and 2 after *a* cost 2 ln 2;
        // what else is left falls like one over the number of steps, and 0.001 is measured
        CHECK(std::abs(loss - std::log(3.0) / 5) < 0.003);
        const auto p = [&](std::int32_t id, Index next) {
            return model.probabilities(id)(0, 0, next);
        };
        CHECK(std::abs(p(2, 3) - 0.5) < 0.005);                    // a good
        CHECK(std::abs(p(2, 8) - 0.5) < 0.005);                    // a boy
        CHECK(std::abs(p(1, 2) - 2.0 / 3) < 0.005);                // have a
        CHECK(std::abs(p(1, 6) - 1.0 / 3) < 0.005);                // have zero
        for (std::int32_t id : {3, 7, 8}) CHECK(p(id, 4) > 0.99);  // good, girl, boy friend
        const std::string sentence = model.says();
        CHECK((sentence == "I have a good friend ." || sentence == "I have a boy friend ."));
    }
}
