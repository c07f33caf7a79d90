// Per way: masks on the device, and what packing moves between the two memories.
#include "chapters/03_masks/attention_mask.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("warm packing sends where sentences begin to the device, and nothing else", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({3, 4, 33});
    const Ids ids({3, 4}, {1, 2, 0, 0, 1, 2, 3, 4, 1, 0, 0, 0});
    Transfers before;
    for (int step : {1, 2}) {
        const Packing p = leave_out_pads(ids);
        if (step == 2) before = transfers();
        unpack(pack(x, p), p);
    }
    const Transfers after = transfers();
    REQUIRE(after.to_host == before.to_host);
    REQUIRE(after.to_device == before.to_device + 1);
    REQUIRE(after.bytes_to_device == before.bytes_to_device + 4 * (3 + 1));
}

TEST_CASE("on the device a mask's pads come from the ids that are there, and nothing moves",
          "[cuda]") {
    for (const Index length : {1, 7, 64}) {  // in fours, and one by one
        const Ids ids = random_ids({3, length}, 0, 3, Random(1).stream());
        const auto pads = [&](const Ids& of) { return hide_pads(of, 2).pads; };
        const auto [expected, found] = on_both([&] { return pads(ids); });
        CHECK(same_bits(found, expected));
        if (length > 1)
            CHECK(same_bits(on_both([&] { return pads(ids.rows(1, 3)); }).second,
                            expected.rows(1, 3)));
        require_stays([&] { pads(ids); });
    }
}

TEST_CASE("on the device a batch may have more sentences than a grid has rows", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Index sentences = (1 << 16) + 1;
    Ids ids({sentences, 1});
    ids.fill(1);
    const Packing p = leave_out_pads(ids);
    const Tensor x = random_tensor({sentences, 1, 1});
    REQUIRE(max_difference(unpack(pack(x, p), p), x) == 0);
}
