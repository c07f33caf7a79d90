// Per way: what a look-up moves between the two memories.
#include "chapters/01_embedding/embedding.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("a warm look-up sends ids to the device and nothing else", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Random random(7);
    Embedding embedding(50, 33, {.scale = true, .padding_id = 0}, random);
    const Tensor dy = random_tensor({4, 9, 33});
    Transfers before;
    for (int step : {1, 2}) {
        const Ids ids = random_ids({4, 9}, 0, 50, random.stream());
        ids.data();  // from now on in the processor's memory, as a corpus has them
        if (step == 2) before = transfers();
        Embedding::Cache cache;
        embedding.forward(ids, &cache);
        embedding.backward(dy, cache);
    }
    const Transfers after = transfers();
    REQUIRE(after.to_host == before.to_host);
    REQUIRE(after.to_device == before.to_device + 1);
    REQUIRE(after.bytes_to_device == before.bytes_to_device + 4 * 9 * 4);
}

TEST_CASE("backward of a look-up follows the way of its cache", "[cuda]") {
    Random random(7);
    Embedding embedding(50, 33, {}, random);
    const Tensor dy = random_tensor({4, 9, 33});
    const Ids ids = random_ids({4, 9}, 0, 50, random.stream());
    require_backward_stays(
        [&] {
            Embedding::Cache cache;
            embedding.forward(ids, &cache);
            return cache;
        },
        [&](const Embedding::Cache& cache) { embedding.backward(dy, cache); });
}
